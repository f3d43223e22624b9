"""Head for the negative binomial distribution of counts."""

import math

import keras
import numpy as np
import scipy
from keras import ops

from kerastrans.heads.base import FLOOR
from kerastrans.heads.count_draws import GAMMA_UNIFORMS, gamma, poisson
from kerastrans.heads.counts import CountHead
from kerastrans.utils.backend import log_gamma
from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class NegativeBinomialHead(CountHead):
    """Negative binomial distribution of counts; parameters: mean, dispersion alpha.

    The variance is `mean + alpha * mean ** 2`. The series must not be scaled. The point is the
    mean, which is well above the median of skewed counts. If most counts are 0 and others large,
    see `HurdleNegativeBinomialHead`.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Source: Salinas et al. (2020), section 3.1; Loader (2000), "Fast and accurate computation of
    binomial probabilities", for the likelihood.

    Example:
        >>> import numpy as np
        >>> head, parameters = NegativeBinomialHead(), np.array([[3.0, 2.0]])
        >>> head.point(parameters), head.median(parameters)
        (array([3.]), array([1.]))
    """

    size = 2
    num_uniforms = GAMMA_UNIFORMS + 1

    def assemble(self, locations, spreads, rest, scale):
        """Return the mean and the dispersion, both positive."""
        mean = self.positive_mean(locations, scale)
        return ops.concatenate([mean, ops.softplus(rest) + FLOOR], axis=-1)

    def log_prob(self, parameters, targets):
        """Return the logarithm of the probability of `targets`, tensors `(...)` of whole numbers.

        Loader's (2000) saddle-point form has only small terms. In the textbook formula large
        log-gamma values cancel, which in float32 leaves errors above 1 at counts of a million.

        Targets are not checked inside the graph: negative targets are treated as 0, and the gamma
        function interpolates between whole numbers. `check_targets` refuses both.
        """
        mean, alpha = parameters[..., 0], parameters[..., 1]
        counts, size = ops.maximum(targets, 0.0), 1 / alpha
        ratio = (1 + alpha * counts) / (1 + alpha * mean)
        difference = (counts - mean) / (1 + alpha * mean)
        deviance = _deviance(counts, mean * ratio, difference)
        deviance = deviance + _deviance(size, size * ratio, -difference)
        correction = _stirling_error(size + counts) - _stirling_error(size)
        correction = correction - 0.5 * ops.log1p(alpha * counts)
        return correction - deviance - _log_factor(counts)

    def draw(self, parameters, uniform):
        """Return one draw for each element from uniform numbers `(..., 8)`; all are tensors.

        The draw is a Poisson number whose rate is a gamma number.
        """
        mean, alpha = parameters[..., 0], parameters[..., 1]
        rate = mean * alpha * gamma(1 / alpha, uniform[..., 1:])
        return poisson(rate, uniform[..., 0])

    def sample(self, parameters, num_samples, seed=None):
        """Return draws `(num_samples, ...)`, a hundred times as fast as by inversion."""
        check_positive_integers(num_samples=num_samples)
        mean, alpha = np.moveaxis(np.asarray(parameters, "float64"), -1, 0)
        random = np.random.default_rng(seed)
        rates = random.gamma(1 / alpha, alpha * mean, (num_samples, *mean.shape))
        return random.poisson(rates).astype("float64")

    def cdf(self, parameters, values):
        """Return the probability of a value of at most `values` `(...)`."""
        return scipy.stats.nbinom.cdf(values, *_count_and_probability(parameters))

    def _inverse_cdf(self, parameters, probability):
        return scipy.stats.nbinom.ppf(probability, *_count_and_probability(parameters))


def log_poisson(mean, counts):
    """Return the logarithm of Poisson probabilities of whole numbers, tensors `(...)`."""
    return -_deviance(counts, mean, counts - mean) - _log_factor(counts)


def _log_factor(counts):
    """Return the logarithm of counts! / (counts / e)^counts, 0 for a count of 0."""
    is_positive = counts > 0
    positive = ops.where(is_positive, counts, ops.ones_like(counts))
    factor = _stirling_error(positive) + 0.5 * ops.log(2 * math.pi * positive)
    return ops.where(is_positive, factor, ops.zeros_like(factor))


def _count_and_probability(parameters):
    """Return the parameters of SciPy's negative binomial distribution."""
    mean, alpha = np.moveaxis(np.asarray(parameters, "float64"), -1, 0)
    return 1 / alpha, 1 / (1 + alpha * mean)


def _deviance(x, mean, difference):
    """Return Loader's deviance, `x log(x / mean) - difference`, accurate if x is near the mean.

    The argument `difference` is `x - mean`, computed more accurately than by subtraction.
    """
    # Near the mean a series in v avoids the cancellation of the two terms.
    relative = difference / (x + mean)
    v = ops.clip(relative, -0.1, 0.1)
    square = ops.square(v)
    series = 1 / 3 + square * (1 / 5 + square * (1 / 7 + square / 9))
    near = difference * v + 2 * x * v * square * series
    far = x * ops.log(ops.maximum(x / mean, 1e-30)) - difference
    return ops.where(ops.abs(relative) < 0.1, near, far)


def _stirling_error(x):
    """Return log(x!) minus Stirling's formula, from a series if x is at least 8 (Loader, 2000)."""
    small, large = ops.minimum(x, 8.0), ops.maximum(x, 8.0)
    stirling = (small + 0.5) * ops.log(small) - small + 0.5 * math.log(2 * math.pi)
    squared = large * large
    series = (1 / 12 - (1 / 360 - 1 / (1260 * squared)) / squared) / large
    return ops.where(x < 8, log_gamma(small + 1) - stirling, series)
