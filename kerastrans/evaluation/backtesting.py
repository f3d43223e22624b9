"""How good the forecasts of a backtest are: by series, step and origin, and beside a baseline.

A backtest is a frame as `kerastrans.Forecaster.backtest` returns it: "unique_id", "ds", "cutoff",
"y", "mean", and intervals "lo-80", "hi-80". Rows without a "y" are left out.
"""

import re

import numpy as np
import pandas as pd
from scipy import stats
from utilsforecast import losses

from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.utils.validation import check_choice, check_positive_integers

GROUPS = (None, ID, "step", "cutoff")


def interval_levels(backtest):
    """Levels of the intervals in a frame, in percent, increasing."""
    found = [re.fullmatch(r"lo-([\d.]+)", str(column)) for column in backtest.columns]
    return sorted(float(match[1]) if "." in match[1] else int(match[1]) for match in found if match)


def quantiles(backtest):
    """The frame's quantile levels, increasing, and the columns that hold them; "mean" is 0.5."""
    levels = interval_levels(backtest)
    columns = {(1 - level / 100) / 2: f"lo-{level}" for level in levels}
    columns |= {0.5: "mean"}
    columns |= {(1 + level / 100) / 2: f"hi-{level}" for level in levels}
    ordered = sorted(columns)
    return np.array(ordered), [columns[level] for level in ordered]


def score(backtest, train=None, *, by=None, season=1):
    """Metrics of a backtest.

    Args:
        backtest: frame, see the module.
        train: long frame of the training rows, which scale MASE and RMSSE; None for without.
        by: None for one row over everything, or a row for each "unique_id", "step" (from 1) or
            "cutoff".
        season: int, steps of the seasonal-naive forecast whose error scales MASE and RMSSE.

    Returns:
        DataFrame with columns "mae", "rmse", "mape", "smape" (shares, not percents; the second is
        half of what some call so), "mase", "rmsse"; where there are intervals also "pinball"
        (mean over the quantiles), "crps" (twice that, which it is but for the distance of the
        levels), "coverage-80" (share) and "width-80" for each level. "mase" and "rmsse" are means
        over series, without those that repeat themselves exactly; the others over all rows of
        the group.

    Raises:
        ValueError: a column is missing, no row has a "y", an unknown `by`.
    """
    check_choice("by", by, GROUPS)
    check_positive_integers(season=season)
    frame = _known(backtest)
    frame["group"] = frame[by] if by is not None else "all"
    options = {"models": ["mean"], "id_col": "group", "cutoff_col": "none"}
    table = pd.DataFrame({"group": frame["group"].unique()}).set_index("group")

    for name in ("mae", "rmse", "mape", "smape"):
        table[name] = getattr(losses, name)(frame, **options).set_index("group")["mean"]
    if train is not None:
        table["mase"], table["rmsse"] = _scaled(frame, train, season)
    levels = interval_levels(frame)
    if levels:
        probabilities, columns = quantiles(frame)
        losses_by_level = [
            losses.quantile_loss(
                frame, models={"mean": column}, q=q, id_col="group", cutoff_col="none"
            ).set_index("group")["mean"]
            for q, column in zip(probabilities, columns, strict=True)
        ]
        table["pinball"] = sum(losses_by_level) / len(losses_by_level)
        table["crps"] = 2 * table["pinball"]
    for level in levels:
        low, high = frame[f"lo-{level}"], frame[f"hi-{level}"]
        inside = (frame[TARGET] >= low) & (frame[TARGET] <= high)
        table[f"coverage-{level}"] = inside.groupby(frame["group"]).mean()
        table[f"width-{level}"] = (high - low).groupby(frame["group"]).mean()
    table.index.name = by
    return table


def observed_levels(backtest):
    """The quantile levels of a backtest, and the share of true values at or below each.

    Raises:
        ValueError: a backtest without intervals.
    """
    frame = _known(backtest)
    if not interval_levels(frame):
        raise ValueError("this backtest has no intervals: ask for levels, or calibrate.")
    levels, columns = quantiles(frame)
    return levels, np.array([(frame[TARGET] <= frame[column]).mean() for column in columns])


def score_all(backtests, train=None, *, season=1):
    """The row of `score` of each backtest, a dict of name -> backtest, by name."""
    rows = {name: score(found, train, season=season).iloc[0] for name, found in backtests.items()}
    return pd.DataFrame(rows).T


