"""Baselines of intermittent demand against their definitions and the true mean."""

import numpy as np
import pandas as pd
import pytest

from kerastrans.evaluation.baselines import intermittent


def test_croston_equals_its_recursion():
    values = np.array([0.0, 3.0, 0.0, 0.0, 6.0, 2.0, 0.0])
    size, interval = 3.0, 2.0
    for demand, gap in ((6.0, 3), (2.0, 1)):
        size, interval = size + 0.2 * (demand - size), interval + 0.2 * (gap - interval)
    assert intermittent.croston(values, 0.2) == pytest.approx(size / interval)
    assert intermittent.sba(values, 0.2) == pytest.approx(0.9 * size / interval)
    assert intermittent.croston(np.zeros(5)) == intermittent.tsb(np.zeros(5)) == 0.0


def test_tsb_falls_without_demand_and_croston_does_not():
    values = np.r_[np.tile([0.0, 4.0], 20), np.zeros(30)]
    assert intermittent.croston(values) == pytest.approx(2.0)
    assert intermittent.tsb(values) < 0.2


@pytest.mark.parametrize("name", ["sba", "tsb", "adida"])
def test_forecasts_are_near_the_true_mean(name):
    rng = np.random.default_rng(0)
    series = np.where(rng.random((300, 200)) < 0.2, 1 + rng.poisson(4, (300, 200)), 0.0)
    found = [intermittent.METHODS[name](values) for values in series]
    assert np.mean(found) == pytest.approx(1.0, abs=0.06)


def test_backtests_use_only_values_up_to_their_origin():
    times = pd.date_range("2024-01-01", periods=20, freq="D")
    history = pd.DataFrame({"a": [0.0, 2.0] * 10}, times)
    rows = [
        pd.DataFrame({"unique_id": "a", "ds": times[i + 1 : i + 3], "cutoff": times[i], "y": 1.0})
        for i in (9, 15)
    ]
    backtest = pd.concat(rows, ignore_index=True).assign(m=1.0)
    found = intermittent.intermittent_backtests(backtest, history)
    changed = history.copy()
    changed.iloc[16:] = 100.0
    later = intermittent.intermittent_backtests(backtest.assign(y=50.0), changed)
    for name, frame in found.items():
        assert frame[name].iloc[0] == pytest.approx(later[name][name].iloc[0])
    with pytest.raises(ValueError, match="requires values of at least 0: 'a' has -2"):
        intermittent.intermittent_backtests(backtest, -history)
    with pytest.raises(ValueError, match="smoothing must be between 0 and 1"):
        intermittent.intermittent_backtests(backtest, history, smoothing=1.0)


def test_a_series_that_has_not_begun_has_no_forecast():
    times = pd.date_range("2024-01-01", periods=10, freq="D")
    history = pd.DataFrame({"a": [np.nan] * 5 + [0.0, 2.0, 0.0, 1.0, 0.0]}, times)
    rows = [
        pd.DataFrame({"unique_id": "a", "ds": times[[i + 1]], "cutoff": times[i], "y": 1.0})
        for i in (2, 8)
    ]
    backtest = pd.concat(rows, ignore_index=True).assign(m=1.0)
    for name, frame in intermittent.intermittent_backtests(backtest, history).items():
        assert np.isnan(frame[name]).tolist() == [True, False]
