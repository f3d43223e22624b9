"""A program as users write it, for the type checker alone: it is never run."""

from pathlib import Path
from typing import assert_type

import pandas as pd

import kerastrans
from kerastrans import Forecaster, backtesting, datasets, zoo
from kerastrans.data import read_csv

frame = datasets.load("air_passengers")
assert_type(frame, pd.DataFrame)
assert_type(zoo.names("recurrent"), list[str])
assert_type(datasets.info("etth1").rows, int)

forecaster = Forecaster("nhits", 24, 12, past=["price"], hidden_dim=64)
forecaster = forecaster.fit(frame, epochs=1, time_limit=0.5, verbose=0)
assert_type(forecaster, Forecaster)
assert_type(forecaster.predict(frame, levels=[80, 95]), pd.DataFrame)
assert_type(forecaster.backtest(frame, windows=3), pd.DataFrame)
assert_type(forecaster.calibrate(frame, windows=8, levels=[80]), Forecaster)
assert_type(forecaster.export("model.onnx"), Path)
assert_type(forecaster.clone(), Forecaster)
forecaster.save(Path("folder"))
forecaster.save_to_preset("folder", metrics=backtesting.score(frame).iloc[0], dataset="passengers")
assert_type(Forecaster.load("folder"), Forecaster)
assert_type(zoo.from_preset("hf://user/name", revision="main"), Forecaster)
assert_type(kerastrans.from_pretrained("fracast_0", 12), Forecaster)
assert_type(kerastrans.upload_preset("hf://user/name", "folder"), str)
assert_type(kerastrans.__version__, str)
kerastrans.select(read_csv("my.csv"), 24, time_limit=60)
model = kerastrans.build_transformer_model(
    (24, 1),
    num_heads=2,
    key_dim=8,
    ff_dim=16,
    num_encoder_blocks=1,
    num_decoder_blocks=1,
    dropout=0.1,
)
kerastrans.generate(model, frame.to_numpy()[None], 12, start_token=0.0)

# What is wrong is an error; `warn_unused_ignores` says so where it is not.
forecaster.predict("my.csv")  # type: ignore[type-var]
forecaster.fit(frame, epochs="ten")  # type: ignore[arg-type]
kerastrans.from_pretrained("fracast_0", "twelve")  # type: ignore[arg-type]
zoo.from_preset(1)  # type: ignore[arg-type]
kerastrans.no_such_name  # type: ignore[attr-defined]  # noqa: B018
