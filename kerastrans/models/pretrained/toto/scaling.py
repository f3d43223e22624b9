"""Location and scale of each patch from what was observed up to its end."""

from keras import ops

SMALLEST_SCALE = 1e-6


def patch_scales(values, observed, patch_length, min_observed=0):
    """Mean and standard deviation of all that was observed up to the end of each patch.

    Sums of squares are of deviations from patch means, and what patches add to each other is
    never negative: nothing cancels, in float32 either.

    Args:
        values: `(batch, variates, time)`, whole patches.
        observed: the same shape, 1 where there is a value and 0 elsewhere.
        patch_length: int.
        min_observed: int, values that it takes; patches that saw fewer have the mean and the
            deviation of the first ones of the series, as many as there are.

    Returns:
        Two tensors `(batch, variates, patches)`.
    """
    shape = (-1, values.shape[1], values.shape[2] // patch_length, patch_length)
    patches, weights = (ops.reshape(x, shape) for x in (values * observed, observed))
    number, total = ops.sum(weights, axis=-1), ops.sum(patches, axis=-1)
    seen = ops.cumsum(number, axis=-1)
    mean = ops.cumsum(total, axis=-1) / ops.maximum(seen, 1)
    own_mean = total / ops.maximum(number, 1)
    squares = ops.sum(ops.square(patches - own_mean[..., None]) * weights, axis=-1)
    before = ops.pad(mean[..., :-1], [[0, 0], [0, 0], [1, 0]])
    between = ops.square(own_mean - before) * (seen - number) * number / ops.maximum(seen, 1)
    deviation = _deviation(ops.cumsum(squares + between, axis=-1), seen)
    if min_observed:
        first = observed * ops.cast(ops.cumsum(observed, axis=-1) <= min_observed, values.dtype)
        count = ops.sum(first, axis=-1, keepdims=True)
        first_mean = ops.sum(values * first, axis=-1, keepdims=True) / ops.maximum(count, 1)
        squares = ops.square((values - first_mean) * first)
        first_deviation = _deviation(ops.sum(squares, axis=-1, keepdims=True), count)
        few = seen < min_observed
        mean = ops.where(few, first_mean, mean)
        deviation = ops.where(few, first_deviation, deviation)
    return mean, deviation


def filled_to_the_end(values, observed, steps):
    """The last value that was observed, at the last `steps` steps; zero where there was none yet.

    Args:
        values: `(batch, variates, time)`, zero where missing.
        observed: the same shape, 1 where there is a value and 0 elsewhere.
        steps: int, at the end; what is missing before them stays zero.
    """
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
    return ops.maximum(ops.sqrt(variance), SMALLEST_SCALE)
