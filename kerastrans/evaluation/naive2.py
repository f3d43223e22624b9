"""Naive 2 of the M4 competition: the last value, seasonally adjusted where that is called for."""

import numpy as np
from scipy.signal import correlate

from kerastrans.evaluation.baselines import locate, on_rows
from kerastrans.evaluation.comparison import NAIVE2
from kerastrans.evaluation.scales import scale_season
from kerastrans.utils.validation import check_positive_integers

_CRITICAL = 1.645  # of a normal variable, 90 percent


def naive2_backtest(backtest, history, season=None, *, freq=None):
    """Backtest of Naive 2 on the rows of a backtest, beside which `skill` gives OWA.

    Args:
        backtest: frame as `Forecaster.backtest` returns it. Its "y" adds to the history of the
            origins that come later.
        history: long or wide frame of the series before and between the origins.
        season: int, steps of the season; None for `kerastrans.evaluation.scales.scale_season` of
            the frequency, as in M4.
        freq: str, pandas frequency, where the time stamps do not tell it.

    Returns:
        Backtest whose forecasts are named "naive2".

    Raises:
        ValueError: a missing column, a season below 1, or a series without a history.

    Example:
        >>> import pandas as pd
        >>> times = pd.date_range("2024-01-01", periods=20, freq="D")
        >>> history = pd.DataFrame({"a": [1.0, 3.0] * 10}, times)
        >>> rows = {"unique_id": "a", "ds": times[18:], "cutoff": times[17], "y": [1.0, 3.0]}
        >>> backtest = pd.DataFrame({**rows, "nlinear": [1.2, 1.8]})
        >>> naive2_backtest(backtest, history, season=2)["naive2"].round(6).tolist()
        [1.0, 3.0]
    """
    if season is not None:
        check_positive_integers(season=season)
    panel, series, known, ahead = locate(backtest, history, freq)
    season = scale_season(panel.clock.freq) if season is None else season
    forecasts = np.full(len(series), np.nan)
    pairs, places = np.unique(np.stack([series, known]), axis=1, return_inverse=True)
    for pair, (i, origin) in enumerate(pairs.T):
        begin, first = panel.begins[i], panel.first[i]
        until = begin + np.clip(origin + 1 - first, 0, panel.ends[i] - begin)
        rows = places.ravel() == pair
        forecasts[rows] = naive2(panel.values[begin:until, 0], ahead[rows] - first, season)
    return on_rows(backtest, NAIVE2, forecasts)


def naive2(values, places, season):
    """The last known value, by the seasonal index of its phase, times that of the forecast's.

    Missing values are interpolated for the test of seasonality and for the trend, and have no part
    in the indices. Values that are not all positive, or none of some phase, have no multiplicative
    season: their forecast is the last one.

    Args:
        values: `(time,)`, the history, NaN where missing.
        places: ints, which places of the series to forecast, its first value at 0.
        season: int, steps of the season.

    Returns:
        Forecasts, of the shape of `places`; NaN without a known value.
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
    """Whether the autocorrelation at the season is more than chance, at 90 percent.

    Args:
        values: `(time,)`, none missing.
        season: int, steps of the season; a season of 1, or values of fewer than three or that are
            not all positive, are not seasonal.

    Source: Makridakis, Spiliotis, Assimakopoulos (2020), the organisers' `SeasonalityTest`.
    """
    count = len(values)
    if season == 1 or count < 3 * season or values.min() <= 0 or values.min() == values.max():
        return False
    centered = values - values.mean()
    covariances = correlate(centered, centered)[count - 1 : count + season]
    correlations = covariances[1:] / covariances[0]
    limit = _CRITICAL * np.sqrt((1 + 2 * np.sum(correlations[:-1] ** 2)) / count)
    return bool(abs(correlations[-1]) > limit)


def seasonal_indices(values, season, known=None):
    """Indices of the classical multiplicative decomposition, `(season,)`, from the first value's.

    Args:
        values: `(time,)`, positive, at least two seasons.
        season: int, steps of the season.
        known: `(time,)` bools, which values count but for the trend; None for all.

    Returns:
        Indices with a mean of 1; NaN where there is no value of some phase.

    Source: Kendall, Stuart (1983), as R's `decompose(type="multiplicative")`.
    """
    weights = np.ones(season) if season % 2 else np.r_[0.5, np.ones(season - 1), 0.5]
    trend = np.convolve(values, weights / season, "valid")
    half = season // 2
    phases = (np.arange(len(trend)) + half) % season
    counts = np.ones(len(trend)) if known is None else known[half : half + len(trend)]
    ratios = counts * values[half : half + len(trend)] / trend
    with np.errstate(invalid="ignore"):
        means = np.bincount(phases, ratios, season) / np.bincount(phases, counts, season)
    return means / means.mean()
