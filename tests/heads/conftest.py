"""Parameters of small forecasts, as heads make them of raw numbers."""

import dataclasses

import keras
import numpy as np
from keras import ops
from scipy import optimize, special, stats

from kerastrans import heads
from tests.conftest import to_numpy

DISTRIBUTIONS = ["normal", "student_t", "negative_binomial", "mixture"]
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
