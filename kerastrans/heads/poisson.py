"""Head for the Poisson distribution of counts."""

import keras
import numpy as np
import scipy
from keras import ops

from kerastrans.heads.count_draws import poisson
from kerastrans.heads.counts import CountHead
from kerastrans.heads.negative_binomial import log_poisson
from kerastrans.utils.validation import check_positive_integers


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
    num_uniforms = 1

    def assemble(self, locations, spreads, rest, scale):
        """Return the mean, which is positive."""
        return self.positive_mean(locations, scale)

    def log_prob(self, parameters, targets):
        """Return the logarithm of the probability of `targets`, tensors `(...)` of whole numbers.

        Targets are not checked inside the graph, see `NegativeBinomialHead.log_prob`.
        """
        return log_poisson(parameters[..., 0], ops.maximum(targets, 0.0))

    def draw(self, parameters, uniform):
        """Return one draw for each element from uniform numbers `(..., 1)`; all are tensors."""
        return poisson(parameters[..., 0], uniform[..., 0])

    def sample(self, parameters, num_samples, seed=None):
        """Return draws `(num_samples, ...)`."""
        check_positive_integers(num_samples=num_samples)
        mean = np.asarray(parameters, "float64")[..., 0]
        drawn = np.random.default_rng(seed).poisson(mean, (num_samples, *mean.shape))
        return drawn.astype("float64")

    def cdf(self, parameters, values):
        """Return the probability of a value of at most `values` `(...)`."""
        return scipy.stats.poisson.cdf(values, np.asarray(parameters, "float64")[..., 0])

    def _inverse_cdf(self, parameters, probability):
        return scipy.stats.poisson.ppf(probability, np.asarray(parameters, "float64")[..., 0])
