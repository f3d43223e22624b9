"""Naive forecasts of the rows of a backtest: what a model has to beat.

They are made of the same history from the same origins, and joined to the same true values, so
that `kerastrans.backtesting.skill` can compare them with the model.
"""

import numpy as np
import pandas as pd

from kerastrans.data.panel import read_panel
from kerastrans.evaluation.backtesting import score
from kerastrans.evaluation.columns import CUTOFF, ID, TARGET, TIME, check_columns, read_columns
from kerastrans.evaluation.observations import observed_values
from kerastrans.utils.validation import check_choice, check_positive_integers

LAST_VALUE = "last value"


def naive_backtests(backtest, history, seasons, *, freq=None):
    """Backtests of the last value and of seasonal naives, on the rows of a backtest.

    A seasonal naive repeats the last season before each origin. Where a value in it is missing, it
    takes the one a season earlier; where the series is too short for that, the last value.

    Args:
        backtest: frame as `Forecaster.backtest` returns it. Its "y" adds to the history of the
            origins that come later.
        history: long or wide frame of the series before and between the origins.
        seasons: ints, steps of the seasons.
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
    for season in seasons:
        check_positive_integers(season=season)
    check_columns(backtest, ID, TIME, CUTOFF, TARGET)
    panel = read_panel(observed_values(history, backtest), freq=freq)
    series = pd.Index(panel.names[:, 0]).get_indexer(backtest[ID])
    if (series < 0).any():
        name = backtest[ID].iloc[int(np.argmin(series))]
        raise ValueError(f"no naive forecast of {name!r}: it has {panel.faults[str(name)]}.")
    known, ahead = (panel.clock.numbers(pd.DatetimeIndex(backtest[x]))[0] for x in (CUTOFF, TIME))
    steps = ahead - known
    last = _latest(panel, series, known, 1)
    is_forecast = [backtest[name].notna() for name in read_columns(backtest).quantiles.values()]
    rows = backtest[[ID, TIME, CUTOFF, TARGET]]
    naives = {LAST_VALUE: last}
    for season in seasons:
        same_phase = _latest(panel, series, known - season + 1 + (steps - 1) % season, season)
        naives[f"seasonal naive ({season})"] = np.where(np.isnan(same_phase), last, same_phase)
    return {
        name: rows.assign(**{name: np.where(np.all(is_forecast, axis=0), values, np.nan)})
        for name, values in naives.items()
    }


def best_naive(backtest, history, seasons, *, metric="mae", freq=None):
    """The last value or seasonal naive with the smallest error on the rows of a backtest.

    Args:
        backtest: frame as `Forecaster.backtest` returns it.
        history: long or wide frame, as in `naive_backtests`.
        seasons: ints, steps of the seasons.
        metric: str, the error: "mae", "rmse", "mape" or "smape".
        freq: str, pandas frequency, as in `naive_backtests`.

    Returns:
        `(name, backtest)`, of the best.

    Raises:
        ValueError: what `naive_backtests` refuses, or an unknown metric.
    """
    check_choice("metric", metric, ("mae", "rmse", "mape", "smape"))
    naives = naive_backtests(backtest, history, seasons, freq=freq)
    name = min(naives, key=lambda name: score(naives[name])[metric].item())
    return name, naives[name]


def verdicts(table, baseline):
    """Lines that say of each forecast whether it is better than the baseline.

    Args:
        table: DataFrame as `kerastrans.backtesting.skill` returns it.
        baseline: str, the baseline's row.

    Returns:
        List of str, one a row but the baseline's.

    Raises:
        ValueError: a baseline that is not in the table.

    Example:
        >>> table = {"mae": [33.9, 30.0], "skill": [-0.13, 0.0], "p": [0.021, None]}
        >>> print(*verdicts(pd.DataFrame(table, ["nhits", "last value"]), "last value"))
        nhits is beaten by last value: its MAE is 33.9, 13.0 % above 30 (p = 0.021).
    """
    check_choice("baseline", baseline, tuple(table.index))
    error = table.loc[baseline, "mae"]
    lines = []
    for name, row in table.drop(index=baseline).iterrows():
        verb, side = ("beats", "below") if row["skill"] > 0 else ("is beaten by", "above")
        if row["skill"] == 0:
            verb, side = "is as good as", "from"
        chance = "" if np.isnan(row["p"]) else f" (p = {row['p']:.2g})"
        lines.append(
            f"{name} {verb} {baseline}: its MAE is {row['mae']:.4g}, "
            f"{100 * abs(row['skill']):.1f} % {side} {error:.4g}{chance}."
        )
    return lines


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
