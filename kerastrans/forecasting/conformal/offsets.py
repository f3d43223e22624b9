"""What a conformal interval adds to its base, learnt from scores: once, or outcome by outcome.

Scores have windows and steps as their first two axes; what follows (channels, bounds) is treated
apart.
"""

import numpy as np


def conformity_scores(targets, low, high, scale):
    """How far targets are outside of each bound, in units of `scale`; NaN where none is known.

    Args:
        targets: `(windows, prediction_length, num_channels)`.
        low: the lower bounds, of the same shape, or broadcast.
        high: the upper bounds, likewise.
        scale: likewise.

    Returns:
        `(windows, prediction_length, num_channels, 2)`: how far below the lower bound, and how far
        above the upper one; negative on the bound's inner side.

    Source: Romano et al. (2019), equation 6, whose score is the larger of the two.

    Example:
        >>> conformity_scores(np.array([0.0, 2.0, 5.0]), 1.0, 3.0, 2.0)
        array([[ 0.5, -1.5],
               [-0.5, -0.5],
               [-2. ,  1. ]])
    """
    return np.stack(np.broadcast_arrays(low - targets, targets - high), axis=-1) / (
        np.expand_dims(scale, -1)
    )


def windows_needed(level):
    """The fewest calibration windows that an offset of `level` percent can be taken from.

    Example:
        >>> windows_needed(80), windows_needed(95), windows_needed(99.9)
        (4, 19, 999)
    """
    return _ceil(level / (100 - level)).item()


def check_windows(level, count):
    """Raise ValueError where so few calibration windows tell no interval of `level` percent."""
    needed = windows_needed(level)
    if count < needed:
        raise ValueError(
            f"an interval of {level:g} % needs at least {needed} calibration windows at every "
            f"step, got {count}."
        )


def split_offsets(scores, level):
    """What to add so that `level` percent of the scores to come are not above it.

    Args:
        scores: `(windows, prediction_length, ...)`, NaN where unknown.
        level: percent.

    Returns:
        `(prediction_length, ...)`, the score of rank `ceil((windows + 1) * level / 100)`.

    Raises:
        ValueError: too few windows for this level.

    Source: Lei et al. (2018), algorithm 2; Romano et al. (2019), equation 8.

    Example:
        >>> split_offsets(np.arange(1.0, 10.0).reshape(9, 1), 80)
        array([8.])
    """
    counts = np.isfinite(scores).sum(axis=0)
    check_windows(level, counts.min())
    ranks = _ceil((counts + 1) * level / 100)  # the rank-th smallest score
    ordered = np.sort(np.where(np.isfinite(scores), scores, np.inf), axis=0)
    return np.take_along_axis(ordered, ranks[None] - 1, axis=0)[0]


def adaptive_offsets(scores, times, level, start, step_size):
    """What to add to each window in turn, learnt from those whose truth is known by then.

    All windows of one origin are given the same offset. Once their outcomes are known it grows by
    `step_size * (share above it - (1 - level))`: one step for each origin, whether it has one
    series or a thousand. So the share above tends to what is asked for, however the series drift.
    A step whose outcome becomes known `delay` origins later learns at `step_size / sqrt(delay)`:
    late news that is acted upon as quickly as early news makes the offsets swing.

    Args:
        scores: `(windows, prediction_length, ...)`, NaN where unknown.
        times: `(windows,)`, in order, number of each window's first target step; the outcome of
            step h is known h + 1 steps later.
        level: percent of the scores that are not to be above their offset.
        start: `(prediction_length, ...)`, the offset at first, see `split_offsets`.
        step_size: the same shape, in units of the scores.

    Returns:
        Offsets as `scores`, for each window made without its own outcome, and those after the
        last outcome, as `start`.

    Source: Angelopoulos, Candès, Tibshirani (2023), equation 4 (quantile tracking); Zinkevich,
    Smola, Langford (2009) for the rate under delay.

    Example:
        >>> scores = np.array([[2.0], [0.0], [0.0], [0.0]])  # of two series from two origins
        >>> offsets, last = adaptive_offsets(
        ...     scores, np.array([5, 5, 6, 6]), 80, np.array([1.0]), np.array([1.0])
        ... )
        >>> offsets[:, 0], last  # half are above for a fifth that may be, then none
        (array([1. , 1. , 1.3, 1.3]), array([1.1]))
    """
    origins, first = np.unique(times, return_index=True)
    bounds = np.append(first, len(times))
    steps = np.arange(scores.shape[1])
    gap = np.median(np.diff(origins)) if len(origins) > 1 else len(steps)
    delay = np.maximum(1.0, (steps + 1) / gap).reshape(-1, *[1] * (start.ndim - 1))
    rates, alpha = step_size / np.sqrt(delay), 1 - level / 100
    offset, offsets = start.copy(), np.empty_like(scores)
    changes = np.zeros((len(origins), *start.shape))
    learnt = np.zeros(len(steps), int)  # of each step, how many origins it has learnt from

    def learn(last):
        while (ready := learnt < last).any():
            offset[ready] += changes[learnt[ready], steps[ready]]
            learnt[ready] += 1

    for i, now in enumerate(origins):
        learn(np.searchsorted(origins[:i], now - steps))
        offsets[bounds[i] : bounds[i + 1]] = offset
        chosen = scores[bounds[i] : bounds[i + 1]]
        known = np.isfinite(chosen).sum(axis=0)
        share = (chosen > offset).sum(axis=0) / np.maximum(known, 1)
        changes[i] = np.where(known > 0, rates * (share - alpha), 0.0)
    learn(np.full(len(steps), len(origins)))
    return offsets, offset


def count_effective(times, prediction_length):
    """How many origins there are whose forecasts do not overlap.

    Forecasts that overlap share outcomes, and the series of one origin share shocks; neither makes
    another independent observation. So origins count only where they are at least
    `prediction_length` steps apart, and series do not multiply them.

    Args:
        times: `(windows,)`, in order, number of each window's first target step.
        prediction_length: int, steps of a forecast.

    Example:
        >>> count_effective(np.arange(19), 24), count_effective(24 * np.arange(19), 24)
        (1, 19)
    """
    count, free = 0, -np.inf
    for time in np.unique(times):
        if time >= free:
            count, free = count + 1, time + prediction_length
    return count


def are_skewed(scores, level):
    """Whether a symmetric interval would miss on one side more than on the other.

    That is where, in any channel, more than 60 % of the values that it misses are on one side, and
    by more than two standard errors of a fair coin. Below it each bound of an 80 % interval is a
    quantile of 8 to 12 %.

    Args:
        scores: `(windows, prediction_length, num_channels, 2)`, see `conformity_scores`.
        level: percent that the interval is to cover.

    Example:
        >>> errors = np.random.default_rng(0).exponential(size=(200, 1, 1)) - 1.0
        >>> are_skewed(conformity_scores(errors, 0.0, 0.0, 1.0), 80)
        True
    """
    offsets = split_offsets(scores.max(axis=-1), level)
    missed = (scores > offsets[..., None]).sum(axis=(0, 1))  # (num_channels, 2)
    total = missed.sum(axis=-1)
    excess = missed.max(axis=-1) - total / 2
    return bool((excess > np.maximum(0.1 * total, np.sqrt(total))).any())


def _ceil(values):
    """Round up to integers, past what floats make of whole numbers."""
    return np.ceil(np.round(values, 9)).astype(int)
