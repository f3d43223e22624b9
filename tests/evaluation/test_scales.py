import numpy as np
import pandas as pd
import pytest

from kerastrans import backtesting
from kerastrans.data.time.seasons import mase_season
from kerastrans.evaluation.scores.scales import error_scales

SEASON = 7


@pytest.mark.parametrize(
    ("freq", "season"),
    [
        # of GluonTS' own tests of its table
        *(("30min", 48), ("5B", 1), ("1B", 5), ("2W", 1), ("1D", 1), ("7D", 1), ("8D", 1)),
        *(("MS", 12), ("3MS", 4), ("ME", 12), ("3ME", 4), ("QS", 4), ("2QS", 2), ("QE", 4)),
        *(("3QE", 1), ("h", 24), ("2h", 12), ("3h", 8), ("4h", 6), ("15h", 1), ("YE", 1)),
        *(("2YE", 1), ("YS", 1), ("2YS", 1), ("s", 3600), ("min", 1440)),
        # whose week, but not whose day, is a number of steps: seasons_of has more of them
        *(("7h", 1), ("3B", 1), ("7min", 1)),
    ],
)
def test_mase_season_equals_gluonts(freq, season):
    assert mase_season(freq) == season


def history(names="ab", rows=70, seed=0):
    rng = np.random.default_rng(seed)
    times = pd.date_range("2024-01-01", periods=rows, freq="D")
    waves = 5 * np.sin(2 * np.pi * np.arange(rows) / SEASON)
    return pd.concat(
        [
            pd.DataFrame({"unique_id": name, "ds": times, "y": waves + rng.normal(size=rows)})
            for name in names
        ],
        ignore_index=True,
    )


def backtest(names="ab", cutoff="2024-03-10"):
    cutoff = pd.Timestamp(cutoff)
    ds = pd.date_range(cutoff, periods=3, freq="D")[1:]
    rows = [pd.DataFrame({"unique_id": name, "ds": ds, "cutoff": cutoff}) for name in names]
    return pd.concat(rows, ignore_index=True).assign(y=1.0, m=2.0)


def test_missing_row_is_treated_as_a_gap():
    full, rows = history(), backtest()
    missing = full["ds"].dt.day.isin([3, 11]) & (full["unique_id"] == "a")
    as_nan = error_scales(rows, full.assign(y=full["y"].where(~missing)), SEASON)
    as_gap = error_scales(rows, full[~missing], SEASON)
    pd.testing.assert_frame_equal(as_gap, as_nan)
    y = full.loc[full["unique_id"] == "a", "y"].where(~missing)
    assert as_gap.loc["a", "absolute"] == pytest.approx(y.diff(SEASON).abs().mean())
    assert as_gap.loc["a", "squared"] == pytest.approx((y.diff(SEASON) ** 2).mean())
    by_rows = full.loc[~missing & (full["unique_id"] == "a"), "y"].diff(SEASON).abs().mean()
    assert by_rows > 1.5 * as_gap.loc["a", "absolute"]  # what pairs of the wrong phase make of it


def test_scales_do_not_depend_on_format_or_order_of_rows():
    full, rows = history(), backtest()
    expected = error_scales(rows, full, SEASON)
    wide = full.pivot(index="ds", columns="unique_id", values="y")
    pd.testing.assert_frame_equal(error_scales(rows, wide, SEASON), expected)
    shuffled = full.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(error_scales(rows, shuffled, SEASON), expected)


def test_rows_after_the_first_origin_are_ignored():
    full, rows = history(), backtest(cutoff="2024-02-10")
    later = full["ds"] > pd.Timestamp("2024-02-10")
    expected = error_scales(rows, full[~later], SEASON)
    spiked = full.assign(y=full["y"].where(~later, 1e6))
    pd.testing.assert_frame_equal(error_scales(rows, spiked, SEASON), expected)


def test_series_without_a_scale_is_named_and_others_are_unchanged():
    full = history("ab")
    flat = pd.DataFrame({"unique_id": "flat", "ds": full["ds"][:70], "y": 4.0})
    short = full[full["unique_id"] == "b"][-10:].assign(unique_id="short")
    short = short[:-4]
    train = pd.concat([full, flat, short])
    names = ("a", "b", "flat", "short", "new")
    with pytest.warns(UserWarning, match="no scale") as caught:
        table = backtesting.score(backtest(names), train, season=SEASON, by="unique_id")
    (message,) = {str(warning.message) for warning in caught}
    assert message == (
        "no scale, so left out of mase, rmsse, sql and msis: 3 series ('flat': it repeats itself "
        "exactly; 'short': no two values 7 steps apart; 'new': no training rows)."
    )
    assert table["mase"].isna().tolist() == [False, False, True, True, True]
    with pytest.warns(UserWarning, match="3 series"):
        pooled = backtesting.score(backtest(names), train, season=SEASON)
    alone = backtesting.score(backtest("ab"), full, season=SEASON)
    assert pooled["mase"].item() == pytest.approx(alone["mase"].item())


def test_long_lists_of_series_are_abbreviated():
    names = [f"s{i}" for i in range(9)]
    with pytest.warns(UserWarning, match=r"8 series \('s1': .*'s5': [^;]*; and 3 more\)"):
        error_scales(backtest(names), history(["s0"]), SEASON)


def test_invalid_season_or_training_rows_are_refused():
    full, rows = history(), backtest()
    with pytest.raises(ValueError, match="season must be below the 70 steps of the longest series"):
        backtesting.score(rows, full, season=70)
    with pytest.raises(ValueError, match="season must be an integer of at least 1, got 0"):
        backtesting.score(rows, full, season=0)
    with pytest.raises(ValueError, match="season and freq describe the training rows: pass"):
        backtesting.score(rows, season=7)
    with pytest.raises(ValueError, match="train holds no row of the backtest's series up to"):
        backtesting.score(rows, full[full["ds"] > "2024-03-10"])
    with pytest.raises(ValueError, match="without"):
        backtesting.score(rows, full.drop(columns="y"))


def test_default_season_may_be_too_long_for_some_series():
    hours = pd.date_range("2024-01-01", periods=60, freq="h")
    y = np.random.default_rng(0).normal(size=60)
    rows = pd.DataFrame({"unique_id": "a", "ds": hours[58:], "cutoff": hours[57], "y": 1.0, "m": 2})
    train = pd.DataFrame({"a": y}, hours)[:58]
    scale = np.abs(y[24:58] - y[:34]).mean()
    assert backtesting.score(rows, train)["mase"].item() == pytest.approx(1 / scale)
    with pytest.warns(UserWarning, match="'a': no two values 24 steps apart"):
        assert np.isnan(backtesting.score(rows, train[-20:])["mase"].item())
