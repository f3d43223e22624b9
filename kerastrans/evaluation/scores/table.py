"""Tables of scores: errors of the rows of a backtest, averaged over series."""

import numpy as np
import pandas as pd

from kerastrans.evaluation.columns import CUTOFF, ID, TARGET, TIME, check_columns
from kerastrans.evaluation.scores.scales import warn_of_series
from kerastrans.utils.pinball import pinball_loss
from kerastrans.utils.user_warnings import warn_user

MAIN = ("skill", "p", "mae", "mase", "rmse", "crps", "coverage-80", "bias", "smape", "wql")
MAX_COLUMNS = 6
GRID = tuple(round(0.1 * i, 1) for i in range(1, 10))  # levels of "wql" and "sql"


class ScoreFrame(pd.DataFrame):
    """DataFrame of scores that prints at most six main columns, and a single row as a column.

    All columns are in the frame; `to_string` writes them.

    Example:
        >>> scores = dict.fromkeys(["mae", "rmse", "mape", "smape", "bias", "mase", "rmsse"], 0.5)
        >>> ScoreFrame(scores, index=["all"])
               all
        mae    0.5
        mase   0.5
        rmse   0.5
        bias   0.5
        smape  0.5
        mape   0.5
        and 1 more: rmsse
    """

    @property
    def _constructor(self):
        return ScoreFrame

    def _shown(self):
        """Return the frame to print, and the names of the columns that are left out."""
        if len(self.columns) <= MAX_COLUMNS:
            return pd.DataFrame(self), []
        main = [name for name in MAIN if name in self]
        names = [*main, *(name for name in self if name not in main)]
        shown = pd.DataFrame(self)[names[:MAX_COLUMNS]]
        return shown.T if len(shown) == 1 else shown, names[MAX_COLUMNS:]

    def __repr__(self):
        shown, others = self._shown()
        more = f", and {len(others) - 5} others" if len(others) > 5 else ""
        note = f"\nand {len(others)} more: {', '.join(map(str, others[:5]))}{more}"
        # repr would leave out columns that do not fit into the width of a terminal.
        text = shown.to_string(max_rows=pd.get_option("display.max_rows"))
        return text + (note if others else "")

    def _repr_html_(self):
        shown, others = self._shown()
        note = f"<p>and {len(others)} more columns: {', '.join(map(str, others))}</p>"
        return shown._repr_html_() + (note if others else "")


def known_rows(backtest, columns):
    """Return the rows that have a true value and a forecast, with the step of each, from 1.

    Args:
        backtest: DataFrame of forecasts; its rows can be in any order.
        columns: `ModelColumns` of the forecasts.

    Raises:
        ValueError: If a column is missing, or no row has a true value and a forecast.
        ValueError: If two rows have the same series, origin and time.
        ValueError: If a row has a point forecast but lacks one of its quantiles.
    """
    check_columns(backtest, ID, TIME, CUTOFF, TARGET)
    repeated = backtest.duplicated([ID, CUTOFF, TIME])
    if repeated.any():
        name, cutoff, time = backtest.loc[repeated, [ID, CUTOFF, TIME]].iloc[0]
        raise ValueError(f"the backtest holds two forecasts of {name!r} at {time} from {cutoff}.")
    step = backtest.groupby([ID, CUTOFF], sort=False)[TIME].rank().astype(int)
    frame = backtest.assign(step=step)
    is_true, is_forecast = np.isfinite(frame[TARGET]), frame[columns.alias].notna()
    if not (is_true & is_forecast).any():
        raise ValueError("no row of the backtest has a known y and a forecast.")
    if (is_true & ~is_forecast).any():
        count, total = (is_true & ~is_forecast).sum(), is_true.sum()
        message = f"{count} of the {total} rows with a y have no forecast of {columns.alias!r}"
        warn_user(f"{message} and are ignored.")
    kept = frame[is_true & is_forecast].reset_index(drop=True)
    infinite = np.isinf(kept[columns.alias]).sum()
    if infinite:
        message = f"{infinite} forecasts of {columns.alias!r} are infinite, and so is their error."
        warn_user(message)
    for column in columns.quantiles.values():
        if kept[column].isna().any():
            raise ValueError(
                f"{column!r} is missing in rows that have a forecast of {columns.alias!r}."
            )
    unscored = pd.Index(backtest[ID].unique()).difference(kept[ID], sort=False)
    if len(unscored):
        reasons = dict.fromkeys(unscored, "no row has a y and a forecast")
        warn_of_series("no score", unscored, reasons)
    return kept


