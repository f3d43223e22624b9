"""Head for Student's t distribution, which has heavier tails than the normal distribution."""

import math

import keras
import scipy
from keras import ops

from kerastrans.heads.base import Head
from kerastrans.utils.backend import log_gamma


@keras.saving.register_keras_serializable(package="kerastrans")
class StudentTHead(Head):
    """Student's t distribution; parameters: location, scale, degrees of freedom (above 2).

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Source: Lange, Little, Taylor (1989), section 2; Bailey (1994) for the draws.

    Example:
        >>> import numpy as np
        >>> head = StudentTHead()
        >>> head.quantile(np.array([[10.0, 2.0, 4.0]]), [0.5, 0.975]).round(2)
        array([[10.  , 15.55]])
    """

    size = 3
    num_spreads = 1
    point_is_median = True

    def assemble(self, locations, spreads, rest, scale):
        """Return the parameters, with more than 2 degrees of freedom for a finite variance."""
        return ops.concatenate([locations, spreads, 2 + ops.softplus(rest)], axis=-1)

    def log_prob(self, parameters, targets):
        """Return the logarithm of the density of `targets`, tensors `(...)`."""
        location, scale, freedom = (parameters[..., i] for i in range(3))
        z = (targets - location) / scale
        normalizer = _log_gamma_step(freedom / 2) - 0.5 * ops.log(freedom * math.pi)
        exponent = (freedom + 1) / 2 * ops.log1p(ops.square(z) / freedom)
        return normalizer - ops.log(scale) - exponent

    def draw(self, parameters, uniform):
        """Return one draw for each element, from uniform numbers `(..., 2)`; all are tensors.

        Uses the polar method (Bailey, 1994).
        """
        location, scale, freedom = (parameters[..., i] for i in range(3))
        radius = ops.sqrt(freedom * ops.expm1(-2 / freedom * ops.log(uniform[..., 0])))
        return location + scale * radius * ops.cos(2 * math.pi * uniform[..., 1])

    def cdf(self, parameters, values):
        """Return the probability of a value of at most `values` `(...)`."""
        z = (values - parameters[..., 0]) / parameters[..., 1]
        return scipy.special.stdtr(parameters[..., 2], z)

    def _inverse_cdf(self, parameters, probability):
        z = scipy.special.stdtrit(parameters[..., 2], probability)
        return parameters[..., 0] + parameters[..., 1] * z


def _log_gamma_step(x):
    """Return the difference of log gamma at x + 1/2 and at x, for x of at least 1.

    From x = 10 on the asymptotic series is used (Tricomi, Erdelyi, 1951): in float32 the difference
    of two logarithms near 1e5 would be wrong in the second decimal.
    """
    series = 0.5 * ops.log(x) - 1 / (8 * x) + 1 / (192 * x * x * x)
    small = ops.minimum(x, 10.0)
    return ops.where(x < 10, log_gamma(small + 0.5) - log_gamma(small), series)
