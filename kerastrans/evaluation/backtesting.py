"""How good the forecasts of a backtest are: by series, step and origin, and beside a baseline.

A backtest is a frame as `kerastrans.Forecaster.backtest` returns it: "unique_id", "ds", "cutoff",
"y" and the forecasts, whose columns are named after the model, see `kerastrans.evaluation.columns`.
Rows without a "y" are left out, and the order of rows does not matter.
"""

import numpy as np
import pandas as pd

from kerastrans.evaluation.columns import CUTOFF, ID, TARGET, TIME, read_columns, split_models
from kerastrans.evaluation.scores import interval_scores, known_rows, point_scores, scaled_scores
from kerastrans.evaluation.significance import diebold_mariano
from kerastrans.utils.validation import check_choice, check_positive_integers

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


def score(backtest, train=None, *, alias=None, by=None, season=1):
    """Metrics of a backtest.

    Args:
        backtest: frame, see the module.
        train: long frame of the training rows, which scale MASE and RMSSE; without it neither is
            in the table.
        alias: str, which model, where the backtest holds several.
        by: None for one row over everything, or a row for each "unique_id", "step" (from 1, in
            the order of "ds" from each origin) or "cutoff".
        season: int, steps of the seasonal-naive forecast whose error scales MASE and RMSSE.

    Returns:
        DataFrame with columns "mae", "rmse", "mape" and "smape" (shares, not percents; "smape" is
        half of what some libraries return), "mase", "rmsse"; where there are intervals also
        "pinball" (mean over the quantiles), "crps" (twice that, the approximation by these
        quantiles), "coverage-80" (share) and "width-80" for each level. "mase" and "rmsse" are
        means over series, without those that repeat themselves exactly; the others are means over
        all rows of the group.

    Raises:
        ValueError: a column is missing, or no row has a "y".
        ValueError: two rows of the same series, origin and time.
        ValueError: several models in the backtest and no alias, or an unknown `by`.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=3, freq="D")
        >>> rows = {"unique_id": "a", "ds": times[1:], "cutoff": times[0], "y": [1.0, 2.0]}
        >>> score(pd.DataFrame({**rows, "nlinear": [2.0, 2.0]}))["mae"].item()
        0.5
    """
    check_choice("by", by, GROUPS)
    check_positive_integers(season=season)
    columns = read_columns(backtest, alias)
    frame = known_rows(backtest, columns.alias)
    frame["group"] = frame[by] if by is not None else "all"
    parts = [point_scores(frame, columns.alias)]
    if train is not None:
        parts.append(scaled_scores(frame, columns.alias, train, season))
    if columns.intervals:
        parts.append(interval_scores(frame, columns))
    order = frame["group"].unique()
    table = pd.concat(parts, axis=1).reindex(order)
    table.index.name = by
    return table


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
    frame = known_rows(backtest, columns.alias)
    shares = [(frame[TARGET] <= frame[column]).mean() for column in columns.quantiles.values()]
    return np.array(list(columns.quantiles)), np.array(shares)


def score_all(backtests, train=None, *, season=1):
    """The row of `score` of each backtest, by name.

    Args:
        backtests: dict of name -> backtest, or one backtest of several models.
        train: long frame of the training rows, as in `score`.
        season: int, as in `score`.

    Raises:
        ValueError: what `score` refuses.
    """
    tables = {
        name: score(backtest, train, season=season)
        for name, backtest in split_models(backtests).items()
    }
    return pd.concat(tables).droplevel(1)


def skill(backtests, baseline, train=None, *, season=1):
    """Forecasts beside a baseline: their scores, how much smaller, and whether by chance.

    Args:
        backtests: dict of name -> backtest, or one backtest of several models; all of the same
            series and origins.
        baseline: name of the one that the others are compared with.
        train: long frame of the training rows, as in `score`.
        season: int, as in `score`.

    Returns:
        DataFrame, a row a name: "skill", 1 minus the ratio of the mean absolute errors; "p", of
        the Diebold-Mariano test that the absolute errors are the same (two-sided); "crps skill",
        as "skill" of the CRPS, where there is one; and the columns of `score`.

    Raises:
        ValueError: an unknown baseline, or backtests of other rows than the baseline's.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=3, freq="D")
        >>> rows = {"unique_id": "a", "ds": times[1:], "cutoff": times[0], "y": [1.0, 2.0]}
        >>> backtest = pd.DataFrame({**rows, "nlinear": [1.5, 2.0], "last_value": [0.0, 2.0]})
        >>> skill(backtest, "last_value")["skill"].tolist()
        [0.5, 0.0]
    """
    backtests = split_models(backtests)
    check_choice("baseline", baseline, tuple(backtests))
    scores = score_all(backtests, train, season=season)
    table = pd.DataFrame({"skill": 1 - scores["mae"] / scores.loc[baseline, "mae"], "p": np.nan})
    if "crps" in scores:
        table["crps skill"] = 1 - scores["crps"] / scores.loc[baseline, "crps"]
    errors = {name: _absolute_errors(backtest) for name, backtest in backtests.items()}
    reference = errors[baseline]
    for name, error in errors.items():
        if not error.index.equals(reference.index):
            raise ValueError(f"{name!r} and {baseline!r} are backtests of different rows.")
        if name != baseline:
            differences = (error - reference).groupby(CUTOFF).mean().to_numpy()
            table.loc[name, "p"] = diebold_mariano(differences, _overlap(backtests[name]))[1]
    return table.join(scores)


def _absolute_errors(backtest):
    """Absolute errors by origin, series and step."""
    point = read_columns(backtest).alias
    frame = known_rows(backtest, point)
    errors = (frame[TARGET] - frame[point]).abs()
    return errors.set_axis(pd.MultiIndex.from_frame(frame[[CUTOFF, ID, "step"]])).sort_index()


def _overlap(backtest):
    """How many origins are within one forecast, so that they have true values in common."""
    first = backtest[backtest[ID] == backtest[ID].iloc[0]]
    cutoffs = np.sort(first[CUTOFF].unique())
    horizon = first.loc[first[CUTOFF] == cutoffs[0], TIME].max()
    return int(np.sum(cutoffs < horizon))
