"""Head for counts that are often zero: a probability of demand, and its size."""

import keras
import numpy as np
from keras import ops

from kerastrans.heads.base import FLOOR
from kerastrans.heads.counts import CountHead
from kerastrans.heads.negative_binomial import NegativeBinomialHead
from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class HurdleNegativeBinomialHead(CountHead):
    """Hurdle distribution of counts that are often zero.

    A count is positive with some probability. A positive count is 1 plus a negative binomial
    number. The parameters are the mean of this number, its dispersion alpha, and the probability of
    a positive count. The series must not be scaled. The point is the mean.

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
    num_uniforms = NegativeBinomialHead.num_uniforms + 1
    window_scale = "mean_nonzero"

    def assemble(self, locations, spreads, rest, scale):
        """Return the mean above 1 of positive counts, its dispersion, and their probability."""
        mean = self.positive_mean(locations, scale)
        alpha = ops.softplus(rest[..., :1]) + FLOOR
        probability = FLOOR + (1 - 2 * FLOOR) * ops.sigmoid(rest[..., 1:])
        return ops.concatenate([mean, alpha, probability], axis=-1)

    def log_prob(self, parameters, targets):
        """Return the logarithm of the probability of `targets`, tensors `(...)` of whole numbers.

        Targets are not checked inside the graph, see `NegativeBinomialHead.log_prob`.
        """
        probability = parameters[..., 2]
        size = NegativeBinomialHead().log_prob(parameters[..., :2], targets - 1)
        return ops.where(targets > 0, ops.log(probability) + size, ops.log1p(-probability))

    def draw(self, parameters, uniform):
        """Return one draw for each element from uniform numbers `(..., 9)`; all are tensors."""
        size = 1 + NegativeBinomialHead().draw(parameters[..., :2], uniform[..., 1:])
        return ops.where(uniform[..., 0] < parameters[..., 2], size, ops.zeros_like(size))

    def sample(self, parameters, num_samples, seed=None):
        """Return draws `(num_samples, ...)`."""
        check_positive_integers(num_samples=num_samples)
        random = np.random.default_rng(seed)
        size = 1 + NegativeBinomialHead().sample(parameters[..., :2], num_samples, random)
        return np.where(random.uniform(size=size.shape) < parameters[..., 2], size, 0.0)

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
        return np.where(level <= zero, 0.0, size)
