"""Naive forecasts of the rows of a backtest: what a model has to beat.

They are made of the same history from the same origins, and joined to the same true values, so
that `kerastrans.backtesting.skill` can compare them with the model.
"""

import numpy as np
import pandas as pd

from kerastrans.data.panel import read_panel
from kerastrans.data.time.seasons import seasons_of
from kerastrans.evaluation.backtesting import score
from kerastrans.evaluation.columns import CUTOFF, ID, TARGET, TIME, check_columns, read_columns
from kerastrans.evaluation.observations import observed_values
from kerastrans.evaluation.relative import geometric_mean, relative_errors
from kerastrans.evaluation.significance import LEVEL
from kerastrans.utils.validation import check_choice, check_positive_integers

LAST_VALUE = "last value"
METRICS = ("mae", "rmse", "smape")  # "mape" may be infinite


def naive_backtests(backtest, history, seasons=None, *, freq=None):
    """Backtests of the last value and of seasonal naives, on the rows of a backtest.

    A seasonal naive repeats the last season before each origin. Where a value in it is missing, it
    takes the one a season earlier; where the series is too short for that, the last value.

    Args:
        backtest: frame as `Forecaster.backtest` returns it. Its "y" adds to the history of the
            origins that come later.
        history: long or wide frame of the series before and between the origins.
        seasons: ints, steps of the seasons; None for all of the frequency that the longest series
            is longer than, see `kerastrans.data.seasons_of`.
        freq: str, pandas frequency, where the time stamps do not tell it.

    Returns:
        Dict of name, "last value" and "seasonal naive (24)" and so on -> backtest.

    Raises:
        ValueError: a missing column, a season below 1, or a series without a history.

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
    for season in seasons or ():
        check_positive_integers(season=season)
    panel, series, known, ahead = locate(backtest, history, freq)
    if seasons is None:
        longest = (panel.ends - panel.begins).max()
        seasons = [season for season in seasons_of(panel.clock.freq) if 1 < season < longest]
    steps = ahead - known
    last = _latest(panel, series, known, 1)
    naives = {LAST_VALUE: last}
    for season in seasons:
        same_phase = _latest(panel, series, known - season + 1 + (steps - 1) % season, season)
        naives[f"seasonal naive ({season})"] = np.where(np.isnan(same_phase), last, same_phase)
    return {name: on_rows(backtest, name, values) for name, values in naives.items()}


def best_naive(backtest, history, seasons=None, *, metric="mae", freq=None):
    """The last value or seasonal naive with the smallest errors on the rows of a backtest.

    Args:
        backtest: frame as `Forecaster.backtest` returns it.
        history: long or wide frame, as in `naive_backtests`.
        seasons: ints, steps of the seasons, as in `naive_backtests`.
        metric: str, the error, see `best_of`.
        freq: str, pandas frequency, as in `naive_backtests`.

    Returns:
        `(name, backtest)`, of the best.

    Raises:
        ValueError: what `naive_backtests` refuses, or an unknown metric.
    """
    check_choice("metric", metric, METRICS)
    naives = naive_backtests(backtest, history, seasons, freq=freq)
    name = best_of(naives, metric)
    return name, naives[name]


def best_of(backtests, metric="mae"):
    """Name of the backtest with the smallest errors: geometric mean over series, to the first's.

    Args:
        backtests: dict of name -> backtest, of the same rows.
        metric: "mae", "rmse" or "smape", of each series.

    Raises:
        ValueError: an unknown metric.
    """
    check_choice("metric", metric, METRICS)
    errors = {name: score(rows, by=ID)[metric].to_numpy() for name, rows in backtests.items()}
    first = next(iter(errors.values()))
    return min(errors, key=lambda name: geometric_mean(relative_errors(errors[name], first)))


def verdicts(table, baseline):
    """Lines that say of each forecast whether it is better than the baseline.

    Better or worse is what has a p-value of at most 0.05; all else is not told apart, or was not
    tested.

    Args:
        table: DataFrame as `kerastrans.backtesting.skill` returns it.
        baseline: str, the baseline's row.

    Returns:
        List of str, one a row but the baseline's.

    Raises:
        ValueError: a baseline that is not in the table.

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
            verb, chance = "is not tested against", "too few origins"
        elif row["p"] > LEVEL:
            verb = "is not told apart from"
        lines.append(
            f"{name} {verb} {baseline}: its MAE is {100 * abs(row['skill']):.1f} % "
            f"{'below' if row['skill'] > 0 else 'above'}, geometric mean over series ({chance})."
        )
    return lines


def locate(backtest, history, freq=None):
    """Where the rows of a backtest are in what is known of its series.

    Args:
        backtest: frame as `Forecaster.backtest` returns it.
        history: long or wide frame, to which its "y" is added.
        freq: str, pandas frequency, where the time stamps do not tell it.

    Returns:
        `(panel, series, known, ahead)`: the panel, and of each row the place of its series in it,
        and the clock's numbers of its origin and of itself.

    Raises:
        ValueError: a missing column, or a series without a history.
    """
    check_columns(backtest, ID, TIME, CUTOFF, TARGET)
    panel = read_panel(observed_values(history, backtest), freq=freq)
    series = pd.Index(panel.names[:, 0]).get_indexer(backtest[ID])
    if (series < 0).any():
        name = backtest[ID].iloc[int(np.argmin(series))]
        raise ValueError(f"no naive forecast of {name!r}: it has {panel.faults[str(name)]}.")
    times = (panel.clock.numbers(pd.DatetimeIndex(backtest[x]))[0] for x in (CUTOFF, TIME))
    return panel, series, *times


def on_rows(backtest, name, values):
    """A backtest of these forecasts, missing where those of the given backtest are."""
    columns = read_columns(backtest).quantiles.values()
    is_forecast = np.all([backtest[column].notna() for column in columns], axis=0)
    rows = backtest[[ID, TIME, CUTOFF, TARGET]]
    return rows.assign(**{name: np.where(is_forecast, values, np.nan)})


def _latest(panel, series, numbers, season):
    """The values at these numbers of the clock, or if missing one or more seasons earlier.

    NaN where there is none since the series began.
    """
    begins, ends = panel.begins[series], panel.ends[series]
    rows = numbers - panel.first[series] + begins
    values = np.full(len(rows), np.nan)
    while (missing := np.isnan(values) & (rows >= begins)).any():
        known = missing & (rows < ends)
        values[known] = panel.values[rows[known], 0]
        rows = rows - season
    return values
