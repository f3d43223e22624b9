"""The way into a pretrained network and out of it: location and scale, patches, paths."""

import numpy as np
from keras import ops


def location_and_scale(history, smallest=1e-5):
    """Mean and standard deviation of the observed steps, each `(..., 1)`.

    Args:
        history: `(..., time)`, NaN where missing.
        smallest: float, the scale of a constant series. A series without any observed step has
            location 0 and scale 1.
    """
    observed = ops.logical_not(ops.isnan(history))
    count = ops.sum(ops.cast(observed, history.dtype), axis=-1, keepdims=True)
    divisor = ops.maximum(count, 1)
    location = ops.sum(ops.where(observed, history, 0.0), axis=-1, keepdims=True) / divisor
    squares = ops.where(observed, ops.square(history - location), 0.0)
    scale = ops.sqrt(ops.sum(squares, axis=-1, keepdims=True) / divisor)
    scale = ops.where(scale > 0, scale, smallest)
    return location, ops.where(count > 0, scale, 1.0)


def rescaled(scaled, location, scale):
    """Values `(batch, ..., n)` in the units of their series; location and scale `(batch, 1)`."""
    sizes = (-1,) + (1,) * (len(scaled.shape) - 1)
    # The location comes first: Keras 3.15 on TensorFlow takes a second summand (n, 1, 1) for a
    # bias of the last axis where that has n values too.
    return ops.reshape(location, sizes) + scaled * ops.reshape(scale, sizes)


def padded_to_patches(values, patch_length):
    """Steps `(..., time)` as `(..., patches, patch_length)`, filled up with zeros on the left."""
    missing = -values.shape[-1] % patch_length
    if missing:
        values = ops.pad(values, [(0, 0)] * (len(values.shape) - 1) + [(missing, 0)])
    sizes = [-1 if size is None else size for size in values.shape[:-1]]
    return ops.reshape(values, (*sizes, values.shape[-1] // patch_length, patch_length))


def empirical_quantiles(samples, levels):
    """Quantiles of samples on the last axis, `(..., len(levels))`, interpolated linearly."""
    places = np.asarray(levels) * (samples.shape[-1] - 1)
    low = np.floor(places).astype("int32")
    high = np.minimum(low + 1, samples.shape[-1] - 1)
    ordered = ops.sort(samples, axis=-1)
    below, above = ops.take(ordered, low, axis=-1), ops.take(ordered, high, axis=-1)
    return below + (above - below) * (places - low).astype(samples.dtype)
