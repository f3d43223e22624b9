"""A forecast that is a negative binomial distribution of counts."""

import math

import keras
import numpy as np
import scipy
from keras import ops

from kerastrans.heads.base import FLOOR, Head
from kerastrans.utils.backend import log_gamma


@keras.saving.register_keras_serializable(package="kerastrans")
class NegativeBinomialHead(Head):
    """Negative binomial distribution of counts; parameters: mean, dispersion alpha.

    The variance is `mean + alpha * mean ** 2`. The series must be given as they are, not scaled.
    The point is the mean, which for skewed counts is well above the median.

    Args:
        **kwargs: arguments of `keras.layers.Layer`.

    Source: Salinas et al. (2020), section 3.1; Loader (2000), "Fast and accurate computation of
    binomial probabilities", for the likelihood.

    Example:
        >>> import numpy as np
        >>> head, parameters = NegativeBinomialHead(), np.array([[3.0, 2.0]])
        >>> head.point(parameters), head.median(parameters)
        (array([3.]), array([1.]))
    """

    size = 2
    takes_scaled_windows = False
    lower_bound = 0.0

    def assemble(self, locations, spreads, rest, scale):
        """The parameters: a mean and a dispersion, both positive."""
        mean = scale * ops.softplus(locations / scale) + FLOOR
        return ops.concatenate([mean, ops.softplus(rest) + FLOOR], axis=-1)

    def log_prob(self, parameters, targets):
        """Logarithm of the probability of `targets`, whole numbers, tensors `(...)`.

        Loader's (2000) saddle-point form, whose terms stay small: the log-gamma functions of the
        textbook's formula cancel, and in float32 leave errors above 1 at counts of a million.
        """
        mean, alpha = parameters[..., 0], parameters[..., 1]
        count = 1 / alpha
        positive = ops.where(targets > 0, targets, ops.ones_like(targets))
        total = count + positive
        deviance = count * _log_ratio(count + mean, total, mean - positive)
        deviance = deviance + positive * _log_ratio(
            positive * (count + mean), mean * total, count * (positive - mean)
        )
        correction = _stirling_error(total) - _stirling_error(count) - _stirling_error(positive)
        factor = 0.5 * ops.log(count / (2 * math.pi * positive * total))
        at_zero = -count * ops.log1p(alpha * mean)
        return ops.where(targets > 0, correction - deviance + factor, at_zero)

    def draw(self, parameters, uniform):
        """One draw, tensors: from uniform numbers `(..., 2)`.

        The cumulated probabilities of 256 counts are searched, from 0 to 12 standard deviations
        above the mean: every count where these are fewer, evenly spaced ones otherwise.
        """
        mean, alpha = parameters[..., 0], parameters[..., 1]
        highest = mean + 12 * ops.sqrt(mean + alpha * ops.square(mean))
        stride = ops.maximum(1.0, ops.ceil(highest / 256))
        counts = ops.arange(256, dtype=mean.dtype) * stride[..., None]
        density = ops.exp(self.log_prob(parameters[..., None, :], counts))
        cumulated = ops.cumsum(density, axis=-1)
        below = cumulated < uniform[..., :1] * cumulated[..., -1:]
        return ops.sum(ops.cast(below, mean.dtype), axis=-1) * stride

    def rescale(self, parameters, center, scale):
        """Refused: scaled counts are no counts.

        Raises:
            ValueError: always.
        """
        raise ValueError("counts are forecast as they are: train this head with scaler=None.")

    def shift(self, parameters, amount):
        """The mean stays positive: it is multiplied by exp(amount)."""
        mean = parameters[..., :1] * ops.exp(ops.expand_dims(amount, -1))
        return ops.concatenate([mean, parameters[..., 1:]], axis=-1)

    def cdf(self, parameters, values):
        """Probability of at most `values` `(...)`."""
        return scipy.stats.nbinom.cdf(values, *_count_and_probability(parameters))

    def _inverse_cdf(self, parameters, probability):
        return scipy.stats.nbinom.ppf(probability, *_count_and_probability(parameters))


def _count_and_probability(parameters):
    """The parameters of SciPy's negative binomial distribution."""
    mean, alpha = np.asarray(parameters[..., 0], "float64"), parameters[..., 1]
    return 1 / alpha, 1 / (1 + alpha * mean)


def _log_ratio(numerator, denominator, difference):
    """log(numerator / denominator); their difference keeps it precise where they are close."""
    relative = difference / denominator
    near = ops.log1p(ops.clip(relative, -0.5, 0.5))
    return ops.where(ops.abs(relative) < 0.5, near, ops.log(numerator / denominator))


def _stirling_error(x):
    """What Stirling's formula for log(x!) lacks; from 8 on by its series (Loader, 2000)."""
    small, large = ops.minimum(x, 8.0), ops.maximum(x, 8.0)
    stirling = (small + 0.5) * ops.log(small) - small + 0.5 * math.log(2 * math.pi)
    squared = large * large
    series = (1 / 12 - (1 / 360 - 1 / (1260 * squared)) / squared) / large
    return ops.where(x < 8, log_gamma(small + 1) - stirling, series)
