"""Head for mixtures of normal distributions, which can be skewed or have several peaks."""

import math

import numpy as np
import scipy
from keras import ops

from kerastrans.heads.base import Head
from kerastrans.heads.normal import normal_log_density, probability, standard_density
from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_positive_integers


@serializable
class MixtureHead(Head):
    """Mixture of normal distributions; parameters: means, standard deviations, log-weights.

    The point is the mean, which may be between two peaks.

    Args:
        components: int, number of normal distributions in the mixture.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If `components` is below 1.

    Source: Bishop (1994), "Mixture density networks"; Grimit et al. (2006), equation 5, for the
    CRPS.

    Example:
        >>> import numpy as np
        >>> head = MixtureHead(2)
        >>> weights = np.log([0.25, 0.75])
        >>> head.point(np.array([0.0, 8.0, 1.0, 1.0, *weights]))
        np.float64(6.0)
    """

    num_normals = 2

    def __init__(self, components=3, **kwargs):
        check_positive_integers(components=components)
        super().__init__(**kwargs)
        self.components = self.num_locations = self.num_spreads = components
        self.size = 3 * components

    def assemble(self, locations, spreads, rest, scale):
        """Return the parameters, with initial means that differ between the components.

        Components with equal means would receive equal gradients and stay identical.
        """
        offsets = np.linspace(-1, 1, self.components) if self.components > 1 else [0.0]
        locations = locations + ops.cast(offsets, locations.dtype) * scale
        log_weights = rest - ops.logsumexp(rest, axis=-1, keepdims=True)
        return ops.concatenate([locations, spreads, log_weights], axis=-1)

    def _split_parameters(self, parameters):
        """Return means, standard deviations and log-weights, each `(..., components)`."""
        k = self.components
        return parameters[..., :k], parameters[..., k : 2 * k], parameters[..., 2 * k :]

    def log_prob(self, parameters, targets):
        """Return the logarithm of the density of `targets`, tensors `(...)`."""
        means, stds, log_weights = self._split_parameters(parameters)
        log_densities = normal_log_density(ops.expand_dims(targets, -1), means, stds)
        return ops.logsumexp(log_weights + log_densities, axis=-1)

    def crps(self, parameters, targets):
        """Return the continuous ranked probability score (Grimit et al., 2006, equation 5)."""
        means, stds, log_weights = self._split_parameters(parameters)
        weights = ops.exp(log_weights)

        def expected_distance(mean, std):
            """Return E|X| of a normal distribution."""
            z = mean / std
            return std * 2 * standard_density(z) + mean * ops.erf(z / math.sqrt(2))

        # CRPS = E|X - y| - E|X - X'| / 2, where X and X' are independent draws of the mixture.
        to_target = expected_distance(ops.expand_dims(targets, -1) - means, stds)
        between = expected_distance(
            ops.expand_dims(means, -1) - ops.expand_dims(means, -2),
            ops.sqrt(ops.square(ops.expand_dims(stds, -1)) + ops.square(ops.expand_dims(stds, -2))),
        )
        pairs = ops.expand_dims(weights, -1) * ops.expand_dims(weights, -2)
        between_draws = ops.sum(pairs * between, axis=(-2, -1))
        return ops.sum(weights * to_target, axis=-1) - 0.5 * between_draws

    def draw(self, parameters, normals):
        """Return one draw for each element from normal numbers `(..., 2)`; all are tensors."""
        parts = self._split_parameters(parameters)
        order = ops.argsort(parts[0], axis=-1)  # draws increase with both numbers
        means, stds, log_weights = (ops.take_along_axis(x, order, axis=-1) for x in parts)
        # The second number chooses the component by its cumulative weight, the first draws from it.
        total = ops.cumsum(ops.exp(log_weights), axis=-1)[..., :-1]
        above = total < probability(normals[..., 1:])
        chosen = ops.one_hot(ops.sum(ops.cast(above, "int32"), axis=-1), self.components)
        draws = means + stds * normals[..., :1]
        return ops.sum(ops.cast(chosen, draws.dtype) * draws, axis=-1)

    def outputs(self, parameters):
        """Return the outputs of an exported model, a dict of tensors: mean and parameters."""
        parameters = ops.convert_to_tensor(parameters)
        means, _, log_weights = self._split_parameters(parameters)
        first = means[..., 0]
        mean = first + ops.sum(ops.exp(log_weights) * (means - first[..., None]), axis=-1)
        return {"forecast": mean, "parameters": parameters}

    def point(self, parameters):
        """Return the mean."""
        means, _, log_weights = self._split_parameters(parameters)
        # Relative to one of the means, rounded weights whose sum is not quite 1 cost no precision.
        first = means[..., 0]
        return first + (np.exp(log_weights) * (means - first[..., None])).sum(axis=-1)

    def cdf(self, parameters, values):
        """Return the probability of a value of at most `values` `(...)`."""
        means, stds, log_weights = self._split_parameters(parameters)
        probabilities = scipy.special.ndtr((np.asarray(values)[..., None] - means) / stds)
        return (np.exp(log_weights) * probabilities).sum(axis=-1)

    def mean_below(self, parameters, bound):
        """Return the mean distance below a bound `(...)`, 0 for values above it."""
        means, stds, log_weights = self._split_parameters(parameters)
        z = (bound[..., None] - means) / stds
        distance = z * scipy.special.ndtr(z) + np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
        return (np.exp(log_weights) * stds * distance).sum(axis=-1)

    def _inverse_cdf(self, parameters, probability):
        """Return the inverse of `cdf` by bisection, since it has no closed form."""
        means, stds, _ = self._split_parameters(np.asarray(parameters, "float64"))
        shape = np.broadcast_shapes(np.shape(probability), means.shape[:-1])
        reach = 40 * stds
        low = np.broadcast_to((means - reach).min(axis=-1), shape).copy()
        high = np.broadcast_to((means + reach).max(axis=-1), shape).copy()
        for _ in range(60):
            middle = (low + high) / 2
            below = self.cdf(parameters, middle) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2
