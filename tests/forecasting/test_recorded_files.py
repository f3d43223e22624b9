"""Files that were written once load, and forecast what they forecast then.

`tests/fixtures/presets.json` holds what each preset forecast when it was made, after the history
that `history` makes: the first two steps of each channel, and the mean of each column. The files
of `tests/fixtures/next` are written by `tests.helpers.releases`.
"""

import json

import keras
import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, zoo
from tests.helpers import releases
from tests.helpers.architectures import forecast, walks

FORECASTS = json.loads((releases.FOLDER / "presets.json").read_text())["presets"]
RECORDED = releases.FOLDER / "next"
THEN = json.loads((RECORDED / "forecasts.json").read_text())
QUICK = ("nlinear", "nhits", "transformer", "nlinear_wide")


def quick_or_slow(names):
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


def history(forecaster):
    channels, clock = forecaster.fitted.channels, forecaster.fitted.clock
    length, count = forecaster.context_length + 30, len(channels)
    steps = np.arange(length)[:, None]
    waves = 1 + 0.3 * np.sin(2 * np.pi * steps / 24 + np.arange(count))
    noise = np.random.default_rng(0).normal(size=(length, count))
    times = pd.date_range("2020-01-01", periods=length, freq=clock.freq)
    return pd.DataFrame(((10 + np.arange(count)) * waves + noise).round(3), times, list(channels))


@pytest.mark.slow
@pytest.mark.parametrize("name", FORECASTS)
def test_presets_repeat_their_forecasts(name):
    forecaster, then = zoo.from_preset(name), FORECASTS[name]
    rows = forecaster.predict(history(forecaster))
    columns = [
        forecaster.alias if column == "mean" else f"{forecaster.alias}-{column}"
        for column in then["columns"]
    ]
    assert len(rows) == then["rows"]
    assert str(rows["ds"].iloc[0]) == then["first"]
    first = rows.groupby("unique_id", sort=False).head(2)
    assert first["unique_id"].tolist() == then["ids"]
    np.testing.assert_allclose(first[columns], then["values"], rtol=1e-5)
    np.testing.assert_allclose(rows[columns].mean(), then["mean"], rtol=1e-5)


@pytest.mark.parametrize("name", quick_or_slow(THEN["models"]))
def test_models_repeat_their_outputs(name):
    model = keras.saving.load_model(RECORDED / "models" / f"{name}.keras")
    if name == "transformer":
        outputs = model([walks(2, 8), walks(2, 5)])
    else:
        outputs = forecast(model, walks(2))
    then = np.asarray(THEN["models"][name])
    np.testing.assert_allclose(np.asarray(outputs), then, rtol=0, atol=1e-5 * abs(then).max())


@pytest.mark.slow
def test_the_autoregressive_model_loads():
    """Its forecasts are drawn: the forecaster of counts below repeats them."""
    assert keras.saving.load_model(RECORDED / "models" / "deepar.keras").count_params() > 0


@pytest.mark.parametrize("kind", quick_or_slow(THEN["forecasters"]))
def test_forecasters_repeat_their_forecasts(kind):
    if kind == "deepar_counts" and keras.backend.backend() != "tensorflow":
        pytest.skip("the draws were recorded on TensorFlow")
    forecaster = Forecaster.load(RECORDED / "forecasters" / kind)
    rows = releases.summary(forecaster.predict(**releases.arguments(kind)))
    then = THEN["forecasters"][kind]
    assert rows["columns"] == then["columns"]
    np.testing.assert_allclose(rows["first"], then["first"], rtol=1e-5)
    np.testing.assert_allclose(rows["mean"], then["mean"], rtol=1e-5)
