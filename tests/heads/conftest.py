"""Parameters of small forecasts, as heads make them of raw numbers."""

import dataclasses

import keras
import numpy as np
from keras import ops
from scipy import optimize, special, stats

from kerastrans import heads
from tests.conftest import to_numpy

COUNTS = [x for x in heads.names() if isinstance(heads.get(x), heads.CountHead)]
DISTRIBUTIONS = [x for x in heads.names() if x not in ("point", "quantiles")]  # have no density
STEPS = 5


def raw(size, seed=0, batch=4, channels=3):
    """Raw numbers `(batch, STEPS * size, channels)`."""
    shape = batch, STEPS * size, channels
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def parameters_of(head, seed=0):
    """Parameters `(4, STEPS, 3, size)`."""
    return to_numpy(head(raw(head.size, seed), prediction_length=STEPS))


def evaluate(function, *arrays):
    """A function of float32 tensors, on arrays."""
    return to_numpy(function(*(ops.convert_to_tensor(x, dtype="float32") for x in arrays)))


@dataclasses.dataclass(frozen=True)
class Mixture:
    """A mixture of normal distributions, read as SciPy's distributions are."""

    means: np.ndarray
    stds: np.ndarray
    weights: np.ndarray

    def mean(self):
        return (self.weights * self.means).sum(-1)

    def var(self):
        return (self.weights * (self.stds**2 + self.means**2)).sum(-1) - self.mean() ** 2

    def cdf(self, values):
        parts = stats.norm(self.means, self.stds).cdf(np.expand_dims(values, -1))
        return (self.weights * parts).sum(-1)

    def logpdf(self, values):
        parts = stats.norm(self.means, self.stds).logpdf(np.expand_dims(values, -1))
        return special.logsumexp(parts, axis=-1, b=self.weights)

    def ppf(self, level):
        low, high = (self.means - 40 * self.stds).min(), (self.means + 40 * self.stds).max()
        return optimize.brentq(lambda x: self.cdf(x) - level, low, high, xtol=1e-12)


class Discrete:
    """Mean, variance and quantiles of a distribution by its distribution function `cdf`."""

    def ppf(self, level):
        values, index = np.zeros(self.shape), 0
        for index in np.ndindex(*self.shape):
            part = self.part(index)
            high = 10.0
            while part.cdf(high) < level:
                high *= 2
            values[index] = self.search(part, level, high)
        return values[()]

    def median(self):
        return self.ppf(0.5)


@dataclasses.dataclass(frozen=True)
class Hurdle(Discrete):
    excess: np.ndarray
    alpha: np.ndarray
    positive: np.ndarray

    shape = property(lambda self: np.shape(self.excess))

    def part(self, index):
        return Hurdle(self.excess[index], self.alpha[index], self.positive[index])

    @property
    def size(self):
        return stats.nbinom(1 / self.alpha, 1 / (1 + self.alpha * self.excess), loc=1)

    def mean(self):
        return self.positive * self.size.mean()

    def var(self):
        return self.positive * (self.size.var() + self.size.mean() ** 2) - self.mean() ** 2

    def pmf(self, values):
        zero = 1 - self.positive
        return np.where(values == 0, zero, self.positive * self.size.pmf(values))

    def logpmf(self, values):
        return np.log(self.pmf(values))

    def cdf(self, values):
        below = 1 - self.positive + self.positive * self.size.cdf(values)
        return np.where(np.asarray(values) < 0, 0.0, below)

    def search(self, part, level, high):
        counts = np.arange(int(high) + 1)
        return counts[np.argmax(part.cdf(counts) >= level)]


@dataclasses.dataclass(frozen=True)
class CompoundPoisson(Discrete):
    """A Poisson number of exponential amounts, by the sum over the number."""

    average: np.ndarray
    rate: np.ndarray

    shape = property(lambda self: np.shape(self.average))

    def part(self, index):
        return CompoundPoisson(self.average[index], self.rate[index])

    def mean(self):
        return self.average

    def var(self):
        return 2 * self.average**2 / self.rate

    def _sum(self, function, values):
        rate, values = np.expand_dims(self.rate, -1), np.expand_dims(values, -1)
        most = int(self.rate.max() + 12 * np.sqrt(self.rate.max()) + 40)
        number = np.arange(1, most)
        unit = np.expand_dims(self.average, -1) / rate
        return (stats.poisson.pmf(number, rate) * function(values, number, scale=unit)).sum(-1)

    def logpdf(self, values):
        return np.where(values > 0, np.log(self._sum(stats.gamma.pdf, values)), -self.rate)

    def cdf(self, values):
        found = np.exp(-self.rate) + self._sum(stats.gamma.cdf, values)
        return np.where(np.asarray(values) < 0, 0.0, found)

    def search(self, part, level, high):
        if level <= np.exp(-part.rate):
            return 0.0
        return optimize.brentq(lambda x: part.cdf(x) - level, 0.0, high, xtol=1e-12)


def scipy_of(head, parameters):
    """The same distribution in SciPy, in float64."""
    p = np.moveaxis(np.asarray(parameters, "float64"), -1, 0)
    if isinstance(head, heads.NormalHead):
        return stats.norm(p[0], p[1])
    if isinstance(head, heads.StudentTHead):
        return stats.t(p[2], p[0], p[1])
    if isinstance(head, heads.MixtureHead):
        means, stds, log_weights = np.split(np.asarray(parameters, "float64"), 3, axis=-1)
        return Mixture(means, stds, np.exp(log_weights))
    if isinstance(head, heads.PoissonHead):
        return stats.poisson(p[0])
    if isinstance(head, heads.HurdleNegativeBinomialHead):
        return Hurdle(p[0], p[1], p[2])
    if isinstance(head, heads.TweedieHead):
        return CompoundPoisson(p[0], p[1])
    return stats.nbinom(1 / p[1], 1 / (1 + p[0] * p[1]))


def gradient(function, parameters, *arrays):
    """The gradient of a function of float32 tensors, one number a row, by the parameters."""
    tensors = [ops.convert_to_tensor(x, dtype="float32") for x in (parameters, *arrays)]
    if keras.backend.backend() == "jax":
        import jax

        return np.asarray(jax.grad(lambda *x: function(*x).sum())(*tensors))
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch(tensors[0])
            values = function(*tensors)
        return tape.gradient(values, tensors[0]).numpy()
    tensors[0].requires_grad_()
    function(*tensors).sum().backward()
    return to_numpy(tensors[0].grad)
