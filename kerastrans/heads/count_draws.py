"""Gamma and Poisson numbers out of uniform ones: a fixed number of steps, for compiled loops."""

import numpy as np
from keras import ops

from kerastrans.heads.normal import standard_normal

GAMMA_UNIFORMS = 7
FEW = 16  # rates below it are summed count by count
HIGHEST = 48  # of a rate of 16 one draw in ten billion is above it


def gamma(shape, uniform):
    """Gamma numbers of scale 1, for tensors `(...)` and uniform numbers in (0, 1), `(..., 7)`.

    Of three candidates the first that is accepted; where none is, the last: of one draw in 10,000
    at shapes near 0, of fewer elsewhere. A number of `shape + 1` is drawn and made smaller.

    Source: Marsaglia, Tsang (2000), "A simple method for generating gamma variables", sections 4
    and 6.

    Example:
        >>> uniform = np.full((2, GAMMA_UNIFORMS), 0.5, "float32")
        >>> [round(float(x), 3) for x in gamma(np.array([0.5, 100.0], "float32"), uniform)]
        [0.292, 99.971]
    """
    d = ops.expand_dims(shape, -1) + 2 / 3
    normal = standard_normal(uniform[..., :3])
    cube = ops.maximum(1 + normal / (3 * ops.sqrt(d)), 1e-9) ** 3
    limit = 0.5 * ops.square(normal) + d * (1 - cube + ops.log(cube))
    accepted = ops.log(uniform[..., 3:6]) < limit
    later = ops.where(accepted[..., 1], cube[..., 1], cube[..., 2])
    chosen = ops.where(accepted[..., 0], cube[..., 0], later)
    return d[..., 0] * chosen * ops.exp(ops.log(uniform[..., 6]) / shape)


def poisson(rate, uniform):
    """Poisson numbers of rates `(...)`, by inversion, for tensors of uniform numbers in (0, 1).

    Rates below 16 by the sum of the probabilities; others by the Cornish-Fisher expansion about
    the normal distribution: their distribution function is off by less than 2e-5.

    Source: Giles (2016), "Algorithm 955: approximation of the inverse Poisson cumulative
    distribution function".

    Example:
        >>> rates = np.array([0.1, 3.0, 1e6], "float32")
        >>> [float(x) for x in poisson(rates, np.full(3, 0.95, "float32"))]
        [1.0, 6.0, 1001645.0]
    """
    return ops.where(rate < FEW, _few(rate, uniform), _many(ops.maximum(rate, FEW), uniform))


def _few(rate, uniform):
    """How many counts have a distribution function below `uniform`."""
    counts = np.arange(HIGHEST)
    log_factorials = np.cumsum(np.log(np.maximum(counts, 1)))
    rate = ops.expand_dims(ops.clip(rate, 1e-30, FEW), -1)
    density = ops.exp(
        ops.cast(counts, rate.dtype) * ops.log(rate) - rate - ops.cast(log_factorials, rate.dtype)
    )
    below = ops.cumsum(density, axis=-1) < ops.expand_dims(uniform, -1)
    return ops.sum(ops.cast(below, rate.dtype), axis=-1)


def _many(rate, uniform):
    """Four terms in powers of the inverse square root of the rate, rounded down."""
    z, root = standard_normal(uniform), ops.sqrt(rate)
    square = ops.square(z)
    last = (-8 / 405 + square * (7 / 810 + square / 270)) / rate
    third = -z * (1 / 36 + square / 72) / root
    return ops.floor(rate + (z * root + ((2 + square) / 6 + third + last)))
