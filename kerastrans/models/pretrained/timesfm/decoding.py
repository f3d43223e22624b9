"""How TimesFM 2.5 forecasts block by block, and what is done to quantiles afterwards."""

import math

import keras
import numpy as np
from keras import ops

from kerastrans.models.pretrained.running import running_statistics
from kerastrans.models.pretrained.scaling import rescaled

SMALLEST = 1e-6  # deviations below it are not divided by


def decode(network, sizes, values, observed, prediction_length):
    """The forecast in whole blocks, and the quantile head's.

    Args:
        network: see `kerastrans.models.pretrained.timesfm.network.build_network`.
        sizes: `kerastrans.models.pretrained.timesfm.config.Sizes`.
        values: `(rows, time)`, whole patches, 0 where not observed.
        observed: `(rows, time)`, 1 from the first observed step on and 0 before.
        prediction_length: int, at least that many steps are forecast.

    Returns:
        `(rows, steps, channels)` and `(rows, spread_length, channels)`.

    Raises:
        ValueError: A second block cannot go on from the first, whose end is within a patch.
    """
    steps = (-1, values.shape[-1] // sizes.patch_length, sizes.patch_length)
    patches, observed = ops.reshape(values, steps), ops.reshape(observed, steps)
    hidden = ops.sum(1 - observed[..., -1], axis=-1, keepdims=True)
    positions = ops.subtract(_counted(0, steps[1], values), hidden)
    # One earlier step, which is hidden: some formats of export have no tensors without any.
    nothing = ops.reshape(ops.zeros_like(hidden), (-1, 1, 1, 1, 1))
    nothing = nothing + np.zeros((sizes.num_layers, sizes.num_heads, 1, sizes.key_dim), "bool")
    past = (ops.zeros_like(hidden) - 1, nothing, nothing)
    x, spread, past, state = _pass(network, sizes, patches, observed, positions, past)
    blocks = [x]
    for _ in range(1, math.ceil(prediction_length / sizes.output_length)):
        count = _patches_of_a_block(sizes)
        patches = ops.reshape(x[..., sizes.median], (-1, count, sizes.patch_length))
        positions = past[0][:, -1:] + _counted(1, count, values)
        seen = ops.ones_like(patches)
        x, _, past, state = _pass(network, sizes, patches, seen, positions, past, state)
        blocks.append(x)
    return ops.concatenate(blocks, axis=1), spread


def _pass(network, sizes, patches, observed, positions, past, state=None):
    """What the last of some patches forecasts, and what the patches after them go on from."""
    means, deviations, state = running_statistics(patches, observed, state)
    # The root has no gradient where a series has been constant.
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


def _patches_of_a_block(sizes):
    if sizes.output_length % sizes.patch_length:
        raise ValueError(
            f"patches of {sizes.patch_length} steps do not divide the {sizes.output_length} that "
            "are forecast at once: no longer forecast can go on from them."
        )
    return sizes.output_length // sizes.patch_length


def _counted(start, count, like):
    """Whole numbers from `start` on, an array that a graph takes in, of the dtype of a tensor."""
    return np.arange(start, start + count, dtype=keras.backend.standardize_dtype(like.dtype))


def divisor(deviation):
    """A deviation to divide by: 1 where it is next to nothing."""
    return ops.where(deviation < SMALLEST, ops.ones_like(deviation), deviation)


def beside(x, y):
    """Two tensors `(batch, time)` as one `(2 * batch, time)`, a row of each in turn."""
    return ops.reshape(ops.stack([x, y], axis=1), (-1, x.shape[-1]))


def unflipped(x):
    """The mean of the forecasts of a series and of the one beside it, which was upside down.

    Args:
        x: `(2 * batch, time, 1 + levels)`; the levels are symmetric, the mean comes first.
    """
    x = ops.reshape(x, (-1, 2, *x.shape[1:]))
    upright, flipped = x[:, 0], x[:, 1]
    flipped = ops.concatenate([flipped[..., :1], ops.flip(flipped[..., 1:], axis=-1)], axis=-1)
    return (upright - flipped) / 2


def uncrossed(x, median):
    """Channels that do not decrease, but for the first: from the median outwards each is moved."""
    channels = [x[..., i] for i in range(x.shape[-1])]
    for i in range(median - 1, 0, -1):
        channels[i] = ops.minimum(channels[i], channels[i + 1])
    for i in range(median + 1, len(channels)):
        channels[i] = ops.maximum(channels[i], channels[i - 1])
    return ops.stack(channels, axis=-1)
