"""Forecasts of shifted and scaled series, with weights of the parity cases."""

import numpy as np
import pandas as pd
import pytest

import kerastrans
from tests.helpers import cases

STEPS = 12
SLOW = pytest.mark.slow
FAMILIES = {
    "chronos-bolt": ("affine", SLOW),
    "chronos-2": ("affine", SLOW),
    "patchtst-fm": ("affine", ()),
    "toto-2": ("affine", SLOW),
    "timesfm-2.5-original": ("scale", SLOW),
    "tinycast": ("affine", SLOW),
}


def series(length=100):
    """Return a wave that begins with a constant, a random walk and skewed noise, in float64."""
    rng, steps = np.random.default_rng(0), np.arange(length)
    late = np.where(steps < 20, 0.7, np.sin(steps / 4))
    return np.stack([late, np.cumsum(rng.normal(size=length)), np.exp(rng.normal(size=length))])


def forecast(forecaster, values):
    """Return all forecast columns of rows of values, `(rows, steps, columns)`."""
    times = pd.date_range("2024-01-01", periods=values.shape[1], freq="h")
    frame = pd.DataFrame(values.T, times, columns=list("abc"))
    rows = forecaster.predict(frame).drop(columns=["unique_id", "ds"])
    return rows.to_numpy().reshape(len(values), STEPS, -1)


@pytest.mark.parametrize(
    ("name", "equivariance"),
    [pytest.param(name, kind, marks=mark) for name, (kind, mark) in FAMILIES.items()],
)
def test_a_forecast_is_shifted_and_scaled_like_its_history(name, equivariance):
    forecaster = kerastrans.from_pretrained(cases.ROOT / name, STEPS, 100, verbose=False)
    assert forecaster.fitted.equivariance == equivariance
    values = series()
    expected = forecast(forecaster, values)
    largest = np.abs(expected).max(axis=(1, 2), keepdims=True)
    shifts = [(1e8, 1), (1e8, 1e3)] if equivariance == "affine" else []
    for level, size in [(0, 1e8), (0, 1e-8), *shifts]:
        found = (forecast(forecaster, level + size * values) - level) / size
        rounding = np.spacing(level + size) / size
        assert (np.abs(found - expected) / largest).max() < 1e-5 + 10 * rounding, (level, size)
