"""Naive baselines for the rows of a backtest.

The baselines use the same history and the same origins as the backtest and are joined to the same
true values, so that `kerastrans.backtesting.skill` can compare them with the model.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrame, IntoDataFrameT

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.data.panel import read_panel
from kerastrans.data.time.seasons import choose_season, held_seasons
from kerastrans.evaluation.backtesting import score
from kerastrans.evaluation.columns import CUTOFF, ID, TARGET, TIME, check_columns, read_columns
from kerastrans.evaluation.scores.scales import observed_values
from kerastrans.evaluation.significance.comparison import geometric_mean, relative_errors
from kerastrans.evaluation.significance.tests import SIGNIFICANCE
from kerastrans.utils.validation import check_choice

LAST_VALUE = "last value"
METRICS = ("mae", "rmse", "smape")  # "mape" may be NaN


@takes_any_frame
def naive_backtests(
    backtest: IntoDataFrameT,
    history: IntoDataFrame,
    seasons: Sequence[int] | None = None,
    *,
    freq: str | None = None,
) -> dict[str, IntoDataFrameT]:
    """Backtest the last value and seasonal naive forecasts on the rows of a backtest.

    A seasonal naive forecast repeats the last season before each origin. If a value of that season
    is missing, the value one season earlier is used; if the series is too short for that, the last
    value is used.

    Args:
        backtest: DataFrame returned by `Forecaster.backtest`. Its "y" extends the history of later
            origins.
        history: Long or wide DataFrame of the series before and between the origins.
        seasons: ints, lengths of the seasons in steps; None for all seasons of the frequency that
            are shorter than the longest series, see `kerastrans.data.seasons_of`.
        freq: str, pandas frequency; required if it cannot be inferred from the time stamps.

    Returns:
        Dict of name -> backtest. The names are "last value", "seasonal naive (24)" and so on.

    Raises:
        ValueError: If a column is missing, a season is below 1 or not shorter than the longest
            series, or a series has no history.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=6, freq="D")
        >>> history = pd.DataFrame({"a": [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]}, times)
        >>> rows = {"unique_id": "a", "ds": times[4:], "cutoff": times[3], "y": [1.0, 2.0]}
        >>> naives = naive_backtests(pd.DataFrame({**rows, "nlinear": [1.2, 1.8]}), history, [2])
        >>> naives["last value"]["last value"].tolist()
        [2.0, 2.0]
        >>> naives["seasonal naive (2)"]["seasonal naive (2)"].tolist()
        [1.0, 2.0]
    """
    panel, series, known, ahead = locate(backtest, history, freq)
    longest = int((panel.ends - panel.begins).max())
    if seasons is None:
        seasons = held_seasons(panel.clock.freq, longest - 1)
    seasons = [choose_season(season, longest, None) for season in seasons]
    steps = ahead - known  # steps from the origin to the forecast, at least 1
    last = _latest_values(panel, series, known, 1)
    naives = {LAST_VALUE: last}
    for season in seasons:
        # The value at the same phase of the last season before the origin.
        places = known - season + 1 + (steps - 1) % season
        same_phase = _latest_values(panel, series, places, season)
        naives[f"seasonal naive ({season})"] = np.where(np.isnan(same_phase), last, same_phase)
    return {name: on_rows(backtest, name, values) for name, values in naives.items()}


@takes_any_frame
def best_naive(
    backtest: IntoDataFrameT,
    history: IntoDataFrame,
    seasons: Sequence[int] | None = None,
    *,
    metric: str = "mae",
    freq: str | None = None,
) -> tuple[str, IntoDataFrameT]:
    """Return the last value or seasonal naive with the smallest error on the rows of a backtest.

    Args:
        backtest: DataFrame returned by `Forecaster.backtest`.
        history: Long or wide DataFrame, as in `naive_backtests`.
        seasons: ints, lengths of the seasons in steps, as in `naive_backtests`.
        metric: str, name of the error, see `best_of`.
        freq: str, pandas frequency, as in `naive_backtests`.

    Returns:
        Tuple `(name, backtest)` of the best baseline.

    Raises:
        ValueError: If the metric is unknown, or for any reason listed in `naive_backtests`.
    """
    check_choice("metric", metric, METRICS)
    naives = naive_backtests(backtest, history, seasons, freq=freq)
    name = best_of(naives, metric)
    return name, naives[name]


def best_of(backtests, metric="mae"):
    """Return the name of the backtest with the smallest errors.

    Backtests are ranked by the geometric mean over series of their errors relative to the first
    backtest.

    Args:
        backtests: Dict of name -> backtest. All must contain the same rows.
        metric: "mae", "rmse" or "smape", computed for each series.

    Raises:
        ValueError: If the metric is unknown.
    """
    check_choice("metric", metric, METRICS)
    errors = {name: score(rows, by=ID)[metric].to_numpy() for name, rows in backtests.items()}
    first = next(iter(errors.values()))
    return min(errors, key=lambda name: geometric_mean(relative_errors(errors[name], first)))


def verdicts(table, baseline):
    """Return sentences that compare each forecast with the baseline.

    A forecast is called better or worse if its p-value is at most 0.05. Other forecasts are not
    significantly different, or were not tested.

    Args:
        table: DataFrame returned by `kerastrans.backtesting.skill`.
        baseline: str, name of the baseline's row.

    Returns:
        List of str, one per row except the baseline's.

    Raises:
        ValueError: If the baseline is not in the table.

    Example:
        >>> table = pd.DataFrame({"skill": [-0.13, 0.0], "p": [0.021, None]}, ["nhits", "naive"])
        >>> print(*verdicts(table, "naive"))
        nhits is beaten by naive: its MAE is 13.0 % above, geometric mean over series (p = 0.021).
    """
    check_choice("baseline", baseline, tuple(table.index))
    lines = []
    for name, row in table.drop(index=baseline).iterrows():
        verb = "beats" if row["skill"] > 0 else "is beaten by"
        chance = f"p = {row['p']:.2g}"
        if np.isnan(row["p"]):
            verb = "is not tested against"
            chance = "too few origins" if np.isfinite(row.get("mae", 0)) else "an infinite error"
        elif row["p"] > SIGNIFICANCE:
            verb = "is not significantly different from"
        lines.append(
            f"{name} {verb} {baseline}: its MAE is {100 * abs(row['skill']):.1f} % "
            f"{'below' if row['skill'] > 0 else 'above'}, geometric mean over series ({chance})."
        )
    return lines


def locate(backtest, history, freq=None):
    """Locate the rows of a backtest in the known values of their series.

    Args:
        backtest: DataFrame returned by `Forecaster.backtest`.
        history: Long or wide DataFrame of the series; the "y" of the backtest is added to it.
        freq: str, pandas frequency; required if it cannot be inferred from the time stamps.

    Returns:
        Tuple `(panel, series, known, ahead)`: the panel, and for each row the index of its series
        in the panel and the clock numbers of its origin and of its time stamp.

    Raises:
        ValueError: If a column is missing, or a series has no history.
    """
    check_columns(backtest, ID, TIME, CUTOFF, TARGET)
    panel = read_panel(observed_values(history, backtest), freq=freq)
    series = pd.Index(panel.names[:, 0]).get_indexer(backtest[ID])
    if (series < 0).any():
        name = backtest[ID].iloc[int(np.argmin(series))]
        raise ValueError(
            f"cannot make a naive forecast of {name!r}: it has {panel.faults[str(name)]}."
        )
    times = (panel.clock.numbers(pd.DatetimeIndex(backtest[x]))[0] for x in (CUTOFF, TIME))
    return panel, series, *times


def origins_of(panel, series, known):
    """Yield the rows of each series and origin, the origin, and the values known there.

    Args:
        panel: `Panel` returned by `locate`.
        series: Array `(rows,)`, index of the series of each row.
        known: Array `(rows,)`, clock number of the origin of each row.

    Yields:
        Tuple `(rows, origin, values)`: indices of the rows, int, and array `(time,)` from the begin
        of the series up to the origin, NaN for missing values.
    """
    pairs, places = np.unique(np.stack([series, known]), axis=1, return_inverse=True)
    for pair, (i, origin) in enumerate(pairs.T):
        begin = panel.begins[i]
        until = begin + np.clip(origin + 1 - panel.first[i], 0, panel.ends[i] - begin)
        yield np.flatnonzero(places.ravel() == pair), origin, panel.values[begin:until, 0]


def on_rows(backtest, name, values):
    """Return a backtest of `values` with NaN in the rows where `backtest` has no forecast."""
    columns = read_columns(backtest).quantiles.values()
    is_forecast = np.all([backtest[column].notna() for column in columns], axis=0)
    rows = backtest[[ID, TIME, CUTOFF, TARGET]]
    return rows.assign(**{name: np.where(is_forecast, values, np.nan)})


def _latest_values(panel, series, numbers, season):
    """Return the values at these clock numbers, or the latest known value whole seasons earlier.

    The result is NaN if no such value exists since the series began.
    """
    begins, ends = panel.begins[series], panel.ends[series]
    rows = numbers - panel.first[series] + begins
    values = np.full(len(rows), np.nan)
    # Replace what is missing by the value one season earlier until every series has begun.
    while (missing := np.isnan(values) & (rows >= begins)).any():
        known = missing & (rows < ends)
        values[known] = panel.values[rows[known], 0]
        rows = rows - season
    return values
