"""How good the forecasts of a backtest are: by series, step and origin, and beside a baseline.

A backtest is a frame as `kerastrans.Forecaster.backtest` returns it: "unique_id", "ds", "cutoff",
"y" and the forecasts, whose columns are named after the model, see `kerastrans.evaluation.columns`.
Rows without a "y" are left out, and the order of rows does not matter.
"""

import numpy as np
import pandas as pd

from kerastrans.evaluation.columns import CUTOFF, ID, TARGET, read_columns, split_models
from kerastrans.evaluation.comparison import check_same_levels, skill
from kerastrans.evaluation.scales import series_scales
from kerastrans.evaluation.scores import known_rows, score_table
from kerastrans.utils.validation import check_choice

__all__ = [
    "GROUPS",
    "interval_levels",
    "observed_levels",
    "quantiles",
    "score",
    "score_all",
    "skill",
]
GROUPS = (None, ID, "step", CUTOFF)


def interval_levels(frame, alias=None):
    """Levels of the intervals in a frame of forecasts, in percent, increasing.

    Example:
        >>> interval_levels(pd.DataFrame(columns=["nhits", "nhits-lo-80", "nhits-hi-80"]))
        [80]
    """
    return list(read_columns(frame, alias).intervals)


def quantiles(frame, alias=None):
    """The quantile levels of a frame of forecasts, increasing, and the columns that hold them.

    The 0.5 quantile is the column of the medians, if there is one, or else the point forecast.

    Example:
        >>> frame = pd.DataFrame(columns=["nhits", "nhits-median", "nhits-lo-80", "nhits-hi-80"])
        >>> quantiles(frame)[1]
        ['nhits-lo-80', 'nhits-median', 'nhits-hi-80']
    """
    columns = read_columns(frame, alias).quantiles
    return np.array(list(columns)), list(columns.values())


def score(backtest, train=None, *, alias=None, by=None, season=None, freq=None):
    """Scores of a backtest, by the definitions of the M4 competition, GluonTS and fev.

    All are means over the rows of each series, then over series, but for the named exceptions.

    - "mae"; "rmse", the root of the mean over series of the mean squared errors; "bias", forecast
      minus true value.
    - "mape" and "smape", shares and not percents. "mape" is infinite where a true value is zero,
      and NaN where the forecast of it is zero too. "smape" is the absolute error over the mean of
      the absolute forecast and true value, 0 where both are zero: from 0 to 2, as in M4, GluonTS
      and fev (utilsforecast: half of it).
    - "mase" and "rmsse", with training rows: errors over the scale of their series, the mean
      absolute or squared difference of training values a season apart in time. "rmsse" is the
      mean over series of each one's root (M5).
    - "crps", with intervals: twice the integral over levels of the quantile loss, each level
      weighted by half the gaps to its neighbours, the outermost up to 0 and 1. It is the CRPS as
      far as the levels are dense: of a perfect forecast of a standard normal value 0.501, 0.592,
      0.563 with the intervals (80, 95), (20, 40, 60, 80), (20, 40, 60, 80, 90, 95); the CRPS
      itself is 0.564. Compare only forecasts of the same levels.
    - "wql" and "sql", where all levels 0.1, 0.2 ... 0.9 are there (the intervals 20, 40, 60 and
      80): twice the quantile loss, mean over these levels. "wql" divides its sum over the rows of
      all series by that of their absolute true values; "sql" divides by the scale as "mase" does.
    - "coverage-80", the share of rows inside; "width-80"; "msis-80", with training rows: the mean
      scaled interval score, for each level.

    A series without a scale or a row that can be scored is left out, and a warning names it.

    Args:
        backtest: frame, see the module.
        train: long or wide frame of the training rows. Rows after the first origin of a series do
            not count.
        alias: str, which model, where the backtest holds several.
        by: None for one row over everything, or a row for each "unique_id", "step" (from 1, in
            the order of "ds" from each origin) or "cutoff".
        season: int, steps of the season of the scale; None for the frequency's, see
            `kerastrans.evaluation.scales.scale_season`: 24 for hours, 1 for days, 12 for months.
        freq: str, pandas frequency, where the time stamps of `train` do not tell it.

    Returns:
        DataFrame with the columns above.

    Raises:
        ValueError: a column or a bound is missing, or no row has a "y" and a forecast.
        ValueError: two rows of the same series, origin and time.
        ValueError: several models in the backtest and no alias, or an unknown `by`.
        ValueError: a season without `train`, or one that is not shorter than any training series.

    Source: Hyndman, Koehler (2006); Makridakis, Spiliotis, Assimakopoulos (2020) for sMAPE, MASE,
    MSIS; Gneiting, Ranjan (2011) for the CRPS; Shchur et al. (2025) for WQL and SQL.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=3, freq="D")
        >>> rows = {"unique_id": "a", "ds": times[1:], "cutoff": times[0], "y": [1.0, 2.0]}
        >>> score(pd.DataFrame({**rows, "nlinear": [2.0, 2.0]}))["mae"].item()
        0.5
    """
    check_choice("by", by, GROUPS)
    columns = read_columns(backtest, alias)
    frame = known_rows(backtest, columns)
    return score_table(frame, columns, by, series_scales(frame, train, season, freq))


def observed_levels(backtest, alias=None):
    """The quantile levels of a backtest, and the share of true values at or below each.

    Args:
        backtest: frame, see the module.
        alias: str, which model, where the backtest holds several.

    Returns:
        Two arrays, `(levels,)`: the probabilities, increasing, and the shares.

    Raises:
        ValueError: a backtest without intervals.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=3, freq="D")
        >>> rows = {"unique_id": "a", "ds": times[1:], "cutoff": times[0], "y": [1.0, 2.0]}
        >>> interval = {"nhits": 1.5, "nhits-lo-80": 0.5, "nhits-hi-80": 2.5}
        >>> levels, shares = observed_levels(pd.DataFrame({**rows, **interval}))
        >>> shares.tolist()
        [0.0, 0.5, 1.0]
    """
    columns = read_columns(backtest, alias)
    if not columns.intervals:
        raise ValueError("this backtest has no intervals: ask for levels, or calibrate.")
    frame = known_rows(backtest, columns)
    shares = [(frame[TARGET] <= frame[column]).mean() for column in columns.quantiles.values()]
    return np.array(list(columns.quantiles)), np.array(shares)


def score_all(backtests, train=None, *, season=None, freq=None):
    """The row of `score` of each backtest, by name.

    Args:
        backtests: dict of name -> backtest, or one backtest of several models.
        train: long or wide frame of the training rows, as in `score`.
        season: int, as in `score`.
        freq: str, as in `score`.

    Raises:
        ValueError: intervals of different levels, and what `score` refuses.
    """
    backtests = split_models(backtests)
    check_same_levels({name: read_columns(backtest) for name, backtest in backtests.items()})
    options = {"season": season, "freq": freq}
    tables = {name: score(backtest, train, **options) for name, backtest in backtests.items()}
    return pd.concat(tables).droplevel(1)
