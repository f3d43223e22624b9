"""Errors of the rows of a backtest, in means over groups of rows."""

import numpy as np
import pandas as pd
from utilsforecast import losses

from kerastrans.evaluation.columns import CUTOFF, ID, TARGET, TIME, check_columns

_GROUPS = {"id_col": "group", "cutoff_col": "none"}  # for utilsforecast


def known_rows(backtest, point):
    """The rows with a true value and a forecast, and the step of each, from 1.

    Args:
        backtest: frame of forecasts, in any order of rows.
        point: str, column of the point forecasts.

    Raises:
        ValueError: a missing column, or no row with a true value.
        ValueError: two rows of the same series, origin and time.
    """
    check_columns(backtest, ID, TIME, CUTOFF, TARGET)
    repeated = backtest.duplicated([ID, CUTOFF, TIME])
    if repeated.any():
        name, cutoff, time = backtest.loc[repeated, [ID, CUTOFF, TIME]].iloc[0]
        raise ValueError(f"the backtest holds two forecasts of {name!r} at {time} from {cutoff}.")
    step = backtest.groupby([ID, CUTOFF], sort=False)[TIME].rank().astype(int)
    frame = backtest.assign(step=step)
    frame = frame[np.isfinite(frame[TARGET]) & np.isfinite(frame[point])]
    if frame.empty:
        raise ValueError("no row of the backtest has a known y.")
    return frame.reset_index(drop=True)


def point_scores(frame, point):
    """Table of "mae", "rmse", "mape" and "smape" by the column "group"."""
    scores = {}
    for name in ("mae", "rmse", "mape", "smape"):
        metric = getattr(losses, name)
        scores[name] = metric(frame, models=[point], **_GROUPS).set_index("group")[point]
    return pd.DataFrame(scores)


def scaled_scores(frame, point, train, season):
    """Table of "mase" and "rmsse" by the column "group".

    Errors over the scale of their series, in means over series.

    Source: Hyndman, Koehler (2006), equation 5; Makridakis et al. (2022), section 2.4.
    """
    train = train.sort_values([ID, TIME], ignore_index=True)
    difference = train.groupby(ID)[TARGET].diff(season)
    # A series that repeats itself exactly has no scale, and does not count.
    absolute = difference.abs().groupby(train[ID]).mean().replace(0, np.nan)
    squared = difference.pow(2).groupby(train[ID]).mean().replace(0, np.nan)
    error = frame[TARGET] - frame[point]
    keys = [frame["group"], frame[ID]]
    mase = (error.abs() / frame[ID].map(absolute)).groupby(keys).mean()
    rmsse = (error.pow(2) / frame[ID].map(squared)).groupby(keys).mean().pow(0.5)
    by_series = pd.DataFrame({"mase": mase, "rmsse": rmsse})
    return by_series.groupby("group").mean()


def interval_scores(frame, columns):
    """Table of "pinball", "crps", and coverage and width of each interval, by "group".

    Args:
        frame: rows with the columns "group" and "y".
        columns: `ModelColumns` with intervals.
    """
    quantile_losses = [
        losses.quantile_loss(frame, models={"loss": column}, q=q, **_GROUPS).set_index("group")
        for q, column in columns.quantiles.items()
    ]
    pinball = sum(quantile_losses)["loss"] / len(quantile_losses)
    scores = {"pinball": pinball, "crps": 2 * pinball}
    for level, (low, high) in columns.intervals.items():
        inside = frame[TARGET].between(frame[low], frame[high])
        scores[f"coverage-{level}"] = inside.groupby(frame["group"]).mean()
        scores[f"width-{level}"] = (frame[high] - frame[low]).groupby(frame["group"]).mean()
    return pd.DataFrame(scores)
