"""Head for the normal distribution."""

import math

import keras
import scipy
from keras import ops

from kerastrans.heads.base import Head


@keras.saving.register_keras_serializable(package="kerastrans")
class NormalHead(Head):
    """Normal distribution; parameters: mean, standard deviation.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Source: Gneiting, Raftery (2007), equation 21 for the CRPS.

    Example:
        >>> import numpy as np
        >>> head = NormalHead()
        >>> head.quantile(np.array([[10.0, 2.0]]), [0.5, 0.975]).round(2)
        array([[10.  , 13.92]])
    """

    size = 2
    num_spreads = 1
    point_is_median = True

    def log_prob(self, parameters, targets):
        """Return the logarithm of the density of `targets`, tensors `(...)`."""
        return normal_log_density(targets, parameters[..., 0], parameters[..., 1])

    def crps(self, parameters, targets):
        """Return the continuous ranked probability score (Gneiting, Raftery, 2007, eq. 21)."""
        mean, std = parameters[..., 0], parameters[..., 1]
        z = (targets - mean) / std
        return std * (
            z * ops.erf(z / math.sqrt(2)) + 2 * standard_density(z) - 1 / math.sqrt(math.pi)
        )

    def draw(self, parameters, uniform):
        """Return one draw for each element, from uniform numbers `(..., 2)`; all are tensors."""
        return parameters[..., 0] + parameters[..., 1] * standard_normal(uniform[..., 0])

    def cdf(self, parameters, values):
        """Return the probability of a value of at most `values` `(...)`."""
        return scipy.special.ndtr((values - parameters[..., 0]) / parameters[..., 1])

    def _inverse_cdf(self, parameters, probability):
        return parameters[..., 0] + parameters[..., 1] * scipy.special.ndtri(probability)


def normal_log_density(x, mean, std):
    """Return the logarithm of the density of a normal distribution at `x`."""
    return -0.5 * ops.square((x - mean) / std) - ops.log(std) - math.log(2 * math.pi) / 2


def standard_density(z):
    """Return the density of the standard normal distribution."""
    return ops.exp(-0.5 * ops.square(z)) / math.sqrt(2 * math.pi)


# Coefficients of the inverse error function divided by its argument, the highest power first.
_CENTRAL = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
_TAIL = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)


def standard_normal(uniform):
    """Return standard normal numbers for uniform numbers in (0, 1).

    The error is at most a few units of float32; ONNX and LiteRT have no inverse error function.

    Source: Giles (2010), "Approximating the erfinv function", table 5.
    """
    w = -ops.log(4 * uniform * (1 - uniform))
    near, far = w - 2.5, ops.sqrt(ops.maximum(w, 0)) - 3
    powers = [ops.full_like(uniform, x) for x in (_CENTRAL[0], _TAIL[0])]
    for central, tail in zip(_CENTRAL[1:], _TAIL[1:], strict=True):
        powers = [powers[0] * near + central, powers[1] * far + tail]
    return math.sqrt(2) * ops.where(w < 5, *powers) * (2 * uniform - 1)