def skill(backtests, baseline, train=None, *, season=1):
    """Forecasts beside a baseline: their scores, how much smaller, and whether by chance.

    Args:
        backtests: dict of name -> backtest, all of the same series and origins.
        baseline: name of the one that the others are compared with.
        train, season: as in `score`.

    Returns:
        DataFrame, a row a name: the columns of `score`; "skill", 1 minus the ratio of the mean
        absolute errors; "crps skill", the same of the CRPS; and "p", of the Diebold-Mariano test
        that the absolute errors are the same (two-sided).

    Raises:
        ValueError: an unknown baseline, or backtests of other rows than the baseline's.
    """
    check_choice("baseline", baseline, tuple(backtests))
    table = score_all(backtests, train, season=season)
    table["skill"] = 1 - table["mae"] / table.loc[baseline, "mae"]
    if "crps" in table:
        table["crps skill"] = 1 - table["crps"] / table.loc[baseline, "crps"]
    errors = {name: _errors(found) for name, found in backtests.items()}
    reference = errors[baseline]
    for name, found in errors.items():
        if not found.index.equals(reference.index):
            raise ValueError(f"{name!r} and {baseline!r} are backtests of different rows.")
        if name != baseline:
            difference = (found - reference).groupby("cutoff").mean().to_numpy()
            table.loc[name, "p"] = diebold_mariano(difference, _overlap(backtests[name]))[1]
    return table


def diebold_mariano(differences, horizon=1):
    """Whether two forecasts are equally good: statistic and two-sided p-value.

    Args:
        differences: `(origins,)`, loss of the one minus loss of the other, in the order of time.
        horizon: int, origins over which forecasts overlap, so that their errors are correlated.

    Returns:
        `(statistic, p)`; negative where the first is better. p is 1 where the losses are equal,
        and NaN for fewer than two origins.

    Source: Diebold, Mariano (1995), with the small-sample correction of Harvey, Leybourne,
    Newbold (1997), equation 9, and Bartlett weights, so that the variance is not negative.
    """
    differences = np.asarray(differences, "float64")
    count = len(differences)
    horizon = min(horizon, count)
    if count < 2:
        return np.nan, np.nan
    mean = differences.mean()
    centered = differences - mean
    variance = centered @ centered / count
    for lag in range(1, horizon):
        weight = 1 - lag / horizon
        variance += 2 * weight * (centered[lag:] @ centered[:-lag]) / count
    if variance <= 0:
        return (0.0, 1.0) if mean == 0 else (float(np.sign(mean)) * np.inf, 0.0)
    correction = (count + 1 - 2 * horizon + horizon * (horizon - 1) / count) / count
    statistic = mean / np.sqrt(variance / count) * np.sqrt(max(correction, 1 / count))
    return float(statistic), float(2 * stats.t.sf(abs(statistic), count - 1))


def _known(backtest):
    """The rows with a truth, and their step, from 1."""
    missing = {ID, TIME, "cutoff", TARGET, "mean"} - set(backtest.columns)
    if missing:
        raise ValueError(f"a backtest needs the columns {sorted(missing)}, which are missing.")
    frame = backtest.assign(step=backtest.groupby([ID, "cutoff"], sort=False).cumcount() + 1)
    frame = frame[np.isfinite(frame[TARGET]) & np.isfinite(frame["mean"])]
    if frame.empty:
        raise ValueError("no row of the backtest has a known y.")
    return frame.reset_index(drop=True)


def _scaled(frame, train, season):
    """MASE and RMSSE of each group: errors over the scale of their series, means over series."""
    train = train.sort_values([ID, TIME], ignore_index=True)
    difference = train.groupby(ID)[TARGET].diff(season)
    # A series that repeats itself exactly has no scale, and does not count.
    absolute = difference.abs().groupby(train[ID]).mean().replace(0, np.nan)
    squared = difference.pow(2).groupby(train[ID]).mean().replace(0, np.nan)
    error = frame[TARGET] - frame["mean"]
    keys = [frame["group"], frame[ID]]
    mase = (error.abs() / frame[ID].map(absolute)).groupby(keys).mean()
    rmsse = (error.pow(2) / frame[ID].map(squared)).groupby(keys).mean().pow(0.5)
    return mase.groupby("group").mean(), rmsse.groupby("group").mean()


def _errors(backtest):
    frame = _known(backtest)
    return (
        (frame[TARGET] - frame["mean"])
        .abs()
        .set_axis(pd.MultiIndex.from_frame(frame[["cutoff", ID, "step"]]))
        .sort_index()
    )


def _overlap(backtest):
    """How many origins lie within one forecast, so that they have true values in common."""
    first = backtest[backtest[ID] == backtest[ID].iloc[0]]
    cutoffs = np.sort(first["cutoff"].unique())
    horizon = first.loc[first["cutoff"] == cutoffs[0], TIME].max()
    return int(np.sum(cutoffs < horizon))
