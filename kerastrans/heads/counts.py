"""Heads for the distributions of counts, and their base class."""

import math

import keras
import numpy as np
import scipy
from keras import ops

from kerastrans.heads.base import FLOOR, Head
from kerastrans.heads.normal import probability
from kerastrans.utils.backend import log_gamma
from kerastrans.utils.validation import check_positive_integers

GAMMA_NORMALS = 7  # normal numbers per draw
_MIN_RATE_FOR_EXPANSION = 16  # smaller rates are inverted by summing the probabilities
_ROUNDING = 1e-7  # of probabilities: in float32, 1 - 0.9 is below 0.1
_NUM_COUNTS = 48  # counts summed; for a rate of 16, one draw in ten billion is larger


def gamma(shape, normals):
    """Return gamma draws of scale 1 for shape parameters `(...)` and normal numbers `(..., 7)`.

    The first accepted of three candidates is returned, or the last one if none is accepted, which
    happens for one draw in 10,000 at shapes near 0 and less often elsewhere. The candidates are
    drawn for `shape + 1` and then reduced.

    Source: Marsaglia, Tsang (2000), "A simple method for generating gamma variables", sections 4
    and 6.

    Example:
        >>> normals = np.zeros((2, GAMMA_NORMALS), "float32")
        >>> [round(float(x), 3) for x in gamma(np.array([0.5, 100.0], "float32"), normals)]
        [0.292, 99.971]
    """
    # Three candidates d * cube for the shape `shape + 1`, where d is that shape minus 1 / 3.
    d = ops.expand_dims(shape, -1) + 2 / 3
    normal, rest = normals[..., :3], ops.log(probability(normals[..., 3:]))
    cube = ops.maximum(1 + normal / (3 * ops.sqrt(d)), 1e-9) ** 3
    limit = 0.5 * ops.square(normal) + d * (1 - cube + ops.log(cube))
    accepted = rest[..., :3] < limit
    fallback = ops.where(accepted[..., 1], cube[..., 1], cube[..., 2])
    chosen = ops.where(accepted[..., 0], cube[..., 0], fallback)
    # A probability to the power of 1 / shape turns a draw for `shape + 1` into one for `shape`.
    return d[..., 0] * chosen * ops.exp(rest[..., 3] / shape)


def poisson(rate, normal):
    """Return Poisson draws for rates `(...)`, which increase with standard normal numbers `(...)`.

    Rates below 16 use the sum of the probabilities. Larger rates use the Cornish-Fisher expansion
    around the normal distribution, with an error of the distribution function below 2e-5.

    Source: Giles (2016), "Algorithm 955: approximation of the inverse Poisson cumulative
    distribution function".

    Example:
        >>> rates = np.array([0.1, 3.0, 1e6], "float32")
        >>> [float(x) for x in poisson(rates, np.full(3, 1.645, "float32"))]
        [1.0, 6.0, 1001645.0]
    """
    small = _invert_by_sum(rate, probability(normal))
    large = _invert_by_expansion(ops.maximum(rate, _MIN_RATE_FOR_EXPANSION), normal)
    return ops.where(rate < _MIN_RATE_FOR_EXPANSION, small, large)


def _invert_by_sum(rate, probability):
    """Return the number of counts whose distribution function is below a probability."""
    counts = np.arange(_NUM_COUNTS)
    log_factorials = np.cumsum(np.log(np.maximum(counts, 1)))
    rate = ops.expand_dims(ops.clip(rate, 1e-30, _MIN_RATE_FOR_EXPANSION), -1)
    density = ops.exp(
        ops.cast(counts, rate.dtype) * ops.log(rate) - rate - ops.cast(log_factorials, rate.dtype)
    )
    below = ops.cumsum(density, axis=-1) < ops.expand_dims(probability, -1)
    return ops.sum(ops.cast(below, rate.dtype), axis=-1)


def _invert_by_expansion(rate, z):
    """Return the Cornish-Fisher expansion in powers of 1 / sqrt(rate), rounded down."""
    root = ops.sqrt(rate)
    square = ops.square(z)
    last = (-8 / 405 + square * (7 / 810 + square / 270)) / rate
    third = -z * (1 / 36 + square / 72) / root
    return ops.floor(rate + (z * root + ((2 + square) / 6 + third + last)))


