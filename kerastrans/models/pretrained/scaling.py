"""Inputs and outputs of pretrained networks: scales, patches and quantiles of samples."""

from statistics import NormalDist

import numpy as np
from keras import ops
from keras.backend import standardize_dtype

from kerastrans.models.pretrained.arrays import few_sizes


def arcsinh(x):
    """Compute `ops.arcsinh` to an absolute 1e-7 with operators that ONNX and LiteRT support."""
    size = ops.abs(x)
    largest = ops.maximum(size, 1)  # divided by it, no square can overflow
    root = largest * ops.sqrt(ops.square(1 / largest) + ops.square(size / largest))
    return ops.sign(x) * ops.log(size + root)


def sinh(x):
    """Compute `ops.sinh`, to an absolute 1e-7 near 0, with operators of ONNX and LiteRT."""
    return (ops.exp(x) - ops.exp(-x)) / 2


def place_of(levels, level):
    """Return the place of the quantile level that is nearest to a given one."""
    return int(np.argmin(np.abs(np.subtract(levels, level))))


def deviation_between(quantiles, levels, low, high):
    """Return the deviation of a normal distribution with two of the quantiles.

    Args:
        quantiles: Tensor `(..., len(levels))`.
        levels: Quantile levels.
        low: float, a level; the nearest one is used.
        high: float, a higher level, like `low`.
    """
    low, high = place_of(levels, low), place_of(levels, high)
    normal = NormalDist()
    distance = normal.inv_cdf(levels[high]) - normal.inv_cdf(levels[low])
    return (quantiles[..., high] - quantiles[..., low]) / distance


def first_observed(values, observed):
    """Return the first observed value of each row, `(..., 1)`.

    Less this value, a series that begins with equal values begins with exact zeros; less its mean,
    it would begin with rounding errors, which the small deviation of its first patches magnifies.

    Args:
        values: `(..., time)`.
        observed: Mask of the same shape, 1 for observed values and 0 elsewhere.
    """
    observed = ops.cast(observed, values.dtype)
    steps = np.arange(values.shape[-1], 0, -1)
    steps_left = ops.multiply(observed, steps.astype(standardize_dtype(values.dtype)))
    is_first = ops.equal(steps_left, ops.max(steps_left, axis=-1, keepdims=True))
    # ONNX and LiteRT have no operator for the index that `argmax` and `take_along_axis` need.
    return ops.sum(values * observed * ops.cast(is_first, values.dtype), axis=-1, keepdims=True)


def rescaled(scaled, location, scale):
    """Return values `(*rows, ...)` in the units of their series.

    Location and scale are `(*rows, 1)`.
    """
    for _ in range(len(scaled.shape) - len(location.shape)):
        location, scale = ops.expand_dims(location, -1), ops.expand_dims(scale, -1)
    # The location is the first summand: Keras 3.15 on TensorFlow takes a second summand (n, 1, 1)
    # for a bias of the last axis if that axis has n values too.
    return location + scaled * scale


def padded_to_patches(values, patch_length):
    """Reshape `(..., time)` to `(..., patches, patch_length)`, padded with zeros on the left."""
    missing = -values.shape[-1] % patch_length
    if missing:
        values = ops.pad(values, [(0, 0)] * (len(values.shape) - 1) + [(missing, 0)])
    sizes = [-1 if size is None else size for size in values.shape[:-1]]
    return ops.reshape(values, (*sizes, values.shape[-1] // patch_length, patch_length))


def few_patches(length, patch_length, max_context):
    """Return the padded length of a history, a multiple of the patch, see `arrays.few_sizes`."""
    max_patches = -(-max_context // patch_length)
    return min(few_sizes(-(-length // patch_length)), max_patches) * patch_length


def empirical_quantiles(samples, levels):
    """Return quantiles `(..., len(levels))` of samples on the last axis, interpolated linearly."""
    places = np.asarray(levels) * (samples.shape[-1] - 1)
    shares = (places % 1).astype(standardize_dtype(samples.dtype))
    low = np.floor(places).astype("int32")
    high = np.minimum(low + 1, samples.shape[-1] - 1)
    ordered = ops.sort(samples, axis=-1)
    below, above = ops.take(ordered, low, axis=-1), ops.take(ordered, high, axis=-1)
    return below + ops.multiply(above - below, shares)


def weighted_quantiles(samples, weights, levels):
    """Return quantiles `(..., len(levels))` of weighted samples on the last axis.

    They are interpolated linearly between the cumulated weights of the sorted samples, and constant
    below the first.

    Args:
        samples: `(..., num_samples)`.
        weights: NumPy array `(num_samples,)` of positive weights whose sum is 1.
        levels: Probabilities.
    """
    order = ops.argsort(samples, axis=-1)
    ordered = ops.take_along_axis(samples, order, axis=-1)
    weights = weights.astype(standardize_dtype(samples.dtype))
    reached = ops.cumsum(ops.take(weights, order), axis=-1)
    first, last = ordered[..., :1], ordered[..., -1:]
    quantiles = []
    for level in levels:
        below = reached <= level
        # Samples and cumulated weights increase along the axis, so the neighbours of a level are a
        # maximum and a minimum.
        low = ops.max(ops.where(below, ordered, first), axis=-1)
        high = ops.min(ops.where(below, last, ordered), axis=-1)
        start = ops.max(ops.where(below, reached, 0.0), axis=-1)
        end = ops.min(ops.where(below, 1.0, reached), axis=-1)
        quantiles.append(low + (high - low) * (level - start) / (end - start))
    return ops.stack(quantiles, axis=-1)
