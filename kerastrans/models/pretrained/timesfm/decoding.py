"""Block-by-block forecasts of TimesFM 2.5, and the post-processing of its quantiles."""

import math

import keras
import numpy as np
from keras import ops

from kerastrans.models.pretrained.scaling import rescaled

MIN_DEVIATION = 1e-6  # smaller deviations are not divided by


def decode(network, sizes, values, observed, prediction_length):
    """Forecast whole blocks, and the output of the quantile head.

    Args:
        network: Keras model, see `kerastrans.models.pretrained.timesfm.network.build_network`.
        sizes: `kerastrans.models.pretrained.timesfm.config.Sizes`.
        values: `(rows, time)`, whole patches, 0 where not observed.
        observed: `(rows, time)`, 0 before the first observed step and 1 from that step.
        prediction_length: int, number of steps to forecast; the result may have more.

    Returns:
        The forecast `(rows, steps, channels)`, and that of the quantile head
        `(rows, spread_length, channels)`.

    Raises:
        ValueError: If a second block is required and the first one does not end with a patch.
    """
    steps = (-1, values.shape[-1] // sizes.patch_length, sizes.patch_length)
    patches, observed = ops.reshape(values, steps), ops.reshape(observed, steps)
    hidden = ops.sum(1 - observed[..., -1], axis=-1, keepdims=True)
    positions = ops.subtract(_count_from(0, steps[1], values), hidden)
    # The cache begins with one hidden step, because some export formats have no empty tensors.
    empty = ops.reshape(ops.zeros_like(hidden), (-1, 1, 1, 1, 1))
    empty = empty + np.zeros((sizes.num_layers, sizes.num_heads, 1, sizes.key_dim), "bool")
    past = (ops.zeros_like(hidden) - 1, empty, empty)
    x, spread, past, state = _forecast_block(network, sizes, patches, observed, positions, past)
    blocks = [x]
    for _ in range(1, math.ceil(prediction_length / sizes.output_length)):
        # The median of the last block is the history of the next one.
        count = _patches_per_block(sizes)
        patches = ops.reshape(x[..., sizes.median], (-1, count, sizes.patch_length))
        positions = past[0][:, -1:] + _count_from(1, count, values)
        observed = ops.ones_like(patches)
        x, _, past, state = _forecast_block(
            network, sizes, patches, observed, positions, past, state
        )
        blocks.append(x)
    return ops.concatenate(blocks, axis=1), spread


def _forecast_block(network, sizes, patches, observed, positions, past, state=None):
    """Forecast from the last of some patches; return cache and statistics for the next call.

    Returns:
        The forecast, that of the quantile head, the cache of the attention and the running
        statistics.
    """
    means, deviations, state = _running_statistics(patches, observed, state)
    # The square root has no gradient at 0, the deviation of a constant series.
    means, deviations = ops.stop_gradient(means), ops.stop_gradient(deviations)
    normal = (patches - means[..., None]) / divisor(deviations)[..., None]
    tokens = ops.concatenate([normal * observed, 1 - observed], axis=-1)
    point, spread, keys, values = network([tokens, positions, *past])
    past = (
        ops.concatenate([past[0], positions], axis=1),
        ops.concatenate([past[1], keys], axis=3),
        ops.concatenate([past[2], values], axis=3),
    )
    shape = (-1, sizes.output_length, 1 + len(sizes.levels))
    point = rescaled(ops.reshape(point, shape), means[:, -1:], deviations[:, -1:])
    shape = (-1, sizes.spread_length, 1 + len(sizes.levels))
    spread = rescaled(ops.reshape(spread, shape), means[:, -1:], deviations[:, -1:])
    return point, spread, past, state


def _patches_per_block(sizes):
    if sizes.output_length % sizes.patch_length:
        raise ValueError(
            f"patches of {sizes.patch_length} steps do not divide the {sizes.output_length} steps "
            "of a block: a longer forecast than one block is not possible."
        )
    return sizes.output_length // sizes.patch_length


def _count_from(start, count, like):
    """Return `start`, `start + 1`, ... as a NumPy array of the dtype of a tensor."""
    return np.arange(start, start + count, dtype=keras.backend.standardize_dtype(like.dtype))


def divisor(deviation):
    """Return a deviation to divide by: 1 if it is nearly zero."""
    return ops.where(deviation < MIN_DEVIATION, ops.ones_like(deviation), deviation)


def interleave(x, y):
    """Interleave the rows of two tensors `(batch, time)` to `(2 * batch, time)`."""
    return ops.reshape(ops.stack([x, y], axis=1), (-1, x.shape[-1]))


def unflipped(x):
    """Average the forecasts of each series and of its negative, which is in the next row.

    Args:
        x: `(2 * batch, time, 1 + levels)`, the mean and the quantiles at symmetric levels.
    """
    x = ops.reshape(x, (-1, 2, *x.shape[1:]))
    upright, flipped = x[:, 0], x[:, 1]
    flipped = ops.concatenate([flipped[..., :1], ops.flip(flipped[..., 1:], axis=-1)], axis=-1)
    return (upright - flipped) / 2


def uncrossed(x, median):
    """Make the quantiles, all channels but the first, non-decreasing, from the median outwards."""
    channels = [x[..., i] for i in range(x.shape[-1])]
    for i in range(median - 1, 0, -1):
        channels[i] = ops.minimum(channels[i], channels[i + 1])
    for i in range(median + 1, len(channels)):
        channels[i] = ops.maximum(channels[i], channels[i - 1])
    return ops.stack(channels, axis=-1)


def _running_statistics(patches, observed, before=None):
    """Return mean and deviation of all observed steps up to the end of each patch.

    Args:
        patches: `(batch, patches, patch_length)`.
        observed: Mask of the same shape, 1 for observed steps and 0 elsewhere.
        before: None, or the third result of the call for the patches before these.

    Returns:
        Mean and population deviation, each `(batch, patches)`, 0 if nothing has been observed; and
        the argument `before` of a call for the following patches.

    Source: Chan et al. (1983), "Algorithms for computing the sample variance", equation 2.1, which
    loses no digits to a large mean, summed along the patches.
    """
    count = ops.sum(observed, axis=-1)
    mean = ops.sum(patches * observed, axis=-1) / ops.maximum(count, 1)
    squares = ops.sum(ops.square(patches - mean[..., None]) * observed, axis=-1)
    nothing = ops.zeros_like(count[:, :1])
    first_count, first_mean, first_squares = before or (nothing, nothing, nothing)
    total = first_count + ops.cumsum(count, axis=-1)
    means = first_count * first_mean + ops.cumsum(count * mean, axis=-1)
    means = means / ops.maximum(total, 1)
    previous = ops.concatenate([first_mean, means[:, :-1]], axis=-1)
    # Welford's increment of a patch: its contribution to the sum of squares about the growing mean.
    increments = squares + count * (mean - previous) * (mean - means)
    sums = first_squares + ops.cumsum(increments, axis=-1)
    deviations = ops.sqrt(ops.maximum(sums, 0) / ops.maximum(total, 1))
    after = (total[:, -1:], means[:, -1:], sums[:, -1:])
    return means, deviations, after