class CountHead(Head):
    """Base class of heads for counts; the first parameter is a mean.

    The series must not be scaled, because scaled counts are not counts. Models divide their windows
    by a mean instead, see `kerastrans.models.parts.normalized_window.open_window`. A subclass
    defines `assemble`, `log_prob`, `draw`, `cdf` and `_inverse_cdf`.

    Attributes:
        window_scale: str, scale that windows are divided by: "mean_abs", or "mean_nonzero", the
            mean of the values that are not zero.
        requirement: str, description of valid values, for messages.
    """

    takes_scaled_windows = False
    is_discrete = True
    lower_bound = 0.0
    window_scale = "mean_abs"
    requirement = "counts (0, 1, 2, ...)"

    def sample(self, parameters, num_samples, seed=None):
        """Return draws `(num_samples, ...)`, a hundred times as fast as by inversion."""
        check_positive_integers(num_samples=num_samples)
        shape = num_samples, *parameters.shape[:-1]
        normals = np.random.default_rng(seed).standard_normal((*shape, self.num_normals), "float32")
        each = np.broadcast_to(np.asarray(parameters, "float32"), (*shape, self.size))
        drawn = self.draw(ops.convert_to_tensor(each), ops.convert_to_tensor(normals))
        return ops.convert_to_numpy(drawn).astype("float64")

    def positive_mean(self, locations, scale):
        """Return the positive means of locations `(..., 1)`, linear if they are large."""
        return scale * ops.softplus(locations / scale) + FLOOR

    def dispersed_mean(self, locations, alpha, scale):
        """Return the means of negative binomial distributions, with a gradient that cannot vanish.

        The gradient of the likelihood is `(mean - count) / (mean * (1 + alpha * mean))`: with a
        large dispersion, a mean that is a hundred times too large costs next to nothing, and is
        not corrected. It is therefore increased to that of a Poisson distribution of the counts in
        units of the window, where it is smaller. The expected gradient is 0 at the same mean. A
        window of zeros has no unit: its gradient remains, or the means of others would follow it.

        Args:
            locations: Tensor `(..., 1)`, in the units of the history.
            alpha: Tensor `(..., 1)`, the dispersions.
            scale: Scale of the window.

        Source: Wedderburn (1974) for the quasi-likelihood; Seitzer et al. (2022), "On the pitfalls
        of heteroscedastic uncertainty estimation", for gradients that a large variance weakens.
        """
        mean = self.positive_mean(locations, scale)
        factor = ops.maximum((1 + alpha * mean) / scale, 1.0)
        factor = ops.stop_gradient(ops.where(ops.greater(scale, 1.0), factor, 1.0))
        constant = ops.stop_gradient(mean)
        return constant + factor * (mean - constant)

    def check_targets(self, values, names=None):
        """Raise ValueError for values that this head cannot forecast, see `Head.check_targets`.

        Raises:
            ValueError: If a value is negative, fractional or infinite.

        Example:
            >>> from kerastrans.heads import PoissonHead
            >>> PoissonHead().check_targets(np.array([[3.0], [np.nan], [2.5]]), ["shop"])
            Traceback (most recent call last):
            ...
            ValueError: a PoissonHead requires counts (0, 1, 2, ...): 'shop' has 2.5.
        """
        values = np.asarray(values, "float64")
        is_valid = (values >= 0) & (values < np.inf)
        if self.is_discrete:
            is_valid &= values == np.floor(values)
        invalid = np.argwhere(~(is_valid | np.isnan(values)))
        if len(invalid):
            place = tuple(invalid[0])
            name = "the series" if names is None else repr(str(names[place[-1]]))
            raise ValueError(
                f"a {type(self).__name__} requires {self.requirement}: {name} has "
                f"{float(values[place])!r}."
            )

    def rescale(self, parameters, center, scale):
        """Raise ValueError, because scaled counts are not counts.

        Raises:
            ValueError: Always.
        """
        raise ValueError("counts cannot be rescaled: train this head with scaler=None.")

    def shift(self, parameters, amount):
        """Return the parameters with the first one times exp(amount), which keeps it positive."""
        mean = parameters[..., :1] * ops.exp(ops.expand_dims(amount, -1))
        return ops.concatenate([mean, parameters[..., 1:]], axis=-1)


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
    num_normals = GAMMA_NORMALS + 1

    def assemble(self, locations, spreads, rest, scale):
        """Return the mean and the dispersion, both positive."""
        alpha = ops.softplus(rest) + FLOOR
        return ops.concatenate([self.dispersed_mean(locations, alpha, scale), alpha], axis=-1)

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

    def draw(self, parameters, normals):
        """Return one draw for each element from normal numbers `(..., 8)`; all are tensors.

        The draw is a Poisson number whose rate is a gamma number.
        """
        mean, alpha = parameters[..., 0], parameters[..., 1]
        rate = mean * alpha * gamma(1 / alpha, normals[..., 1:])
        return poisson(rate, normals[..., 0])

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


