"""Files that earlier versions wrote load, and forecast what they forecast then.

`tests/fixtures/presets_0.1.json` holds what version 0.1.0 forecast with each preset, whose files it
wrote, after the history that `history` makes: the first two steps of each channel, and the mean of
each column. The files in saved_models/ have format 1; files of later formats join them here.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kerastrans import zoo

FIXTURE = Path(__file__).parents[1] / "fixtures" / "presets_0.1.json"
FORECASTS = json.loads(FIXTURE.read_text())["presets"]


def history(forecaster):
    channels, clock = forecaster.fitted.channels, forecaster.fitted.clock
    length, count = forecaster.config.context_length + 30, len(channels)
    steps = np.arange(length)[:, None]
    waves = 1 + 0.3 * np.sin(2 * np.pi * steps / 24 + np.arange(count))
    noise = np.random.default_rng(0).normal(size=(length, count))
    times = pd.date_range("2020-01-01", periods=length, freq=clock.freq)
    return pd.DataFrame(((10 + np.arange(count)) * waves + noise).round(3), times, list(channels))


@pytest.mark.parametrize("name", FORECASTS)
def test_presets_of_format_1_forecast_what_they_forecast(name):
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
