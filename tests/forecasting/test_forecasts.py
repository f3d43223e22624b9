import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kerastrans import backtesting, heads
from kerastrans.data.panel import read_panel
from kerastrans.data.panel_windows import Windows
from kerastrans.forecasting.forecasts import Forecasts

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
    share = backtesting.observed_levels(frame)[1][2]
    assert share == pytest.approx(COUNTS.cdf(COUNTS.median()), abs=0.03)  # 0.67
    assert (frame["y"] <= frame["deepar"]).mean() > share + 0.08  # what the mean would have said
    assert list(of_counts().frame([], alias="x").columns) == ["unique_id", "ds", "x"]


def test_conformal_intervals_of_counts_are_not_negative():
    forecasts = of_counts()
    frame = forecasts.frame([80], {80: np.full((1, 4, 1), 2.5)}, alias="nb")
    low, high = COUNTS.ppf([0.1, 0.9])
    assert (frame["nb-lo-80"] == 0).all()
    assert (frame["nb-hi-80"] == high + 2.5).all()
    assert low - 2.5 < 0


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