@keras.saving.register_keras_serializable(package="kerastrans")
class PoissonHead(CountHead):
    """Poisson distribution of counts; parameter: mean, which is the variance too.

    Most counts vary more than this: compare with `NegativeBinomialHead`. The series must not be
    scaled.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Source: Loader (2000), "Fast and accurate computation of binomial probabilities", for the
    likelihood.

    Example:
        >>> head = PoissonHead()
        >>> head.quantile(np.array([[3.0]]), [0.1, 0.5, 0.9])
        array([[1., 3., 5.]])
    """

    size = 1
    num_normals = 1

    def assemble(self, locations, spreads, rest, scale):
        """Return the mean, which is positive."""
        return self.positive_mean(locations, scale)

    def log_prob(self, parameters, targets):
        """Return the logarithm of the probability of `targets`, tensors `(...)` of whole numbers.

        Targets are not checked inside the graph, see `NegativeBinomialHead.log_prob`.
        """
        return log_poisson(parameters[..., 0], ops.maximum(targets, 0.0))

    def draw(self, parameters, normals):
        """Return one draw for each element from normal numbers `(..., 1)`; all are tensors."""
        return poisson(parameters[..., 0], normals[..., 0])

    def cdf(self, parameters, values):
        """Return the probability of a value of at most `values` `(...)`."""
        return scipy.stats.poisson.cdf(values, np.asarray(parameters, "float64")[..., 0])

    def _inverse_cdf(self, parameters, probability):
        return scipy.stats.poisson.ppf(probability, np.asarray(parameters, "float64")[..., 0])


@keras.saving.register_keras_serializable(package="kerastrans")
class HurdleNegativeBinomialHead(CountHead):
    """Hurdle distribution of counts that are often zero.

    A count is positive with some probability. A positive count is 1 plus a negative binomial
    number. The parameters are the mean of this number, its dispersion alpha, and the probability of
    a positive count. The series must not be scaled. The point is the mean. A history without a
    positive count trains only the probability, because it does not tell how large counts are.

    A negative binomial distribution describes such series badly: many zeros require a large
    dispersion, with which its likelihood hardly depends on the mean. If counts are 0 and, one time
    in ten, Poisson numbers of mean 900, forecasting a mean of 900 instead of 90 costs at least
    0.016 nats per step with it, and 0.41 with this distribution.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Source: Mullahy (1986) for hurdles; Snyder, Ord, Beaumont (2012), "Forecasting the intermittent
    demand for slow-moving inventories", for the shifted distribution of positive counts.

    Example:
        >>> head, parameters = HurdleNegativeBinomialHead(), np.array([[4.0, 0.5, 0.2]])
        >>> head.point(parameters), head.quantile(parameters, [0.5, 0.9])
        (array([1.]), array([[0., 4.]]))
    """

    size = 3
    num_normals = NegativeBinomialHead.num_normals + 1
    window_scale = "mean_nonzero"

    def assemble(self, locations, spreads, rest, scale):
        """Return the mean above 1 of positive counts, its dispersion, and their probability."""
        alpha = ops.softplus(rest[..., :1]) + FLOOR
        size = ops.concatenate([self.dispersed_mean(locations, alpha, scale), alpha], axis=-1)
        if not isinstance(scale, float):  # a window of zeros has no unit of positive counts
            size = ops.where(ops.greater(scale, 1.0), size, ops.stop_gradient(size))
        probability = FLOOR + (1 - 2 * FLOOR) * ops.sigmoid(rest[..., 1:])
        return ops.concatenate([size, probability], axis=-1)

    def log_prob(self, parameters, targets):
        """Return the logarithm of the probability of `targets`, tensors `(...)` of whole numbers.

        Targets are not checked inside the graph, see `NegativeBinomialHead.log_prob`.
        """
        probability = parameters[..., 2]
        size = NegativeBinomialHead().log_prob(parameters[..., :2], targets - 1)
        return ops.where(targets > 0, ops.log(probability) + size, ops.log1p(-probability))

    def draw(self, parameters, normals):
        """Return one draw for each element from normal numbers `(..., 9)`; all are tensors."""
        size = 1 + NegativeBinomialHead().draw(parameters[..., :2], normals[..., 1:])
        is_positive = probability(normals[..., 0]) > 1 - parameters[..., 2]
        return ops.where(is_positive, size, ops.zeros_like(size))

    def check_zeros(self, zeros):
        """Raise ValueError if no value of the training data is zero."""
        if not zeros:
            raise ValueError(
                f"a {type(self).__name__} requires series with zeros, got 0 zeros in the training "
                'data: use head="negative_binomial".'
            )

    def outputs(self, parameters):
        """Return the outputs of an exported model, a dict of tensors: mean and parameters."""
        parameters = ops.convert_to_tensor(parameters)
        return {"forecast": self.point(parameters), "parameters": parameters}

    def point(self, parameters):
        """Return the mean."""
        return parameters[..., 2] * (1 + parameters[..., 0])

    def cdf(self, parameters, values):
        """Return the probability of a value of at most `values` `(...)`."""
        probability = np.asarray(parameters, "float64")[..., 2]
        below = NegativeBinomialHead().cdf(parameters[..., :2], np.asarray(values) - 1)
        return np.where(np.asarray(values) >= 0, 1 - probability + probability * below, 0.0)

    def _inverse_cdf(self, parameters, level):
        zero = 1 - np.asarray(parameters, "float64")[..., 2]
        rest = np.clip((level - zero) / (1 - zero), 0, 1)
        size = 1 + NegativeBinomialHead()._inverse_cdf(parameters[..., :2], rest)
        return np.where(level <= zero + _ROUNDING, 0.0, size)
