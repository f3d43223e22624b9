"""A panel of series of all kinds, for the scores."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

LEVELS = (20, 40, 60, 80, 95)
HORIZON, ORIGINS, LENGTH = 6, 4, 90
NAMES = ("week", "day", "zeros", "gaps", "flat")


def values_of(name, rng):
    """Series of all kinds, the last 30 steps of which are the test part."""
    steps = np.arange(LENGTH + HORIZON * ORIGINS)
    noise = rng.normal(size=len(steps))
    return {
        "week": 50 + 10 * np.sin(2 * np.pi * steps / 7) + noise,
        "day": 1e4 + 3e3 * np.sin(2 * np.pi * steps / 24) + 100 * noise,
        "zeros": np.maximum(np.round(2 * noise), 0.0),
        "gaps": np.where(rng.random(len(steps)) < 0.2, np.nan, -5 + noise),
        "flat": np.full(len(steps), 3.0),
    }[name]


@pytest.fixture(scope="module")
def panel():
    """Training rows, and a backtest with intervals: `(train, backtest)`."""
    rng = np.random.default_rng(0)
    train, backtest = [], []
    for name in NAMES:
        y = values_of(name, rng)
        times = pd.date_range("2024-01-01", periods=len(y), freq="h")
        train.append(pd.DataFrame({"unique_id": name, "ds": times, "y": y})[:LENGTH])
        for origin in range(LENGTH, len(y), HORIZON):
            rows = slice(origin, origin + HORIZON)
            point = np.nan_to_num(y[rows], nan=-5.0) * 1.02 + rng.normal(size=HORIZON)
            frame = pd.DataFrame({"unique_id": name, "ds": times[rows], "y": y[rows]})
            frame = frame.assign(cutoff=times[origin - 1], m=point)
            for level in LEVELS:
                half = stats.norm.ppf((1 + level / 100) / 2)
                frame[f"m-lo-{level}"], frame[f"m-hi-{level}"] = point - half, point + 0.9 * half
            backtest.append(frame)
    return pd.concat(train, ignore_index=True), pd.concat(backtest, ignore_index=True)
