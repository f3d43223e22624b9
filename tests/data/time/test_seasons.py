"""Which seasons series show, and which seasons of a clock some rows hold."""

import numpy as np
import pandas as pd
import pytest

from kerastrans.data.panel import read_panel
from kerastrans.data.time.seasons import Seasons, choose_season, held_seasons, season_of
from kerastrans.evaluation.baselines.naive import naive_backtests


def panel(values, freq="D"):
    times = pd.date_range("2004-01-01", periods=len(values), freq=freq, name="ds")
    return read_panel(pd.DataFrame({"a": values}, times))


def waves(rows, *periods, noise=0.3):
    steps, rng = np.arange(rows), np.random.default_rng(0)
    return sum(np.sin(2 * np.pi * steps / x) for x in periods) + noise * rng.normal(size=rows)


@pytest.mark.parametrize(
    ("periods", "shown"), [((7, 365.25), (7, 365)), ((7,), (7,)), ((365.25,), (7, 365))]
)
def test_a_year_of_days_is_judged_given_the_week(periods, shown):
    values = waves(7305, *periods)
    assert Seasons.of(panel(values), 30) == Seasons(7, (365,), shown)
    if len(periods) == 2:  # although values a year ago are no nearer than those a week ago
        years, weeks = (np.abs(values[x:] - values[:-x]).mean() for x in (365, 7))
        assert years > weeks
    missing = np.where(np.arange(len(values)) % 11, values, np.nan)
    assert Seasons.of(panel(missing), 30).shown == shown


def test_series_that_repeat_nothing_show_no_year():
    rng = np.random.default_rng(1)
    walks = [np.cumsum(rng.normal(size=3000)) for _ in range(20)]
    noise = [rng.normal(size=3000) for _ in range(20)]
    assert {Seasons.of(panel(x), 30).shown for x in walks + noise} == {(7,)}  # 3,000 rows are many


def test_a_week_of_hours_is_shown_by_its_days():
    days = np.repeat(np.tile([0, 0, 0, 0, 0, 1, 1], 8), 24)
    values = waves(len(days), 24) + 2 * days
    assert Seasons.of(panel(values, "h"), 24) == Seasons(24, (168,), (24, 168))
    assert Seasons.of(panel(values - 2 * days, "h"), 24).shown == (24,)
    assert Seasons.of(panel(values[:600], "h"), 24).shown == (24,)  # held three times
    assert Seasons.of(panel(values, "h"), 24, held_out=700).shown == (24,)


def test_a_clock_without_seasons_and_a_record_that_is_stored():
    assert Seasons.of(panel(np.arange(30.0), "YS"), 3) == Seasons()
    assert Seasons.from_dict(Seasons(7, (365,), (7,)).to_dict()) == Seasons(7, (365,), (7,))


def test_a_season_that_the_series_cannot_show_is_refused():
    assert choose_season(None, 12, 7) == 7
    assert held_seasons("D", 364) == (season_of("D"),) == (7,)
    with pytest.raises(ValueError, match="season must be below the 12 steps of the longest series"):
        choose_season(12, 12, 7)
    times = pd.date_range("2024-01-01", periods=9, name="ds")
    history = pd.DataFrame({"a": np.arange(9.0)}, times)
    rows = pd.DataFrame({"unique_id": "a", "ds": times[8:], "cutoff": times[7], "y": 1.0, "m": 1.0})
    with pytest.raises(ValueError, match="below the 9 steps of the longest series, got 9"):
        naive_backtests(rows, history, [2, 9])
