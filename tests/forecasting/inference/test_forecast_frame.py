import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kerastrans import backtesting, heads
from kerastrans.data.panel import read_panel
from kerastrans.data.panel_windows import Windows
from kerastrans.forecasting.inference.forecast_frame import Forecasts

ALPHA = 4.0
COUNTS = stats.nbinom(1 / ALPHA, 1 / (1 + ALPHA))  # of mean 1


def of_counts(rows=2_000, steps=4):
    """Forecasts of a perfect model of counts, from origins that do not overlap."""
    times = pd.date_range("2024-01-01", periods=rows, freq="h")
    y = COUNTS.rvs(size=rows, random_state=0).astype(float)
    panel = read_panel(pd.DataFrame({"unique_id": "a", "ds": times, "y": y}))
    cuts = np.arange(1 + steps, rows - steps, steps)
    windows = Windows(panel, steps, steps, np.zeros(len(cuts), int), cuts)
    parameters = np.broadcast_to([1.0, ALPHA], (len(cuts), steps, 1, 2))
    return Forecasts(
        windows, heads.get("negative_binomial"), parameters, np.ones((len(cuts), 1, 1))
    )


def test_columns_are_nixtlas_and_the_mean_of_counts_is_not_their_median():
    frame = of_counts().frame([95, 80], alias="deepar", is_backtest=True)
    assert list(frame.columns) == [
        *("unique_id", "ds", "cutoff", "y", "deepar", "deepar-median"),
        *("deepar-lo-80", "deepar-hi-80", "deepar-lo-95", "deepar-hi-95"),
    ]
    assert (frame["deepar"] == 1).all()
    assert (frame["deepar-median"] == COUNTS.median()).all()
    known, shares = backtesting.observed_levels(frame)
    np.testing.assert_allclose(shares, known, atol=0.05)
    assert (frame["y"] <= frame["deepar-median"]).mean() > 0.6  # without randomisation
    assert list(of_counts().frame([], alias="x").columns) == ["unique_id", "ds", "x"]


def test_conformal_intervals_of_counts_are_not_negative():
    forecasts = of_counts()
    frame = forecasts.frame([80], {80: np.full((1, 4, 1, 2), 2.5)}, alias="nb")
    low, high = COUNTS.ppf([0.1, 0.9])
    assert (frame["nb-lo-80"] == 0).all()
    assert (frame["nb-hi-80"] == high + 2.5).all()
    assert low - 2.5 < 0


def of_points(points, size=2.0):
    """Point forecasts of one series of known values, windows of two steps."""
    points = np.asarray(points, float)
    times = pd.date_range("2024-01-01", periods=2 * len(points) + 2, freq="h")
    y = np.append([0.0, 0.0], np.full(2 * len(points), 5.0))
    panel = read_panel(pd.DataFrame({"unique_id": "a", "ds": times, "y": y}))
    cuts = 3 + 2 * np.arange(len(points))
    windows = Windows(panel, 2, 2, np.zeros(len(cuts), int), cuts)
    parameters = np.broadcast_to(points[:, None, None], (len(points), 2, 1))
    return Forecasts(windows, heads.get("point"), parameters, np.full((len(points), 1, 1), size))


def offsets(low, high):
    """Of one step and channel."""
    return np.array([low, high]).reshape(1, 1, 1, 2)


@pytest.mark.parametrize(
    ("widths", "low", "high"),
    [
        ((0.5, 0.5), 4.0, 6.0),  # in units of the scale, 2
        ((-0.5, -0.5), 5.0, 5.0),  # not 4 to 6
        ((-0.5, 1.0), 6.0, 7.0),  # beside the point: it was always too low
        ((-1.0, -0.5), 5.5, 5.5),  # between 7 and 4
    ],
)
def test_bounds_that_have_passed_each_other_meet_in_the_middle(widths, low, high):
    frame = of_points([5.0]).frame([80], {80: offsets(*widths)}, alias="x", is_backtest=True)
    assert (frame["x-lo-80"] == low).all()
    assert (frame["x-hi-80"] == high).all()
    assert backtesting.score(frame)["coverage-80"].item() == (low <= 5 <= high)


def test_an_empty_interval_covers_nothing_but_its_point():
    widths = {80: offsets(-0.5, -0.5)}
    frame = of_points([4.0, 5.0, 5.5, 7.0]).frame([80], widths, alias="x", is_backtest=True)
    assert backtesting.score(frame)["coverage-80"].item() == 0.25
    assert backtesting.score(frame)["width-80"].item() == 0.0


def test_wider_intervals_contain_narrower_ones_and_no_bound_passes_another():
    widths = {50: offsets(2.0, -1.5), 80: offsets(-1.0, 3.0), 95: offsets(0.5, 0.5)}
    row = of_points([5.0]).frame([50, 80, 95], widths, alias="x").iloc[0, 3:].astype(float)
    # 1 to 2, 7 to 11, 4 to 6
    expected = {50: (4.0, 6.0), 80: (2.0, 7.0), 95: (1.0, 11.0)}
    for level, bounds in expected.items():
        assert (row[f"x-lo-{level}"], row[f"x-hi-{level}"]) == bounds


def test_the_point_moves_with_the_bounds_and_depends_on_no_level_that_is_asked_for():
    """Of 50 %: 6 to 8, beside the point; of 80 %: 6 to 7, inside of it."""
    widths = {50: offsets(-0.5, 1.5), 80: offsets(-0.5, 1.0)}
    both = of_points([5.0]).frame([50, 80], widths, alias="x")
    assert (both["x"] == 6).all()
    assert (both["x-hi-80"] == 8).all()
    for levels in ([80], [50], []):
        some = of_points([5.0]).frame(levels, widths, alias="x")
        pd.testing.assert_frame_equal(some, both[list(some.columns)])
    mean = of_counts().frame([80], {80: np.full((1, 4, 1, 2), -2.0)}, alias="nb")
    assert (mean["nb"] == 1).all()  # a mean need not lie in an interval
    assert mean["nb-median"].between(mean["nb-lo-80"], mean["nb-hi-80"]).all()


def test_a_median_has_a_column_only_where_the_point_is_something_else():
    forecasts = of_counts()
    draws = np.arange(5.0) ** 2 * np.ones((len(forecasts.windows), 4, 1, 1))
    frame = Forecasts(forecasts.windows, heads.Samples(), draws, forecasts.scale)
    frame = frame.frame([50], alias="deepar")
    assert frame.iloc[0, 2:].tolist() == [6.0, 4.0, 0.5, 12.5]  # mean, median, quartiles
    quantiles = Forecasts(forecasts.windows, heads.get("quantiles"), draws[..., [0] * 7], 1.0)
    assert "x-median" not in quantiles.frame([80], alias="x")


def test_an_alias_of_another_column_is_refused():
    with pytest.raises(ValueError, match="alias must be a str"):
        of_counts().frame([80], alias="y")
