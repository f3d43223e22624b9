import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, backtesting
from kerastrans.evaluation.baselines.naive import best_naive, naive_backtests, verdicts
from kerastrans.evaluation.scores.scales import as_long, observed_values

WEEK = np.array([5.0, 6.0, 7.0, 6.0, 5.0, 1.0, 0.0])


def series(name, length=63, noise=0.1, seed=0):
    times = pd.date_range("2024-01-01", periods=length, freq="D")
    y = np.resize(WEEK, length) + noise * np.random.default_rng(seed).normal(size=length)
    return pd.DataFrame({"unique_id": name, "ds": times, "y": y})


@pytest.fixture(scope="module")
def frame():
    return pd.concat([series("a"), series("b", 50, seed=1)], ignore_index=True)


@pytest.fixture(scope="module")
def backtest(frame):
    return Forecaster("last_value", 14, 5, head=None).fit(frame).backtest(frame, windows=3, step=2)


def test_naive_backtests_equal_forecasts_of_the_zoo_models(frame, backtest):
    naives = naive_backtests(backtest, frame, [7])
    seasonal = Forecaster("seasonal_naive", 14, 5, head=None, season=7).fit(frame)
    for name, known in (
        ("last value", backtest.rename(columns={"last_value": "last value"})),
        (
            "seasonal naive (7)",
            seasonal.backtest(frame, windows=3, step=2).rename(
                columns={"seasonal_naive": "seasonal naive (7)"}
            ),
        ),
    ):
        pd.testing.assert_frame_equal(naives[name][known.columns], known, rtol=1e-5, atol=1e-5)


def test_naive_forecasts_use_no_values_after_the_origin(frame, backtest):
    first = backtest.groupby("unique_id")["cutoff"].transform("min")
    changed = frame.copy()
    cuts = frame["unique_id"].map(backtest.groupby("unique_id")["cutoff"].min())
    changed.loc[changed["ds"] > cuts, "y"] = 1e6
    rows = backtest[backtest["cutoff"] == first]
    for name, naive in naive_backtests(rows.assign(y=1e6), changed, [3, 7]).items():
        expected = naive_backtests(rows, frame, [3, 7])[name]
        np.testing.assert_array_equal(naive[name], expected[name])


def test_values_between_the_origins_are_taken_from_the_backtest(frame, backtest):
    """A history that ends where the backtest begins."""
    cuts = frame["unique_id"].map(backtest.groupby("unique_id")["cutoff"].min())
    before = naive_backtests(backtest, frame[frame["ds"] <= cuts], [7])
    for name, naive in naive_backtests(backtest, frame, [7]).items():
        pd.testing.assert_frame_equal(before[name], naive)


def test_missing_values_fall_back_to_the_previous_season_then_the_last_value():
    times = pd.date_range("2024-01-01", periods=8, freq="D")
    history = pd.DataFrame({"a": [1.0, 2.0, 3.0, np.nan, 5.0, np.nan, 0.0, 0.0]}, times)
    rows = pd.DataFrame({"unique_id": "a", "ds": times[6:], "cutoff": times[5], "y": 0.0, "m": 0.0})
    naives = naive_backtests(rows, history, [3, 7])
    assert naives["last value"]["last value"].tolist() == [5.0, 5.0]
    assert naives["seasonal naive (3)"]["seasonal naive (3)"].tolist() == [1.0, 5.0]
    assert naives["seasonal naive (7)"]["seasonal naive (7)"].tolist() == [5.0, 1.0]


def test_report_says_if_a_naive_forecast_beats_the_model(frame):
    forecaster = Forecaster("last_value", 14, 5, head=None).fit(frame)
    backtest = forecaster.backtest(frame, windows=6, step=5)
    name, naive = best_naive(backtest, frame, [3, 7])
    assert name == "seasonal naive (7)"
    table = backtesting.skill({"mine": backtest, name: naive}, name)
    (line,) = verdicts(table, name)
    above = -100 * table.loc["mine", "skill"]
    assert line.startswith(f"mine is beaten by seasonal naive (7): its MAE is {above:.1f} % above,")
    assert line.endswith(f"(p = {table.loc['mine', 'p']:.2g}).")
    table = backtesting.skill({"mine": backtest, name: naive}, "mine")
    assert verdicts(table, "mine")[0].startswith("seasonal naive (7) beats mine: its MAE is 9")


