"""Scores of a backtest: by series, step or origin, and relative to a baseline.

A backtest is a DataFrame as returned by `kerastrans.Forecaster.backtest`, with the columns
"unique_id", "ds", "cutoff", "y" and the forecasts. The columns of the forecasts are named after the
model, see `kerastrans.evaluation.columns`. Rows without a "y" are ignored, and the order of the
rows does not matter.
"""

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrame

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.columns import CUTOFF, ID, read_columns, split_models
from kerastrans.evaluation.scores.scales import error_scales
from kerastrans.evaluation.scores.table import ScoreFrame, known_rows, score_table
from kerastrans.evaluation.significance import calibration
from kerastrans.evaluation.significance.comparison import at_common_levels, skill
from kerastrans.utils.types import Backtests
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


@takes_any_frame
def interval_levels(frame: IntoDataFrame, alias: str | None = None) -> list[float]:
    """Return the levels of the intervals in a frame of forecasts, in percent and increasing.

    Example:
        >>> interval_levels(pd.DataFrame(columns=["nhits", "nhits-lo-80", "nhits-hi-80"]))
        [80]
    """
    return list(read_columns(frame, alias).intervals)


@takes_any_frame
def quantiles(frame: IntoDataFrame, alias: str | None = None) -> tuple[np.ndarray, list[str]]:
    """Return the quantile levels of a frame of forecasts, increasing, and their columns.

    The 0.5 quantile is read from the column of medians if the frame has one, otherwise from the
    point forecast.

    Example:
        >>> frame = pd.DataFrame(columns=["nhits", "nhits-median", "nhits-lo-80", "nhits-hi-80"])
        >>> quantiles(frame)[1]
        ['nhits-lo-80', 'nhits-median', 'nhits-hi-80']
    """
    columns = read_columns(frame, alias).quantiles
    return np.array(list(columns)), list(columns.values())


@takes_any_frame
def score(
    backtest: IntoDataFrame,
    train: IntoDataFrame | None = None,
    *,
    alias: str | None = None,
    by: str | None = None,
    season: int | None = None,
    freq: str | None = None,
) -> ScoreFrame:
    """Score a backtest with the definitions of the M4 competition, GluonTS and fev.

    Unless stated otherwise, a score is averaged over the rows of each series, then over series.

    - "mae"; "rmse", the root of the mean over series of the mean squared errors; "bias", forecast
      minus true value.
    - "mape" and "smape", as fractions, not percentages. "mape" is NaN if a true value is zero.
      "smape" is the absolute error divided by the mean of
      the absolute forecast and the absolute true value, or 0 if both are zero. It ranges from 0 to
      2, as in M4, GluonTS and fev (utilsforecast reports half of it).
    - "mase" and "rmsse", if `train` is given: errors divided by the scale of their series, which is
      the mean absolute or squared difference between training values one season apart. "rmsse" is
      the mean over series of each series' root (M5).
    - "crps", if there are intervals: twice the integral of the quantile loss over the levels. Each
      level is weighted by half the gaps to its neighbours; the outermost gaps extend to 0 and 1.
      The approximation of the CRPS improves with the number of levels: a perfect forecast of a
      standard normal value scores 0.500, 0.591 and 0.562 with the intervals (80, 95),
      (20, 40, 60, 80) and (20, 40, 60, 80, 90, 95); its exact CRPS is 0.564. Compare only
      forecasts with the same levels.
    - "wql" and "sql", if all levels 0.1, 0.2, ..., 0.9 are available (the intervals 20, 40, 60 and
      80): twice the quantile loss, averaged over these levels. "wql" divides the sum over the rows
      of all series by the sum of their absolute true values; "sql" divides by the scale, as "mase"
      does.
    - "coverage-80", the fraction of rows inside the interval; "width-80", its mean width; and, if
      `train` is given, "msis-80", the mean scaled interval score. There is one of each per level.

    A series without a scale, or without a row that can be scored, is left out with a warning.

    Args:
        backtest: DataFrame with the columns described in the module docstring.
        train: Long or wide DataFrame of the training rows. Rows after the first origin of a series
            are ignored.
        alias: str, name of the model; required if the backtest contains several.
        by: None for a single row over the whole backtest, or "unique_id", "step" (numbered from 1,
            in the order of "ds" after each origin) or "cutoff" for one row per group.
        season: int, number of steps in the season that defines the scale; None for the default of
            the frequency (24 for hours, 1 for days, 12 for months), see
            `kerastrans.data.time.seasons.mase_season`.
        freq: str, pandas frequency; required if it cannot be inferred from the time stamps of
            `train`.

    Returns:
        DataFrame with the columns above, which prints the main ones, see
        `kerastrans.evaluation.scores.table.ScoreFrame`.

    Raises:
        ValueError: If a column or a bound is missing, or no row has a "y" and a forecast.
        ValueError: If two rows have the same series, origin and time.
        ValueError: If the backtest contains several models and `alias` is not given, or if `by` is
            unknown.
        ValueError: If `season` is given without `train`, or is not shorter than the longest
            training series.

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
    table = score_table(frame, columns, by, error_scales(frame, train, season, freq))
    return ScoreFrame(table)


def observed_levels(
    backtest: IntoDataFrame, alias: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the quantile levels of a backtest and the fraction of true values below each.

    Values that equal several quantiles, as counts do, are counted by the share of their probability
    that is below a level, see `kerastrans.evaluation.significance.calibration.pit_bounds`.

    Args:
        backtest: DataFrame with the columns described in the module docstring.
        alias: str, name of the model; required if the backtest contains several.

    Returns:
        Two arrays `(levels,)`: the probabilities, increasing, and the fractions.

    Raises:
        ValueError: If the backtest has no intervals.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=3, freq="D")
        >>> rows = {"unique_id": "a", "ds": times[1:], "cutoff": times[0], "y": [1.0, 2.0]}
        >>> interval = {"nhits": 1.5, "nhits-lo-80": 0.5, "nhits-hi-80": 2.5}
        >>> levels, shares = observed_levels(pd.DataFrame({**rows, **interval}))
        >>> shares.tolist()
        [0.0, 0.5, 1.0]
    """
    levels, quantiles, targets = calibration.known_quantiles(backtest, alias)
    return levels, calibration.observed_levels(levels, quantiles, targets)


@takes_any_frame
def score_all(
    backtests: Backtests,
    train: IntoDataFrame | None = None,
    *,
    season: int | None = None,
    freq: str | None = None,
) -> ScoreFrame:
    """Score each backtest over all its rows.

    Args:
        backtests: Dict of name -> backtest, or one backtest of several models.
        train: Long or wide DataFrame of the training rows, as in `score`.
        season: int, as in `score`.
        freq: str, as in `score`.

    Returns:
        DataFrame with one row per name and the columns of `score`.

    Raises:
        ValueError: If models have intervals but no common level, or for any reason listed in
            `score`.
    """
    backtests = split_models(backtests)
    columns = {name: read_columns(backtest) for name, backtest in backtests.items()}
    common = at_common_levels(columns)
    for name, own in columns.items():
        others = [own.intervals[level] for level in own.intervals.keys() - common[name].intervals]
        backtests[name] = backtests[name].drop(columns=[x for pair in others for x in pair])
    options = {"season": season, "freq": freq}
    tables = {name: score(backtest, train, **options) for name, backtest in backtests.items()}
    return ScoreFrame(pd.concat(tables).droplevel(1))
