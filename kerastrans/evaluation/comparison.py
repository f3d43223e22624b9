"""Backtests beside one of them: relative errors by series, and tests by blocks of time."""

import warnings

import numpy as np
import pandas as pd

from kerastrans.evaluation.columns import CUTOFF, ID, TARGET, TIME, read_columns, split_models
from kerastrans.evaluation.relative import geometric_mean, log_mean, relative_errors
from kerastrans.evaluation.scales import series_scales, warn_of_series
from kerastrans.evaluation.scores import known_rows, score_table
from kerastrans.evaluation.significance import MIN_BLOCKS, diebold_mariano, holm, time_blocks
from kerastrans.utils.validation import check_choice

NAIVE2 = "naive2"  # the baseline of "owa"


def skill(backtests, baseline, train=None, *, season=None, freq=None):
    """Forecasts beside a baseline: how much smaller their errors are, and whether by chance.

    Args:
        backtests: dict of name -> backtest, or one backtest of several models; all of the same
            series and origins, and of the same levels where they have intervals.
        baseline: name of the one that the others are compared with. With "naive2", see
            `kerastrans.evaluation.naive2`, and training rows there is "owa" too.
        train: long or wide frame of the training rows, as in `kerastrans.backtesting.score`.
        season: int, as in `score`.
        freq: str, as in `score`.

    Returns:
        DataFrame, a row a name.

        - "skill": 1 minus the geometric mean over series of the ratio of their mean absolute
          errors, each between 0.01 and 100 (fev). Where both errors are zero the ratio is 1; a
          warning names the series whose baseline has no error.
        - "p": that "skill" is zero. Two-sided, by blocks of time over all series, see
          `kerastrans.evaluation.significance`, and adjusted by Holm's method for the number of
          forecasts that are compared. NaN, and a warning, where the origins make fewer than 4
          blocks, or a forecast is infinite.
        - "crps skill": as "skill", of the CRPS, where there is one.
        - "owa": the mean of "smape" and "mase", each over the baseline's.
        - the columns of `score`.

    Raises:
        ValueError: an unknown baseline, or backtests of other rows or levels than another's.
        ValueError: the baseline "naive2" without training rows, and what `score` refuses.

    Source: Shchur et al. (2025) for the geometric mean; Makridakis, Spiliotis, Assimakopoulos
    (2020) for OWA.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=6, freq="D")
        >>> rows = {"unique_id": "a", "ds": times[1:], "cutoff": times[:5], "y": 1.0}
        >>> backtest = pd.DataFrame({**rows, "nlinear": [1.5, 2, 1.5, 2, 1.5], "last_value": 2.4})
        >>> skill(backtest, "last_value")[["skill", "p"]].round(4)
                    skill      p
        nlinear       0.5  0.0046
        last_value    0.0     NaN
    """
    backtests = split_models(backtests)
    check_choice("baseline", baseline, tuple(backtests))
    if baseline == NAIVE2 and train is None:
        raise ValueError(f"the baseline {NAIVE2!r} is for OWA, which needs training rows: train=.")
    columns = {name: read_columns(backtest) for name, backtest in backtests.items()}
    check_same_levels(columns)
    frames = {name: known_rows(backtests[name], columns[name]) for name in backtests}
    table = _compare(frames, columns, baseline)
    scales = series_scales(frames[baseline], train, season, freq)
    tables = {name: score_table(frames[name], columns[name], None, scales) for name in backtests}
    scores = pd.concat(tables).droplevel(1)
    if baseline == NAIVE2:
        ratios = scores[["smape", "mase"]] / scores.loc[baseline, ["smape", "mase"]]
        table["owa"] = ratios.mean(axis=1)
    return table.join(scores)


def _compare(frames, columns, baseline):
    """Table of "skill", "p" and "crps skill", a row a name, of rows as `known_rows` has them."""
    keys = [ID, CUTOFF, TIME]
    frames = {name: frame.sort_values(keys, ignore_index=True) for name, frame in frames.items()}
    reference = frames[baseline]
    rows = pd.MultiIndex.from_frame(reference[keys])
    for name, frame in frames.items():
        if not pd.MultiIndex.from_frame(frame[keys]).equals(rows):
            raise ValueError(f"{name!r} and {baseline!r} are backtests of different rows.")
        if not np.allclose(frame[TARGET], reference[TARGET], rtol=1e-5):
            raise ValueError(f"{name!r} and {baseline!r} have other true values.")
    by_series = {name: score_table(frame, columns[name], ID) for name, frame in frames.items()}
    known = by_series[baseline]["mae"]
    exact = known.index[known == 0]
    if len(exact):
        reasons = dict.fromkeys(exact, "relative errors are 100, or 1 where both are zero")
        warn_of_series(f"no error of {baseline!r}", exact, reasons)
    others = [name for name in frames if name != baseline]
    table = pd.DataFrame(index=list(frames))
    table["skill"] = [_skill(by_series[name], by_series[baseline], "mae") for name in frames]
    table["p"] = pd.Series(holm(_tests(frames, columns, baseline, others)), others)
    if any(column.intervals for column in columns.values()):
        skills = [_skill(by_series[name], by_series[baseline], "crps") for name in frames]
        table["crps skill"] = skills
    return table


def check_same_levels(columns):
    """Raise ValueError for intervals of different levels, on which a CRPS depends.

    Args:
        columns: dict of name -> `ModelColumns`; those without intervals are not compared.
    """
    levels = {name: list(c.intervals) for name, c in columns.items() if c.intervals}
    for name, own in levels.items():
        first = next(iter(levels))
        if own != levels[first]:
            raise ValueError(
                f"{first!r} has intervals of {levels[first]} percent and {name!r} of {own}: "
                "compare forecasts of the same levels."
            )


def _skill(scores, reference, name):
    """1 minus the geometric mean of relative errors; NaN where there is none."""
    if name not in scores or name not in reference:
        return np.nan
    ratios = relative_errors(scores[name].to_numpy(), reference[name].to_numpy())
    return 1 - geometric_mean(ratios)


def _tests(frames, columns, baseline, others):
    """The p of each of the others, that its errors are as large as the baseline's."""
    reference = frames[baseline]
    ends = reference.groupby(CUTOFF)[TIME].max()
    blocks = time_blocks(ends.index, ends)
    count = blocks.max() + 1
    if count < MIN_BLOCKS:
        noun = "block" if count == 1 else "blocks"
        warnings.warn(
            f"no p-values: the origins make {count} {noun} of time whose forecasts have no true "
            f"value in common, and a test needs {MIN_BLOCKS}.",
            UserWarning,
            stacklevel=4,
        )
    errors = {
        name: (frame[columns[name].alias] - frame[TARGET]).abs() for name, frame in frames.items()
    }
    p = []
    for name in others:
        pair = pd.DataFrame({"own": errors[name], "other": errors[baseline]})
        means = pair.groupby(reference[ID]).transform("mean")
        scale = log_mean(means["own"].to_numpy(), means["other"].to_numpy())
        differences = (pair["own"] - pair["other"]) / scale
        by_origin = differences.groupby([reference[CUTOFF], reference[ID]]).mean()
        by_origin = by_origin.groupby(CUTOFF).mean().to_numpy()
        is_finite = np.isfinite(means).all(axis=None)
        p.append(diebold_mariano(by_origin, blocks)[1] if is_finite else np.nan)
    return p