@pytest.mark.parametrize(
    ("skill", "p", "line"),
    [
        (0.2, 0.05, "m beats n: its MAE is 20.0 % below, geometric mean over series (p = 0.05)."),
        (
            -0.2,
            0.01,
            "m is beaten by n: its MAE is 20.0 % above, geometric mean over series (p =",
        ),
        (0.2, 0.06, "m is not significantly different from n: its MAE is 20.0 % below,"),
        (-0.2, 0.9, "m is not significantly different from n: its MAE is 20.0 % above,"),
        (0.9, np.nan, "m is not tested against n: its MAE is 90.0 % below, geometric mean over "),
    ],
)
def test_verdict_depends_on_the_p_value(skill, p, line):
    table = pd.DataFrame({"skill": [skill, 0.0], "p": [p, np.nan]}, ["m", "n"])
    assert verdicts(table, "n")[0].startswith(line)
    assert ("too few origins" in verdicts(table, "n")[0]) == np.isnan(p)
    (line,) = verdicts(table.assign(mae=np.inf), "n")
    assert ("an infinite error" in line) == np.isnan(p)


def test_best_naive_is_chosen_by_scaled_errors_of_all_series():
    times = pd.date_range("2024-01-01", periods=60, freq="D")
    rng = np.random.default_rng(0)
    weekly = np.resize(WEEK, 60) + 0.01 * rng.normal(size=60)
    walk = 1e6 * np.cumsum(rng.normal(size=60))  # of which the last value is a little better
    history = pd.DataFrame({"small": weekly, "large": walk}, times)
    rows = [
        pd.DataFrame({"unique_id": name, "ds": times[i + 1 : i + 4], "cutoff": times[i]})
        for name in history
        for i in range(30, 57, 3)
    ]
    backtest = pd.concat(rows, ignore_index=True)
    y = [history.loc[ds, name] for name, ds in zip(backtest.unique_id, backtest.ds, strict=True)]
    backtest = backtest.assign(y=y, m=0.0)
    naives = naive_backtests(backtest, history, [7])
    pooled = {name: backtesting.score(rows)["mae"].item() for name, rows in naives.items()}
    assert min(pooled, key=pooled.get) == "last value"
    assert best_naive(backtest, history, [7])[0] == "seasonal naive (7)"


def test_default_seasons_are_those_of_the_frequency(frame, backtest):
    assert list(naive_backtests(backtest, frame)) == ["last value", "seasonal naive (7)"]
    hours = pd.date_range("2024-01-01", periods=200, freq="h")
    history = pd.DataFrame({"a": np.arange(200.0)}, hours)
    rows = pd.DataFrame({"unique_id": "a", "ds": hours[-2:], "cutoff": hours[-3], "y": 1.0, "m": 1})
    names = ["last value", "seasonal naive (24)", "seasonal naive (168)"]
    assert list(naive_backtests(rows, history)) == names
    assert list(naive_backtests(rows, history[-150:])) == names[:2]


@pytest.mark.filterwarnings("ignore:10 of the 30 rows with a y have no forecast")
def test_rows_without_a_model_forecast_are_left_out(frame, backtest):
    gaps = backtest.assign(last_value=backtest["last_value"].where(backtest.index % 3 > 0))
    name, naive = best_naive(gaps, frame, [7])
    assert naive[name].isna().sum() == gaps["last_value"].isna().sum() > 0
    backtesting.skill({"mine": gaps, name: naive}, name)


def test_bad_input_is_refused(frame, backtest):
    with pytest.raises(ValueError, match="season must be an integer of at least 1, got 0"):
        best_naive(backtest, frame, [0])
    with pytest.raises(ValueError, match="metric must be one of 'mae', 'rmse', 'smape'"):
        best_naive(backtest, frame, [7], metric="crps")
    known = backtest.assign(y=backtest["y"].where(backtest["unique_id"] == "a"))
    with pytest.raises(ValueError, match="cannot make a naive forecast of 'b': it has no value"):
        best_naive(known, frame[frame["unique_id"] == "a"], [7])
    with pytest.raises(ValueError, match=r"needs the columns .* without \['cutoff'\]"):
        best_naive(backtest.drop(columns="cutoff"), frame, [7])


def test_observed_values_are_read_from_long_and_wide_frames(frame, backtest):
    wide = frame.pivot(index="ds", columns="unique_id", values="y").assign(text="x")
    pd.testing.assert_frame_equal(
        as_long(wide).dropna().reset_index(drop=True)[["unique_id", "ds", "y"]],
        frame,
        check_column_type=False,
        check_dtype=False,
    )
    values = observed_values(frame[frame["unique_id"] == "a"], backtest)
    assert values.groupby("unique_id").size().to_dict() == {"a": 63, "b": 9}
    with pytest.raises(ValueError, match="needs the columns"):
        as_long(pd.DataFrame({"x": [1]}))
