"""Scores of perfect forecasts, zeros, and rows that cannot be scored."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kerastrans import backtesting


def gaussian(levels, count=200_000):
    """A perfect forecast of standard normal values, with intervals of these levels."""
    y = np.random.default_rng(0).normal(size=count)
    times = pd.date_range("1900-01-01", periods=count + 1, freq="min")
    frame = pd.DataFrame({"unique_id": "a", "ds": times[1:], "cutoff": times[:-1], "y": y, "m": 0})
    for level in levels:
        bound = stats.norm.ppf((1 + level / 100) / 2)
        frame[f"m-lo-{level}"], frame[f"m-hi-{level}"] = -bound, bound
    return frame


@pytest.mark.parametrize(
    ("levels", "crps"),
    [((80, 95), 0.501), ((20, 40, 60, 80), 0.592), ((20, 40, 60, 80, 90, 95), 0.563)],
)
def test_crps_integrates_over_any_levels(levels, crps):
    table = backtesting.score(gaussian(levels))
    assert table["crps"].item() == pytest.approx(crps, abs=0.003)  # the CRPS itself: 0.564
    assert ("wql" in table) == (set(levels) >= {20, 40, 60, 80})
    assert "sql" not in table


def test_crps_of_zero_width_intervals_is_the_absolute_error():
    frame = gaussian((50, 80, 95), 100).assign(m=0.3)
    frame = frame.assign(**{f"m-{end}-{level}": 0.3 for end in ("lo", "hi") for level in (50, 80)})
    frame = frame.assign(**{"m-lo-95": 0.3, "m-hi-95": 0.3})
    table = backtesting.score(frame)
    assert table["crps"].item() == pytest.approx(table["mae"].item())


def test_zeros_follow_the_formulas():
    times = pd.date_range("2024-01-01", periods=3, freq="D")
    rows = pd.DataFrame({"unique_id": "a", "ds": times[1:], "cutoff": times[0], "y": [0.0, 2.0]})
    wrong, right = rows.assign(m=[1.0, 2.0]), rows.assign(m=[0.0, 3.0])
    assert np.isnan(backtesting.score(wrong)["mape"].item())  # 1 / 0
    assert np.isnan(backtesting.score(right)["mape"].item())  # 0 / 0
    assert backtesting.score(wrong)["smape"].item() == 1.0
    assert backtesting.score(right)["smape"].item() == pytest.approx(0.2)


@pytest.mark.filterwarnings("ignore:no score")
def test_rows_that_cannot_be_scored_are_named(panel):
    backtest = panel[1].dropna(subset="y").reset_index(drop=True)
    is_week = backtest["unique_id"] == "week"
    with pytest.warns(UserWarning, match=r"no score: 1 series \('week': no row has a y and a fore"):
        backtesting.score(backtest.assign(y=backtest["y"].where(~is_week)))
    with pytest.warns(UserWarning, match=r"24 of the \d+ rows with a y have no forecast of 'm'"):
        backtesting.score(backtest.assign(m=backtest["m"].where(~is_week)))
    broken = backtest.assign(m=backtest["m"].where(backtest.index > 0, np.inf))
    with pytest.warns(UserWarning, match="1 forecasts of 'm' are infinite, and so is their error"):
        table = backtesting.skill({"it": broken, "base": backtest}, "base")
    assert np.isinf(table.loc["it", "mae"])
    assert np.isnan(table.loc["it", "p"])
    broken = backtest.assign(**{"m-lo-80": backtest["m-lo-80"].where(backtest.index > 0)})
    with pytest.raises(ValueError, match="'m-lo-80' is missing in rows that have a forecast of"):
        backtesting.score(broken)
