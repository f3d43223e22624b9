"""A program as users write it, for the type checker alone: it is never run."""

from collections.abc import Callable
from pathlib import Path
from typing import assert_type

import keras
import numpy as np
import pandas as pd

import kerastrans
from kerastrans import Forecaster, backtesting, data, datasets, heads, report, zoo
from kerastrans.evaluation import baselines
from kerastrans.evaluation.scores.table import ScoreFrame

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
rows = forecaster.backtest(frame, windows=3)
assert_type(backtesting.score(rows, frame, by="step"), ScoreFrame)
assert_type(backtesting.skill({"nhits": rows}, "nhits"), ScoreFrame)
assert_type(backtesting.quantiles(rows), tuple[np.ndarray, list[str]])
assert_type(baselines.naive_backtests(rows, frame), dict[str, pd.DataFrame])
assert_type(report.write_report("report.html", rows, history=frame), Path)
assert_type(data.read_table("my.csv", timezone="Europe/Berlin"), pd.DataFrame)
assert_type(heads.get("student_t"), heads.Head)
assert_type(heads.of(forecaster.model), heads.Head)
zoo.build("nhits", 24, 12, 1).summary()
forecaster.model.summary()
forecaster.save(Path("folder"))
forecaster.save_to_preset("folder", metrics=backtesting.score(frame).iloc[0], dataset="passengers")
assert_type(Forecaster.load("folder"), Forecaster)
assert_type(zoo.from_preset("hf://user/name", revision="main"), Forecaster)
assert_type(kerastrans.from_pretrained("kerastrans_zero_2", 12), Forecaster)
assert_type(kerastrans.upload_preset("hf://user/name", "folder"), str)
assert_type(kerastrans.__version__, str)
kerastrans.select(data.read_csv("my.csv"), 24, time_limit=60)
build: Callable[..., keras.Model] = kerastrans.models.build_nhits_model
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

x = keras.Input((24, 8))
x = kerastrans.transformer_encoder(x, num_heads=2, key_dim=4, ff_dim=16, dropout=0.1)
kerastrans.transformer_decoder(x, None, num_heads=2, key_dim=4, ff_dim=16)

# What is wrong is an error; `warn_unused_ignores` says so where it is not.
forecaster.predict("my.csv")  # type: ignore[type-var]
forecaster.fit(frame, epochs="ten")  # type: ignore[arg-type]
kerastrans.from_pretrained("kerastrans_zero_2", "twelve")  # type: ignore[arg-type]
kerastrans.models.build_no_model  # type: ignore[attr-defined]  # noqa: B018
kerastrans.build_transformer_model(24)  # type: ignore[call-arg, arg-type]
backtesting.score("my.csv")  # type: ignore[arg-type]
backtesting.skill(rows, rows)  # type: ignore[arg-type]
data.read_table("my.csv", columns=1)  # type: ignore[arg-type]
kerastrans.transformer_encoder(x, num_heads=2, key_dim=4, ff_dim="16")  # type: ignore[arg-type]
zoo.from_preset(1)  # type: ignore[arg-type]
kerastrans.no_such_name  # type: ignore[attr-defined]  # noqa: B018
