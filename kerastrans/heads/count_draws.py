"""Gamma and Poisson draws from uniform numbers, in a fixed number of steps for compiled loops."""

import numpy as np
from keras import ops

from kerastrans.heads.normal import standard_normal

GAMMA_UNIFORMS = 7  # uniform numbers per draw
_MIN_RATE_FOR_EXPANSION = 16  # smaller rates are inverted by summing the probabilities
_NUM_COUNTS = 48  # counts summed; for a rate of 16, one draw in ten billion is larger


def gamma(shape, uniform):
    """Return gamma draws of scale 1 for shape parameters `(...)` and uniform numbers `(..., 7)`.

    The first accepted of three candidates is returned, or the last one if none is accepted, which
    happens for one draw in 10,000 at shapes near 0 and less often elsewhere. The candidates are
    drawn for `shape + 1` and then reduced.

    Source: Marsaglia, Tsang (2000), "A simple method for generating gamma variables", sections 4
    and 6.

    Example:
        >>> uniform = np.full((2, GAMMA_UNIFORMS), 0.5, "float32")
        >>> [round(float(x), 3) for x in gamma(np.array([0.5, 100.0], "float32"), uniform)]
        [0.292, 99.971]
    """
    # Three candidates d * cube for the shape `shape + 1`, where d is that shape minus 1 / 3.
    d = ops.expand_dims(shape, -1) + 2 / 3
    normal = standard_normal(uniform[..., :3])
    cube = ops.maximum(1 + normal / (3 * ops.sqrt(d)), 1e-9) ** 3
    limit = 0.5 * ops.square(normal) + d * (1 - cube + ops.log(cube))
    accepted = ops.log(uniform[..., 3:6]) < limit
    fallback = ops.where(accepted[..., 1], cube[..., 1], cube[..., 2])
    chosen = ops.where(accepted[..., 0], cube[..., 0], fallback)
    # A uniform number to the power of 1 / shape turns a draw for `shape + 1` into one for `shape`.
    return d[..., 0] * chosen * ops.exp(ops.log(uniform[..., 6]) / shape)


def poisson(rate, uniform):
    """Return Poisson draws for rates `(...)`, by inversion of uniform numbers in (0, 1).

    Rates below 16 use the sum of the probabilities. Larger rates use the Cornish-Fisher expansion
    around the normal distribution, with an error of the distribution function below 2e-5.

    Source: Giles (2016), "Algorithm 955: approximation of the inverse Poisson cumulative
    distribution function".

    Example:
        >>> rates = np.array([0.1, 3.0, 1e6], "float32")
        >>> [float(x) for x in poisson(rates, np.full(3, 0.95, "float32"))]
        [1.0, 6.0, 1001645.0]
    """
    small = _invert_by_sum(rate, uniform)
    large = _invert_by_expansion(ops.maximum(rate, _MIN_RATE_FOR_EXPANSION), uniform)
    return ops.where(rate < _MIN_RATE_FOR_EXPANSION, small, large)


def _invert_by_sum(rate, uniform):
    """Return the number of counts whose distribution function is below `uniform`."""
    counts = np.arange(_NUM_COUNTS)
    log_factorials = np.cumsum(np.log(np.maximum(counts, 1)))
    rate = ops.expand_dims(ops.clip(rate, 1e-30, _MIN_RATE_FOR_EXPANSION), -1)
    density = ops.exp(
        ops.cast(counts, rate.dtype) * ops.log(rate) - rate - ops.cast(log_factorials, rate.dtype)
    )
    below = ops.cumsum(density, axis=-1) < ops.expand_dims(uniform, -1)
    return ops.sum(ops.cast(below, rate.dtype), axis=-1)


def _invert_by_expansion(rate, uniform):
    """Return the Cornish-Fisher expansion in powers of 1 / sqrt(rate), rounded down."""
    z, root = standard_normal(uniform), ops.sqrt(rate)
    square = ops.square(z)
    last = (-8 / 405 + square * (7 / 810 + square / 270)) / rate
    third = -z * (1 / 36 + square / 72) / root
    return ops.floor(rate + (z * root + ((2 + square) / 6 + third + last)))
