"""Head for amounts that are zero or positive: a Poisson number of exponential amounts."""

import keras
import numpy as np
import scipy
from keras import ops

from kerastrans.heads.base import FLOOR
from kerastrans.heads.counts import GAMMA_NORMALS, CountHead, gamma, poisson

# Polynomials of Abramowitz, Stegun (1964), 9.8.3 and 9.8.4, for the Bessel function I1.
_SMALL = (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411)
_LARGE = (
    *(0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555),
    *(0.02282967, -0.02895312, 0.01787654, -0.00420059),
)
_EDGE = 3.75


@keras.saving.register_keras_serializable(package="kerastrans")
class TweedieHead(CountHead):
    """Tweedie distribution of power 1.5 for amounts that are often zero, such as sales or rain.

    An amount is the sum of a Poisson number of exponential amounts. The parameters are the mean and
    the rate, the mean of the Poisson number: an amount is 0 with probability exp(-rate), and its
    variance is `2 * mean ** 2 / rate` (the dispersion is `2 * sqrt(mean) / rate`). Counts are
    treated as amounts. The series must not be scaled. The point is the mean.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Source: Jorgensen (1987), "Exponential dispersion models"; Abramowitz, Stegun (1964) for the
    Bessel function of the density.

    Example:
        >>> head, parameters = TweedieHead(), np.array([[4.0, 0.5]])
        >>> head.cdf(parameters, np.array([0.0])).round(4)  # exp(-0.5)
        array([0.6065])
    """

    size = 2
    num_normals = GAMMA_NORMALS + 1
    is_discrete = False
    window_scale = "mean_nonzero"
    requirement = "values that are not negative"

    def assemble(self, locations, spreads, rest, scale):
        """Return the mean and the rate, both positive."""
        return ops.concatenate(
            [self.positive_mean(locations, scale), ops.softplus(rest) + FLOOR], axis=-1
        )

    def log_prob(self, parameters, targets):
        """Return the logarithm of the density of `targets` `(...)`, or of the probability of 0."""
        mean, rate = parameters[..., 0], parameters[..., 1]
        is_positive = targets > 0
        amounts = ops.where(is_positive, targets, ops.ones_like(targets)) * (rate / mean)
        # With amounts in units of their size, the density is that of the Bessel function.
        difference = ops.sqrt(rate) - ops.sqrt(amounts)
        bessel = _log_scaled_bessel(2 * ops.sqrt(rate * amounts))
        positive = bessel - ops.square(difference) + 0.5 * ops.log(rate / amounts)
        return ops.where(is_positive, positive + ops.log(rate / mean), -rate)

    def draw(self, parameters, normals):
        """Return one draw for each element from normal numbers `(..., 8)`; all are tensors."""
        mean, rate = parameters[..., 0], parameters[..., 1]
        number = poisson(rate, normals[..., 0])
        amount = mean / rate * gamma(ops.maximum(number, 1.0), normals[..., 1:])
        return ops.where(number > 0, amount, ops.zeros_like(amount))

    def cdf(self, parameters, values):
        """Return the probability of a value of at most `values` `(...)`."""
        mean, rate = np.moveaxis(np.asarray(parameters, "float64"), -1, 0)
        amounts = np.maximum(values, 0) * (rate / mean)
        # A non-central chi-square distribution without degrees of freedom, by its symmetry.
        probability = 1 - scipy.special.chndtr(2 * rate, 2, 2 * amounts)
        return np.where(np.asarray(values) >= 0, probability, 0.0)

    def _inverse_cdf(self, parameters, probability):
        """Return the inverse of `cdf` by bisection."""
        mean, rate = np.moveaxis(np.asarray(parameters, "float64"), -1, 0)
        shape = np.broadcast_shapes(np.shape(probability), mean.shape)
        low = np.zeros(shape)
        high = np.broadcast_to(mean + 40 * mean * (np.sqrt(2 / rate) + 1 / rate), shape).copy()
        for _ in range(60):
            middle = (low + high) / 2
            below = self.cdf(parameters, middle) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.where(probability <= np.exp(-rate), 0.0, (low + high) / 2)


def _log_scaled_bessel(x):
    """Return log(I1(x) exp(-x)) for positive `x`, with a relative error of I1 below 3e-7."""
    small = ops.minimum(x, _EDGE)
    t = ops.square(small / _EDGE)
    near = ops.log(small * _polynomial(_SMALL, t)) - small
    large = ops.maximum(x, _EDGE)
    far = ops.log(_polynomial(_LARGE, _EDGE / large)) - 0.5 * ops.log(large)
    return ops.where(x < _EDGE, near, far)


def _polynomial(coefficients, x):
    """Return a polynomial by Horner's rule; the first coefficient is the constant."""
    total = ops.zeros_like(x)
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total
