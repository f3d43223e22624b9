"""Comparison of backtests with a baseline: relative errors by series, and significance tests."""

from dataclasses import replace

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrame

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.columns import CUTOFF, ID, TARGET, TIME, read_columns, split_models
from kerastrans.evaluation.scores.scales import error_scales, warn_of_series
from kerastrans.evaluation.scores.table import ScoreFrame, known_rows, score_table
from kerastrans.evaluation.significance.tests import MIN_BLOCKS, diebold_mariano, holm, time_blocks
from kerastrans.utils.types import Backtests
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import check_choice

NAIVE2 = "naive2"  # the baseline of "owa"
BOUNDS = 0.01, 100.0  # smallest and largest relative error of one series, as in fev


@takes_any_frame
def skill(
    backtests: Backtests,
    baseline: str,
    train: IntoDataFrame | None = None,
    *,
    season: int | None = None,
    freq: str | None = None,
) -> ScoreFrame:
    """Compare forecasts with a baseline: relative errors and their significance.

    Args:
        backtests: Dict of name -> backtest, or one backtest of several models. All must contain the
            same series and origins. Intervals are compared at the levels that all models have.
        baseline: str, name of the backtest that the others are compared with. If it is "naive2",
            see `kerastrans.evaluation.baselines.naive2`, and `train` is given, "owa" is added.
        train: Long or wide DataFrame of the training rows, as in `kerastrans.backtesting.score`.
        season: int, as in `score`.
        freq: str, as in `score`.

    Returns:
        DataFrame with one row per name and these columns:

        - "skill": 1 minus the geometric mean over series of the ratio of the mean absolute errors.
          Each ratio is clipped to the range from 0.01 to 100 (as in fev) and is 1 if both errors
          are zero; a warning names the series without an error of the baseline.
        - "p": p-value of the two-sided test that "skill" is zero, from blocks of time over all
          series, see `kerastrans.evaluation.significance.tests`, adjusted by Holm's method for the
          number of forecasts compared. It allows for differences that persist. It is NaN, with a
          warning, if the origins form fewer than 8 blocks, and NaN if a forecast is infinite.
        - "crps skill": "skill" with the CRPS instead of the absolute error, if there are intervals.
        - "owa": the mean of "smape" and "mase", each divided by the baseline's.
        - the columns of `score`.

    Raises:
        ValueError: If the baseline is unknown, or the backtests differ in their rows, or have
            intervals but no common level.
        ValueError: If the baseline is "naive2" and `train` is not given, or for any reason listed
            in `score`.

    Source: Shchur et al. (2025) for the geometric mean; Makridakis, Spiliotis, Assimakopoulos
    (2020) for OWA.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=11, freq="D")
        >>> rows = {"unique_id": "a", "ds": times[1:], "cutoff": times[:10], "y": 1.0}
        >>> backtest = pd.DataFrame({**rows, "nlinear": [1.5, 2.0] * 5, "last_value": 2.5})
        >>> skill(backtest, "last_value")[["skill", "p"]].round(4)
                    skill      p
        nlinear       0.5  0.001
        last_value    0.0    NaN
    """
    backtests = split_models(backtests)
    if not isinstance(baseline, str):
        raise ValueError(
            f"baseline must be the name of one of the backtests, got a {type(baseline).__name__}: "
            "give skill({'name': backtest, ...}, 'name')."
        )
    check_choice("baseline", baseline, tuple(backtests))
    if baseline == NAIVE2 and train is None:
        raise ValueError(f"the baseline {NAIVE2!r} is for OWA, which needs training rows: train=.")
    columns = {name: read_columns(backtest) for name, backtest in backtests.items()}
    columns = at_common_levels(columns)
    frames = {name: known_rows(backtests[name], columns[name]) for name in backtests}
    table = _compare(frames, columns, baseline)
    scales = error_scales(frames[baseline], train, season, freq)
    tables = {name: score_table(frames[name], columns[name], None, scales) for name in backtests}
    scores = pd.concat(tables).droplevel(1)
    if baseline == NAIVE2:
        ratios = scores[["smape", "mase"]] / scores.loc[baseline, ["smape", "mase"]]
        table["owa"] = ratios.mean(axis=1)
    return ScoreFrame(table.join(scores))