def score_table(frame, columns, by=None, scales=None):
    """Return scores: the mean over the rows of each series, then over the series of each group.

    Args:
        frame: DataFrame returned by `known_rows`.
        columns: `ModelColumns` of the forecasts.
        by: str, column of the groups; None for a single group named "all".
        scales: DataFrame returned by `error_scales`, or None.

    Returns:
        DataFrame with one row per group and the columns that `kerastrans.backtesting.score` lists.
    """
    groups, names = pd.factorize(frame[by]) if by else (np.zeros(len(frame), int), ["all"])
    series, _ = pd.factorize(frame[ID])
    losses = {**_point_losses(frame, columns), **_quantile_losses(frame, columns)}
    table = _mean_over_series(losses, groups, series, len(names))
    table["rmse"] **= 0.5  # the root follows the mean over series
    table["mape"] = table["mape"].replace(np.inf, np.nan)  # a true value is 0
    loss = _grid_loss(frame, columns)
    if loss is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            # The sum of the losses over the sum of the absolute true values, over all series.
            sizes = np.bincount(groups, frame[TARGET].abs(), len(names))
            table["wql"] = np.bincount(groups, loss, len(names)) / sizes
    if scales is not None:
        kept = frame[ID].map(scales["absolute"]).notna().to_numpy()
        losses = _scaled_losses(frame[kept], columns, scales)
        table = table.join(_mean_over_series(losses, groups[kept], series[kept], len(names)))
    first = ["mae", "rmse", "mape", "smape", "bias", "mase", "rmsse", "crps", "wql", "sql"]
    order = [name for name in first if name in table]
    table = table[[*order, *table.columns.difference(order, sort=False)]]
    return table.set_axis(pd.Index(names, name=by))


def _point_losses(frame, columns):
    """Return the errors of the point forecasts; "rmse" is still squared."""
    true, point = frame[TARGET].to_numpy("float64"), frame[columns.alias].to_numpy("float64")
    error = point - true
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.abs(error) / np.abs(true)
        symmetric = np.where(error == 0, 0.0, 2 * np.abs(error) / (np.abs(true) + np.abs(point)))
    return {
        "mae": np.abs(error),
        "rmse": error**2,
        "mape": relative,
        "smape": symmetric,
        "bias": error,
    }


def _quantile_losses(frame, columns):
    """Return CRPS, coverage and width of each row; an empty dict without intervals."""
    if not columns.intervals:
        return {}
    levels = np.array(list(columns.quantiles))
    # Each level represents the probabilities up to the midpoints to its neighbours.
    ends = np.concatenate([[0.0], (levels[1:] + levels[:-1]) / 2, [1.0]])
    pinball = [_pinball(frame, level, name) for level, name in columns.quantiles.items()]
    losses = {"crps": 2 * np.diff(ends) @ np.stack(pinball)}
    for level, (low, high) in columns.intervals.items():
        losses[f"coverage-{level}"] = frame[TARGET].between(frame[low], frame[high]).to_numpy(float)
        losses[f"width-{level}"] = (frame[high] - frame[low]).to_numpy()
    return losses


def _grid_loss(frame, columns):
    """Return twice the mean quantile loss over the nine levels; None unless all are available."""
    if not set(GRID) <= set(columns.quantiles):
        return None
    return 2 * np.mean([_pinball(frame, q, columns.quantiles[q]) for q in GRID], axis=0)


def _scaled_losses(frame, columns, scales):
    """Return the errors divided by the scale of their series; "rmsse" is still squared."""
    absolute, squared = (frame[ID].map(scales[name]).to_numpy() for name in scales)
    true = frame[TARGET].to_numpy("float64")
    error = frame[columns.alias].to_numpy("float64") - true
    losses = {"mase": np.abs(error) / absolute, "rmsse": error**2 / squared}
    loss = _grid_loss(frame, columns)
    if loss is not None:
        losses["sql"] = loss / absolute
    for level, (low, high) in columns.intervals.items():
        low, high = frame[low].to_numpy("float64"), frame[high].to_numpy("float64")
        outside = np.maximum(low - true, 0) + np.maximum(true - high, 0)
        penalty = outside * 2 / (1 - level / 100)
        losses[f"msis-{level}"] = (high - low + penalty) / absolute
    return losses


def _pinball(frame, level, column):
    """Return the quantile loss of each row."""
    error = (frame[TARGET] - frame[column]).to_numpy("float64")
    return pinball_loss(error, level)


def _mean_over_series(losses, groups, series, count):
    """Return the mean over the series of each group of the means of their rows; NaN is kept."""
    # Number the pairs of group and series that occur, average within each pair, then by group.
    pairs, places = np.unique(groups * (series.max(initial=0) + 1) + series, return_inverse=True)
    pair_groups = pairs // (series.max(initial=0) + 1)
    table = {}
    for name, loss in losses.items():
        means = np.bincount(places, loss, len(pairs)) / np.bincount(places, minlength=len(pairs))
        means = np.sqrt(means) if name == "rmsse" else means
        with np.errstate(invalid="ignore"):  # a group without a series
            table[name] = np.bincount(pair_groups, means, count) / np.bincount(
                pair_groups, minlength=count
            )
    return pd.DataFrame(table)
