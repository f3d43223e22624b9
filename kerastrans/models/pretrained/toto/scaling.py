"""Location and scale of each patch from the values observed up to its end."""

from keras import ops

MIN_SCALE = 1e-6


def patch_scales(values, observed, patch_length, min_observed=0):
    """Return mean and standard deviation of all values observed up to the end of each patch.

    The sums of squares are of deviations from patch means, plus terms between patches that are
    never negative. Nothing cancels, so float32 is precise enough.

    Args:
        values: `(batch, variates, time)`, whole patches.
        observed: Mask of the same shape, 1 for observed values and 0 elsewhere.
        patch_length: int, number of steps in a patch.
        min_observed: int, number of observed values that a patch requires. Patches with fewer get
            mean and deviation of the first `min_observed` values of the series, or of all values if
            it has fewer.

    Returns:
        Two tensors `(batch, variates, patches)`, mean and standard deviation.
    """
    shape = (-1, values.shape[1], values.shape[2] // patch_length, patch_length)
    patches, weights = (ops.reshape(x, shape) for x in (values * observed, observed))
    number, total = ops.sum(weights, axis=-1), ops.sum(patches, axis=-1)
    so_far = ops.cumsum(number, axis=-1)  # number of values up to the end of each patch
    mean = ops.cumsum(total, axis=-1) / ops.maximum(so_far, 1)
    own_mean = total / ops.maximum(number, 1)
    squares = ops.sum(ops.square(patches - own_mean[..., None]) * weights, axis=-1)
    before = ops.pad(mean[..., :-1], [[0, 0], [0, 0], [1, 0]])
    between = ops.square(own_mean - before) * (so_far - number) * number / ops.maximum(so_far, 1)
    deviation = _deviation(ops.cumsum(squares + between, axis=-1), so_far)
    if min_observed:
        # Mean and deviation of the first `min_observed` values, for patches with fewer values.
        first = observed * ops.cast(ops.cumsum(observed, axis=-1) <= min_observed, values.dtype)
        count = ops.sum(first, axis=-1, keepdims=True)
        first_mean = ops.sum(values * first, axis=-1, keepdims=True) / ops.maximum(count, 1)
        squares = ops.square((values - first_mean) * first)
        first_deviation = _deviation(ops.sum(squares, axis=-1, keepdims=True), count)
        too_few = so_far < min_observed
        mean = ops.where(too_few, first_mean, mean)
        deviation = ops.where(too_few, first_deviation, deviation)
    return mean, deviation


def filled_to_the_end(values, observed, steps):
    """Fill missing values of the last steps with the last observed value, zero if there is none.

    Args:
        values: `(batch, variates, time)`, zero where missing.
        observed: Mask of the same shape, 1 for observed values and 0 elsewhere.
        steps: int, number of last steps to fill; missing values before them stay zero.
    """
    # Position (from 1) of the last observed value up to each of the last steps, 0 for none.
    places = observed * ops.cumsum(ops.ones_like(observed), axis=-1)
    latest, reach = places[..., -steps:], 1
    while reach < steps:
        past = ops.pad(latest[..., :-reach], [[0, 0], [0, 0], [reach, 0]])
        latest, reach = ops.maximum(latest, past), 2 * reach
    if values.shape[-1] > steps:
        before = ops.max(places[..., :-steps], axis=-1, keepdims=True)
        latest = ops.maximum(latest, before)
    with_zero = ops.pad(values, [[0, 0], [0, 0], [1, 0]])
    filled = ops.take_along_axis(with_zero, ops.cast(latest, "int32"), axis=-1)
    return ops.concatenate([values[..., :-steps], filled], axis=-1)


def _deviation(squares, number):
    variance = squares / ops.maximum(number - 1, 1)
    return ops.maximum(ops.sqrt(variance), MIN_SCALE)
