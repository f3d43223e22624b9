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

    def draw(self, parameters, normals):
        """Return one draw for each element from normal numbers `(..., 1)`; all are tensors."""
        return parameters[..., 0] + parameters[..., 1] * normals[..., 0]

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


def probability(normal):
    """Return the probabilities of smaller standard normal numbers, strictly between 0 and 1."""
    return ops.clip(0.5 + 0.5 * ops.erf(normal / math.sqrt(2)), 1e-7, 1 - 1e-7)
