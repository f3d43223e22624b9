"""Calibration of backtests: coverage tests, PIT of counts, CORP reliability of probabilities."""

import numpy as np
import pandas as pd
import scipy

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.columns import CUTOFF, ID, TARGET, TIME, read_columns
from kerastrans.evaluation.scores.table import known_rows
from kerastrans.utils.validation import check_choice

MIN_CHANGES = 20  # fewest pairs of successive forecasts for a test of independence


@takes_any_frame
def coverage_tests(backtest, level=80, *, by="step", alias=None):
    """Test whether intervals contain the true value as often as they should.

    Args:
        backtest: DataFrame with intervals, see `kerastrans.backtesting`.
        level: Percent of the intervals.
        by: "step" or "unique_id", the groups to test separately.
        alias: str, name of the model; required if the backtest contains several.

    Returns:
        DataFrame with one row per group: "count", the number of forecasts; "coverage", the fraction
        inside the interval; "kupiec p", of the likelihood ratio test that the coverage is the
        level, by its exact distribution; "christoffersen p", of the test that a miss does not
        depend on the miss before it, NaN for fewer than 20 pairs of successive forecasts or
        without a miss. Both tests assume forecasts that do not share true values, and the first
        one independent series: with forecasts that overlap, or shocks that series have in common,
        they reject too often. By "unique_id", only the first step of each forecast is tested for
        independence.

    Raises:
        ValueError: If the backtest has no intervals of this level, or `by` is unknown.

    Source: Kupiec (1995); Christoffersen (1998).

    Example:
        >>> times = pd.date_range("2024-01-01", periods=41, freq="D")
        >>> rows = {"unique_id": "a", "ds": times[1:], "cutoff": times[:-1]}
        >>> forecasts = {"m": 0.0, "m-lo-80": -1.0, "m-hi-80": 1.0}
        >>> backtest = pd.DataFrame({**rows, "y": [0.0] * 36 + [9.0] * 4, **forecasts})
        >>> coverage_tests(backtest).round(3)
              count  coverage  kupiec p  christoffersen p
        step
        1        40       0.9     0.119               0.0
    """
    check_choice("by", by, ("step", ID))
    columns = read_columns(backtest, alias)
    if level not in columns.intervals:
        raise ValueError(
            f"the backtest has intervals of {list(columns.intervals)} percent, not of {level!r}."
        )
    frame = known_rows(backtest, columns).sort_values([ID, CUTOFF, TIME])
    low, high = columns.intervals[level]
    frame = frame.assign(miss=~frame[TARGET].between(frame[low], frame[high]))
    rows = {}
    for name, part in frame.groupby(by):
        first = part[part["step"] == part["step"].min()]
        before = first.groupby(ID)["miss"].shift()
        pairs = before.notna()
        rows[name] = {
            "count": len(part),
            "coverage": 1 - part["miss"].mean(),
            "kupiec p": kupiec(int(part["miss"].sum()), len(part), 1 - level / 100),
            "christoffersen p": christoffersen(before[pairs].astype(bool), first["miss"][pairs]),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(by)


def kupiec(misses, count, rate):
    """Return the p-value of the likelihood ratio test that misses have a probability.

    The p-value is that of the exact binomial distribution of the statistic, so that the test
    rejects at most 5 % of true null hypotheses for any number of forecasts.

    Args:
        misses: int, number of misses.
        count: int, number of independent forecasts.
        rate: float, probability of a miss under the null hypothesis.

    Example:
        >>> round(kupiec(4, 40, 0.2), 3), round(kupiec(8, 40, 0.2), 3)
        (0.119, 1.0)
    """
    numbers = np.arange(count + 1)
    share = numbers / count
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = (count - numbers) * np.log((1 - share) / (1 - rate))
        ratio = numbers * np.log(share / rate) + hits
    ratio[0], ratio[-1] = -count * np.log(1 - rate), -count * np.log(rate)
    is_extreme = ratio >= ratio[misses] - 1e-9
    return float(min(scipy.stats.binom.pmf(numbers, count, rate)[is_extreme].sum(), 1.0))


def christoffersen(before, after):
    """Return the p-value of the test that a miss does not depend on the miss before it.

    Args:
        before: bool array `(pairs,)`, whether each forecast missed.
        after: bool array `(pairs,)`, whether the next forecast of the series missed.

    Returns:
        float, by the chi-square distribution; NaN for fewer than 20 pairs or without a miss.
    """
    before, after = np.asarray(before, bool), np.asarray(after, bool)
    if len(before) < MIN_CHANGES or not before.any() or before.all() or not after.any():
        return np.nan

    def likelihood(misses):
        share = misses.mean()
        return misses.sum() * np.log(max(share, 1e-300)) + (~misses).sum() * np.log(
            max(1 - share, 1e-300)
        )

    ratio = likelihood(after[before]) + likelihood(after[~before]) - likelihood(after)
    return float(scipy.stats.chi2.sf(max(2 * ratio, 0.0), 1))


def observed_levels(levels, quantiles, targets):
    """Return the fraction of true values below each level, `(levels,)`.

    A value that equals several quantiles is counted by the share of its probability that is below
    a level, so that calibrated forecasts of counts have fractions near the levels. They are equal
    to them if every count is known by its quantiles, see `pit_bounds`.

    Args:
        levels: Array `(levels,)`, increasing probabilities.
        quantiles: Array `(rows, levels)`.
        targets: Array `(rows,)`.
    """
    low, high = pit_bounds(levels, quantiles, targets)
    shares = (np.asarray(levels)[:, None] - low) / (high - low)
    return np.clip(shares, 0, 1).mean(axis=1)


def pit_bounds(levels, quantiles, targets):
    """Return the probabilities of smaller and of at most equal values, as quantiles imply them.

    A value between two quantiles has a probability between their levels. A value that equals
    several quantiles, such as a count, has those of their levels and half the way to the next. This
    half is an approximation: for counts, the result is wrong by up to half of the distance between
    two levels. With the levels .1, .2, ... it is small.

    Args:
        levels: Array `(levels,)`, increasing probabilities.
        quantiles: Array `(rows, levels)`.
        targets: Array `(rows,)`.

    Returns:
        Arrays `(rows,)`, the lower and the upper probability.

    Source: Czado, Gneiting, Held (2009), section 2, for counts.

    Example:
        >>> low, high = pit_bounds([0.1, 0.5, 0.9], [[0.0, 0.0, 2.0]], [0.0])
        >>> low.round(2).tolist(), high.round(2).tolist()
        ([0.0], [0.7])
    """
    edges = np.concatenate([[0.0], levels, [1.0]])
    quantiles, targets = np.asarray(quantiles), np.asarray(targets)[:, None]
    below, at_most = (quantiles < targets).sum(axis=1), (quantiles <= targets).sum(axis=1)
    low, high = edges[below], edges[at_most + 1]
    is_equal = at_most > below
    # Of the outermost gap below, nothing is known: a count at the lowest quantile may be the least.
    inner = np.where(below > 0, (low + edges[below + 1]) / 2, low)
    outer = (edges[at_most] + high) / 2
    return np.where(is_equal, inner, low), np.where(is_equal, outer, high)


def randomized_pit(backtest, *, alias=None, seed=0):
    """Return the probability integral transform of each row, uniform if forecasts are calibrated.

    It is drawn between the probabilities of `pit_bounds`. For counts it is nearly uniform if there
    are many levels.

    Args:
        backtest: DataFrame with intervals, see `kerastrans.backtesting`.
        alias: str, name of the model; required if the backtest contains several.
        seed: int.

    Returns:
        Array `(rows,)` in (0, 1), of the rows with a "y" and a forecast.

    Raises:
        ValueError: If the backtest has no intervals.

    Source: Smith (1985); Czado, Gneiting, Held (2009).
    """
    low, high = pit_bounds(*known_quantiles(backtest, alias))
    return np.random.default_rng(seed).uniform(low, high)


def reliability(probabilities, outcomes):
    """Return the CORP reliability curve of probabilities and the parts of their Brier score.

    Args:
        probabilities: Array `(rows,)` in [0, 1], such as the column "<alias>-exceeds-3".
        outcomes: bool array `(rows,)`, whether the event happened.

    Returns:
        Tuple of the recalibrated probabilities `(rows,)`, the isotonic regression of the outcomes
        on the probabilities, and a dict of "brier", the mean squared error, and its parts:
        brier = "miscalibration" - "discrimination" + "uncertainty".

    Raises:
        ValueError: If a probability is not in [0, 1], or the lengths differ.

    Source: Dimitriadis, Gneiting, Jordan (2021), "Stable reliability diagrams for probabilistic
    classifiers".

    Example:
        >>> calibrated, parts = reliability([0.1, 0.3, 0.8], [False, True, True])
        >>> calibrated.tolist(), {name: round(float(x), 3) for name, x in parts.items()}
        ([0.0, 1.0, 1.0], {'brier': 0.18, 'miscalibration': 0.18, 'discrimination': 0.222,
        'uncertainty': 0.222})
    """
    x, y = np.asarray(probabilities, "float64"), np.asarray(outcomes, "float64")
    if x.shape != y.shape or not len(x) or not ((x >= 0) & (x <= 1)).all():
        raise ValueError(
            f"expected probabilities in [0, 1] and as many outcomes, got {x.shape} probabilities "
            f"and {y.shape} outcomes."
        )
    # Equal probabilities have one recalibrated value: the mean outcome, with their number.
    _, places, counts = np.unique(x, return_inverse=True, return_counts=True)
    means = np.bincount(places, weights=y) / counts
    fitted = scipy.optimize.isotonic_regression(means, weights=counts).x[places]
    brier, best, base = (np.mean((y - p) ** 2) for p in (x, fitted, y.mean()))
    parts = {"brier": brier, "miscalibration": brier - best, "discrimination": base - best}
    return fitted, parts | {"uncertainty": base}


def known_quantiles(backtest, alias=None):
    """Return the levels, quantiles and true values of a backtest, as `pit_bounds` takes them.

    Raises:
        ValueError: If the backtest has no intervals.
    """
    columns = read_columns(backtest, alias)
    if not columns.intervals:
        raise ValueError("this backtest has no intervals: pass levels=, or call calibrate first.")
    frame = known_rows(backtest, columns)
    levels, names = np.array(list(columns.quantiles)), list(columns.quantiles.values())
    return levels, frame[names].to_numpy(), frame[TARGET].to_numpy()
