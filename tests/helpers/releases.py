"""Files and forecasts of a release, which every later version must load and repeat.

`python -m tests.helpers.releases` writes those of the next release to tests/fixtures/next/: a small
model of each architecture as `models/<name>.keras`, trained forecasters of several kinds as
`forecasters/<kind>/`, and their forecasts as forecasts.json. A change that these files do not
survive writes them again and says so; a release renames the folder to its version.
"""

import json
import shutil
from pathlib import Path

import keras
import numpy as np
import pandas as pd

import kerastrans
from kerastrans import Forecaster, zoo
from tests.helpers.architectures import build_shallow, forecast, moved, walks
from tests.helpers.weights import ZERO_1

FOLDER = Path(__file__).parents[1] / "fixtures"
HORIZON = 7
CUTOFF = pd.Timestamp("2024-03-20")
QUICK = {"epochs": 2, "verbose": 0}


def series(name, length, seed, level):
    """A daily series with a weekly season, a covariate known ahead and a category."""
    rng = np.random.default_rng(seed)
    price = rng.uniform(size=length + HORIZON).round(3)
    wave = np.sin(2 * np.pi * np.arange(length + HORIZON) / 7)
    frame = pd.DataFrame(
        {
            "unique_id": name,
            "ds": pd.date_range("2024-01-01", periods=length + HORIZON, freq="D"),
            "y": (level * (1 + 0.3 * wave + 0.5 * price)).round(3) + rng.integers(0, 3, len(wave)),
            "price": price,
            "weather": rng.choice(["sun", "rain"], length + HORIZON),
        }
    )
    frame.loc[frame.index[-HORIZON:], "y"] = np.nan
    return frame


def data():
    """A long frame, its static covariates, and a wide frame."""
    sizes = {"a": (150, 50.0), "b": (120, 900.0), "c": (90, 5.0)}
    parts = [series(x, length, i, level) for i, (x, (length, level)) in enumerate(sizes.items())]
    frame = pd.concat(parts, ignore_index=True)
    static = pd.DataFrame({"unique_id": list(sizes), "region": ["north", "south", "north"]})
    values = {name: part["y"].to_numpy()[:83] for name, part in zip("uvw", parts, strict=True)}
    wide = pd.DataFrame(values, pd.date_range("2024-01-01", periods=83, freq="D"))
    return frame.dropna(subset="y"), static, wide


def arguments(kind):
    """The arguments of `predict` whose forecasts are recorded."""
    frame, static, wide = data()
    values = frame[["unique_id", "ds", "y"]]
    if kind == "tide_long":
        begin, end = CUTOFF, CUTOFF + pd.Timedelta(days=HORIZON)
        future = frame[(frame["ds"] >= begin) & (frame["ds"] < end)]
        columns = ["unique_id", "ds", "price"]
        return {"frame": frame[frame["ds"] < CUTOFF], "future": future[columns], "static": static}
    if kind == "deepar_counts":
        values = values.round({"y": 0})
    return {"frame": wide if kind == "nlinear_wide" else values}


def forecasters():
    """Yield `(kind, trained forecaster)`."""
    frame, static, wide = data()
    values = frame[["unique_id", "ds", "y"]]
    sizes = {"hidden_dim": 8, "temporal_hidden_dim": 4, "decoder_output_dim": 2}
    covariates = {"past": ["weather"], "future": ["price"], "calendar": True}
    tide = Forecaster("tide", 28, HORIZON, **covariates, **sizes)
    tide.fit(frame, static=static, **QUICK)
    yield (
        "tide_long",
        tide.calibrate(frame, static=static, windows=30, levels=[80], by="region"),
    )
    nlinear = Forecaster("nlinear", 14, HORIZON, scaler="mean_abs").fit(wide, **QUICK)
    yield "nlinear_wide", nlinear.calibrate(wide, windows=30, levels=[80])
    deepar = Forecaster("deepar", 14, HORIZON, head="negative_binomial", scaler=None, units=4)
    yield "deepar_counts", deepar.fit(values.round({"y": 0}), **QUICK)
    members = [
        Forecaster(name, 14, HORIZON).fit(values, **QUICK) for name in ("nlinear", "rlinear")
    ]
    yield "combined", kerastrans.combine(members, "mean")
    yield "selected", kerastrans.select(values, HORIZON, time_limit=1.5, verbose=False)
    zero = kerastrans.from_pretrained(
        ZERO_1, prediction_length=HORIZON, trainable="lora", lora_rank=2, verbose=False
    )
    yield "fine_tuned", zero.fit(values, epochs=1, verbose=0, restore_published=False)
    inputs = keras.Input((14, 1), name="history")
    outputs = keras.layers.Dense(HORIZON)(keras.layers.Flatten()(inputs))
    own = keras.Model(inputs, keras.layers.Reshape((HORIZON, 1))(outputs), name="own")
    yield "own_model", Forecaster(own, seed=3).fit(values, **QUICK)


def summary(rows):
    """What must come back of a forecast: each series' first two steps, and the columns' means."""
    numbers = rows.select_dtypes("number")
    first = rows.groupby("unique_id", sort=False).head(2)
    return {
        "columns": list(numbers),
        "first": first[list(numbers)].to_numpy().tolist(),
        "mean": numbers.mean().tolist(),
    }


def main():
    """Write the fixtures of the next release."""
    folder = FOLDER / "next"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "models").mkdir(parents=True)
    (folder / "forecasters").mkdir()
    stored = {"models": {}, "forecasters": {}}
    for name in zoo.names():
        keras.utils.set_random_seed(1)
        model = moved(build_shallow(name))
        model.save(folder / "models" / f"{name}.keras")
        if name != "deepar":  # it draws
            stored["models"][name] = np.asarray(forecast(model, walks(2)), "float64").tolist()
    for kind, forecaster in forecasters():
        forecaster.save(folder / "forecasters" / kind, optimizer=False)
        stored["forecasters"][kind] = summary(forecaster.predict(**arguments(kind)))
    keras.utils.set_random_seed(1)
    lesson = kerastrans.build_transformer_model(
        (8, 3),
        num_heads=2,
        key_dim=4,
        ff_dim=16,
        num_encoder_blocks=1,
        num_decoder_blocks=2,
        d_model=12,
    )
    lesson.save(folder / "models" / "transformer.keras")
    inputs = [walks(2, 8), walks(2, 5)]
    stored["models"]["transformer"] = np.asarray(lesson(inputs), "float64").tolist()
    (folder / "forecasts.json").write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    main()