def _compare(frames, columns, baseline):
    """Return the table of "skill", "p" and "crps skill" from frames of `known_rows`, by name."""
    keys = [ID, CUTOFF, TIME]
    # Sort all frames alike, so that rows with the same position can be compared.
    frames = {name: frame.sort_values(keys, ignore_index=True) for name, frame in frames.items()}
    reference = frames[baseline]
    rows = pd.MultiIndex.from_frame(reference[keys])
    for name, frame in frames.items():
        if not pd.MultiIndex.from_frame(frame[keys]).equals(rows):
            raise ValueError(f"{name!r} and {baseline!r} are backtests of different rows.")
        if not np.allclose(frame[TARGET], reference[TARGET], rtol=1e-5):
            raise ValueError(f"{name!r} and {baseline!r} have different true values.")
    by_series = {name: score_table(frame, columns[name], ID) for name, frame in frames.items()}
    baseline_errors = by_series[baseline]["mae"]
    exact = baseline_errors.index[baseline_errors == 0]
    if len(exact):
        reasons = dict.fromkeys(exact, "relative errors are 100, or 1 where both are zero")
        warn_of_series(f"no error of {baseline!r}", exact, reasons)
    competitors = [name for name in frames if name != baseline]
    table = pd.DataFrame(index=list(frames))
    table["skill"] = [_skill(by_series[name], by_series[baseline], "mae") for name in frames]
    table["p"] = pd.Series(holm(_p_values(frames, columns, baseline, competitors)), competitors)
    if any(column.intervals for column in columns.values()):
        skills = [_skill(by_series[name], by_series[baseline], "crps") for name in frames]
        table["crps skill"] = skills
    return table


def at_common_levels(columns):
    """Return the columns of models with only the levels that all of them have.

    Args:
        columns: Dict of name -> `ModelColumns`. Models without intervals stay as they are.

    Raises:
        ValueError: If models have intervals, but no common level.
    """
    levels = {name: list(c.intervals) for name, c in columns.items() if c.intervals}
    common = [x for x in next(iter(levels.values()), ()) if all(x in y for y in levels.values())]
    if levels and not common:
        first, other = list(levels)[:2]
        raise ValueError(
            f"{first!r} has intervals of {levels[first]} percent and {other!r} of {levels[other]}: "
            "compare forecasts of common levels."
        )
    return {
        name: replace(c, intervals={x: c.intervals[x] for x in common if x in c.intervals})
        for name, c in columns.items()
    }


def _skill(scores, reference, name):
    """Return 1 minus the geometric mean of the relative errors, or NaN without the score `name`."""
    if name not in scores or name not in reference:
        return np.nan
    ratios = relative_errors(scores[name].to_numpy(), reference[name].to_numpy())
    return 1 - geometric_mean(ratios)


def _p_values(frames, columns, baseline, competitors):
    """Return for each competitor the p-value of equal errors to those of the baseline."""
    reference = frames[baseline]
    ends = reference.groupby(CUTOFF)[TIME].max()
    blocks, positions = time_blocks(ends.index, ends)
    count = blocks.max() + 1
    if count < MIN_BLOCKS:
        noun = "block" if count == 1 else "blocks"
        warn_user(
            f"no p-values: the origins form {count} {noun} of time whose forecasts share no true "
            f"value, and a test that allows for persistent errors needs at least {MIN_BLOCKS}: "
            f"pass windows={MIN_BLOCKS} or more to backtest, prediction_length apart."
        )
    errors = {
        name: (frame[columns[name].alias] - frame[TARGET]).abs() for name, frame in frames.items()
    }
    p = []
    for name in competitors:
        pair = pd.DataFrame({"model": errors[name], "baseline": errors[baseline]})
        # Divided by the logarithmic mean of the two errors of a series, differences average to the
        # logarithm of the relative error, so the test is about the geometric mean over series.
        means = pair.groupby(reference[ID]).transform("mean")
        scale = log_mean(means["model"].to_numpy(), means["baseline"].to_numpy())
        differences = (pair["model"] - pair["baseline"]) / scale
        # One number per origin: the mean over the steps of each series, then over the series.
        by_origin = differences.groupby([reference[CUTOFF], reference[ID]]).mean()
        by_origin = by_origin.groupby(CUTOFF).mean().to_numpy()
        is_finite = np.isfinite(means).all(axis=None)
        p.append(diebold_mariano(by_origin, blocks, positions)[1] if is_finite else np.nan)
    return p


def relative_errors(errors, reference):
    """Return ratios of errors clipped to 0.01 to 100; equal errors, including zeros, give 1.

    Example:
        >>> relative_errors(np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 0.0])).tolist()
        [0.5, 1.0, 100.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(errors == reference, 1.0, np.clip(errors / reference, *BOUNDS))


def geometric_mean(ratios):
    """Return the geometric mean of positive ratios."""
    return float(np.exp(np.mean(np.log(ratios))))


def log_mean(errors, reference):
    """Return the logarithmic mean of the two errors of each series, `(series,)`.

    Differences of losses divided by this mean average to the logarithm of the relative error.
    Testing that their mean is zero therefore tests the geometric mean over series.

    Example:
        >>> errors, reference = np.array([1.0, 2.0]), np.array([3.0, 2.0])
        >>> np.exp((errors - reference) / log_mean(errors, reference)).round(6).tolist()
        [0.333333, 1.0]
    """
    logs = np.log(relative_errors(errors, reference))
    equal = np.where(errors > 0, errors, 1.0)  # if both are zero, any positive value will do
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(logs == 0, equal, (errors - reference) / logs)
