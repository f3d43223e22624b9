"""Naive 2 of the M4 competition: the last value, seasonally adjusted if the series is seasonal."""

import numpy as np
import scipy

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.data.time.seasons import choose_season, mase_season
from kerastrans.evaluation.baselines.naive import locate, on_rows, origins_of
from kerastrans.evaluation.significance.comparison import NAIVE2

_CRITICAL = 1.645  # 95 percent quantile of the standard normal distribution: a two-sided 90 % test


@takes_any_frame
def naive2_backtest(backtest, history, season=None, *, freq=None):
    """Backtest Naive 2 on the rows of a backtest; as a baseline of `skill` it gives OWA.

    Args:
        backtest: DataFrame returned by `Forecaster.backtest`. Its "y" extends the history of later
            origins.
        history: Long or wide DataFrame of the series before and between the origins.
        season: int, number of steps in the season; None for the season that
            `kerastrans.data.time.seasons.mase_season` returns for the frequency, as in M4.
        freq: str, pandas frequency; required if it cannot be inferred from the time stamps.

    Returns:
        Backtest whose forecasts are named "naive2".

    Raises:
        ValueError: If a column is missing, the season is below 1, or a series has no history.

    Example:
        >>> import pandas as pd
        >>> times = pd.date_range("2024-01-01", periods=20, freq="D")
        >>> history = pd.DataFrame({"a": [1.0, 3.0] * 10}, times)
        >>> rows = {"unique_id": "a", "ds": times[18:], "cutoff": times[17], "y": [1.0, 3.0]}
        >>> backtest = pd.DataFrame({**rows, "nlinear": [1.2, 1.8]})
        >>> naive2_backtest(backtest, history, season=2)["naive2"].round(6).tolist()
        [1.0, 3.0]
    """
    panel, series, known, ahead = locate(backtest, history, freq)
    longest = int((panel.ends - panel.begins).max())
    season = choose_season(season, longest, mase_season(panel.clock.freq))
    forecasts = np.full(len(series), np.nan)
    for rows, _, past in origins_of(panel, series, known):
        places = ahead[rows] - panel.first[series[rows[0]]]
        forecasts[rows] = naive2(past, places, season)
    return on_rows(backtest, NAIVE2, forecasts)


def naive2(values, places, season):
    """Forecast with the last known value, adjusted by the seasonal indices of the two phases.

    The last value is divided by the index of its phase and multiplied by the index of the
    forecast's phase. Missing values are interpolated for the test of seasonality and for the trend,
    and are ignored in the indices. If a value is not positive, or a phase has no known value, a
    multiplicative season is undefined and the forecast is the last value.

    Args:
        values: Array `(time,)` of the history, NaN for missing values.
        places: ints, positions to forecast; the first value of the series has position 0.
        season: int, number of steps in the season.

    Returns:
        Forecasts with the shape of `places`; NaN if no value is known.
    """
    rows = np.flatnonzero(np.isfinite(values))
    if not len(rows):
        return np.full(len(places), np.nan)
    first, last = rows[0], rows[-1]
    filled = np.interp(np.arange(first, last + 1), rows, values[rows])
    index = np.full(season, np.nan)
    if is_seasonal(filled, season):
        index = seasonal_indices(filled, season, np.isfinite(values[first : last + 1]))
    if np.isnan(index).any():
        return np.full(len(places), values[last])
    return values[last] / index[(last - first) % season] * index[(places - first) % season]


def is_seasonal(values, season):
    """Return whether the autocorrelation at the season is significant at the 90 percent level.

    Args:
        values: Array `(time,)` without missing values.
        season: int, number of steps in the season. The result is False if it is 1, if there are
            fewer than three seasons of values, or if a value is not positive.

    Source: Makridakis, Spiliotis, Assimakopoulos (2020), the organisers' `SeasonalityTest`.
    """
    count = len(values)
    if season == 1 or count < 3 * season or values.min() <= 0 or values.min() == values.max():
        return False
    centered = values - values.mean()
    # The second half of the full correlation holds the lags 0, 1, ..., season.
    covariances = scipy.signal.correlate(centered, centered)[count - 1 : count + season]
    correlations = covariances[1:] / covariances[0]
    # Bartlett's variance of an autocorrelation, given the correlations at the shorter lags.
    limit = _CRITICAL * np.sqrt((1 + 2 * np.sum(correlations[:-1] ** 2)) / count)
    return bool(abs(correlations[-1]) > limit)


def seasonal_indices(values, season, known=None):
    """Return the indices of the classical multiplicative decomposition, `(season,)`.

    Args:
        values: Array `(time,)` of positive values, at least two seasons long.
        season: int, number of steps in the season.
        known: bool array `(time,)`. Values that are not known are used for the trend, but not for
            the indices. None if all values are known.

    Returns:
        Array of indices with mean 1, starting with the phase of the first value; NaN for a phase
        without a known value.

    Source: Kendall, Stuart (1983), as R's `decompose(type="multiplicative")`.
    """
    # The trend is a centred moving average over one season; for even seasons both ends count half.
    weights = np.ones(season) if season % 2 else np.r_[0.5, np.ones(season - 1), 0.5]
    trend = np.convolve(values, weights / season, "valid")
    half = season // 2
    # The index of a phase is the mean ratio of the known values to the trend.
    phases = (np.arange(len(trend)) + half) % season
    counts = np.ones(len(trend)) if known is None else known[half : half + len(trend)]
    ratios = counts * values[half : half + len(trend)] / trend
    with np.errstate(invalid="ignore"):
        means = np.bincount(phases, ratios, season) / np.bincount(phases, counts, season)
    return means / means.mean()
