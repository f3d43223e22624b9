"""Conformal offsets: split (fixed) and adaptive (online).

The first two axes of scores are windows and steps; further axes (channels, bounds) are treated
separately.
"""

import numpy as np
import scipy


def conformity_scores(targets, low, high, scale):
    """Return the distances of targets outside each bound, in units of `scale`.

    Args:
        targets: `(windows, prediction_length, num_channels)`, NaN if unknown.
        low: Lower bounds, which broadcast to the same shape.
        high: Upper bounds, which broadcast to the same shape.
        scale: Scales of the windows, which broadcast to the same shape.

    Returns:
        `(windows, prediction_length, num_channels, 2)`, distances below the lower bound and above
        the upper bound, negative inside, NaN if unknown.

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
    """Return the smallest number of calibration windows for an offset of `level` percent.

    With fewer windows, the rank in `split_offsets` is larger than the number of scores.

    Example:
        >>> windows_needed(80), windows_needed(95), windows_needed(99.9)
        (4, 19, 999)
    """
    return _ceil(level / (100 - level)).item()


def check_windows(level, count):
    """Raise ValueError if the calibration windows are too few for `level` percent."""
    needed = windows_needed(level)
    if count < needed:
        raise ValueError(
            f"an interval of {level:g} % requires at least {needed} calibration windows at every "
            f"step, got {count}."
        )


def split_offsets(scores, level):
    """Return offsets that at least `level` percent of later scores do not exceed.

    Args:
        scores: `(windows, prediction_length, ...)`, NaN if unknown.
        level: Percent of the scores.

    Returns:
        `(prediction_length, ...)`, the score of rank `ceil((windows + 1) * level / 100)` at each
        step, the smallest score having rank 1.

    Raises:
        ValueError: If there are too few windows for this level.

    Source: Lei et al. (2018), algorithm 2; Romano et al. (2019), equation 8.

    Example:
        >>> split_offsets(np.arange(1.0, 10.0).reshape(9, 1), 80)
        array([8.])
    """
    counts = np.isfinite(scores).sum(axis=0)
    check_windows(level, counts.min())
    ranks = _ceil((counts + 1) * level / 100)
    # Sort the scores of each step, unknown ones last, and take the one with the rank of the step.
    ordered = np.sort(np.where(np.isfinite(scores), scores, np.inf), axis=0)
    return np.take_along_axis(ordered, ranks[None] - 1, axis=0)[0]


def adaptive_offsets(scores, times, level, start, step_size):
    """Return offsets for each window, learned online from the outcomes known by then.

    All windows of an origin have the same offset. Once their outcomes are known, the offset is
    increased by `step_size * (share of scores above it - (1 - level / 100))`: one update per
    origin, for any number of series. The share above the offset thus converges to
    `1 - level / 100`, even if the series drift. If the outcome of a forecast step is known `delay`
    origins later, its step size is divided by `sqrt(delay)`; otherwise the offsets of later steps
    would oscillate.

    Args:
        scores: `(windows, prediction_length, ...)`, NaN if unknown.
        times: `(windows,)`, ints in increasing order, the time of the first target of each window.
            The outcome of step h, counted from 0, is known at windows of time + h + 1 and later.
        level: Percent of the scores that should not exceed their offset.
        start: `(prediction_length, ...)`, initial offsets, see `split_offsets`.
        step_size: Array with the shape of `start`, in units of the scores.

    Returns:
        Offsets with the shape of the scores, computed before the outcome of each window, and the
        offsets after the last outcome, with the shape of `start`.

    Source: Angelopoulos, Candès, Tibshirani (2023), equation 4 (quantile tracking); Zinkevich,
    Smola, Langford (2009) for the rate under delay.

    Example:
        >>> scores = np.array([[2.0], [0.0], [0.0], [0.0]])  # two series, two origins
        >>> offsets, last = adaptive_offsets(
        ...     scores, np.array([5, 5, 6, 6]), 80, np.array([1.0]), np.array([1.0])
        ... )
        >>> offsets[:, 0], last  # first, half of the scores are above instead of a fifth, then none
        (array([1. , 1. , 1.3, 1.3]), array([1.1]))
    """
    # The windows of origin i are the rows from bounds[i] to bounds[i + 1].
    origins, first_rows = np.unique(times, return_index=True)
    bounds = np.append(first_rows, len(times))
    steps = np.arange(scores.shape[1])
    # Number of origins until the outcome of each step is known, shaped to broadcast over `start`.
    gap = np.median(np.diff(origins)) if len(origins) > 1 else len(steps)
    delay = np.maximum(1.0, (steps + 1) / gap).reshape(-1, *[1] * (start.ndim - 1))
    rates, expected_share = step_size / np.sqrt(delay), 1 - level / 100
    offset, offsets = start.copy(), np.empty_like(scores)
    # Updates are computed when an origin is forecast, and applied, step by step, once its outcome
    # is known.
    changes = np.zeros((len(origins), *start.shape))
    num_applied = np.zeros(len(steps), int)  # number of origins whose update each step has had

    def apply_changes(num_known):
        """Apply the updates of the first `num_known` origins, one number for each step."""
        while (pending := num_applied < num_known).any():
            offset[pending] += changes[num_applied[pending], steps[pending]]
            num_applied[pending] += 1

    for i, now in enumerate(origins):
        # Step h of an earlier origin is known if origin + h < now.
        apply_changes(np.searchsorted(origins[:i], now - steps))
        offsets[bounds[i] : bounds[i + 1]] = offset
        outcomes = scores[bounds[i] : bounds[i + 1]]
        num_outcomes = np.isfinite(outcomes).sum(axis=0)
        share_above = (outcomes > offset).sum(axis=0) / np.maximum(num_outcomes, 1)
        # An origin without outcomes changes nothing.
        changes[i] = np.where(num_outcomes > 0, rates * (share_above - expected_share), 0.0)
    apply_changes(np.full(len(steps), len(origins)))
    return offsets, offset


def count_effective(times, prediction_length):
    """Return the number of origins whose forecasts do not overlap.

    Overlapping forecasts share outcomes, and series of one origin share shocks, so that neither are
    independent observations. An origin is counted if it is at least `prediction_length` steps after
    the last counted one, and once for all series.

    Args:
        times: `(windows,)`, ints, the time of the first target of each window.
        prediction_length: int, number of steps of a forecast.

    Example:
        >>> count_effective(np.arange(19), 24), count_effective(24 * np.arange(19), 24)
        (1, 19)
    """
    return int(number_origins(times, prediction_length).max(initial=-1)) + 1


def number_origins(times, prediction_length):
    """Return the effective origin of each window, `(windows,)`, numbered from 0 in time.

    A window belongs to the last origin counted by `count_effective` that is not after it.
    """
    starts = []
    for time in np.unique(times):
        if not starts or time >= starts[-1] + prediction_length:
            starts.append(time)
    return np.searchsorted(starts, times, side="right") - 1


def are_skewed(scores, level, times):
    """Return whether a symmetric interval would miss more values on one side than on the other.

    The scores are skewed if, in any channel, more than 60 % of the missed values are on one side,
    and a t-test at 5 % over the effective origins (see `count_effective`) finds more misses on this
    side: windows that overlap, the steps of a window and series of one date are not independent.
    The tails of an 80 % interval of scores that are not skewed have 8 to 12 % each.

    Args:
        scores: `(windows, prediction_length, num_channels, 2)`, see `conformity_scores`.
        level: Percent that the interval should cover.
        times: `(windows,)`, ints, the time of the first target of each window.

    Example:
        >>> errors = np.random.default_rng(0).exponential(size=(200, 1, 1)) - 1.0
        >>> are_skewed(conformity_scores(errors, 0.0, 0.0, 1.0), 80, np.arange(200))
        True
    """
    offsets = split_offsets(scores.max(axis=-1), level)
    missed = (scores > offsets[..., None]).sum(axis=1)  # (windows, num_channels, 2)
    origins = number_origins(times, scores.shape[1])
    count = origins.max(initial=-1) + 1
    if count < 2:
        return False
    excess = np.zeros((count, missed.shape[1]))  # misses above minus misses below
    np.add.at(excess, origins, missed[..., 1] - missed[..., 0])
    mean, spread = excess.mean(axis=0), excess.std(axis=0, ddof=1)
    is_significant = np.abs(mean) * np.sqrt(count) > scipy.stats.t.isf(0.025, count - 1) * spread
    # 60 % on one side and 40 % on the other differ by 0.2 of the total.
    is_large = np.abs(excess.sum(axis=0)) > 0.2 * missed.sum(axis=(0, 2))
    return bool((is_significant & is_large).any())


def _ceil(values):
    """Round up to integers, ignoring floating-point errors: `19.0000000001` is 19."""
    return np.ceil(np.round(values, 9)).astype(int)
