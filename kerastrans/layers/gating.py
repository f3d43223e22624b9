"""Gates of a mixture of experts: noise in training, the choice of experts, and their balance."""

import math

import keras
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import check_at_most, check_non_negative, check_positive_integers

MIN_NOISE = 1e-2  # smallest standard deviation of the noise


def squared_variation(values):
    """Return the squared coefficient of variation of `(count,)`, a scalar; 0 if all are equal."""
    count = values.shape[0]
    mean = ops.mean(values)
    variance = ops.sum(ops.square(values - mean)) / max(count - 1, 1)
    return variance / (ops.square(mean) + 1e-10)


def choice_probabilities(logits, noisy, deviations, shares, k):
    """Return how probable it is that another draw of an expert's noise leaves it among the best k.

    Args:
        logits: `(..., experts)`, without noise.
        noisy: `(..., experts)`, with the noise that was drawn.
        deviations: `(..., experts)`, standard deviations of the noise.
        shares: `(..., experts)`, softmax of the mixed logits. As in DUET's code, logits are
            compared with the best of these shares; Shazeer et al. compare them with the best
            logits.
        k: int, number of chosen experts, less than all.

    Returns:
        `(..., experts)`: each expert's probability while the noise of the others stays as it is.

    Source: Shazeer et al. (2017), appendix A, equations 8 and 9.
    """
    best = ops.top_k(shares, k + 1)[0]
    last_chosen, first_other = best[..., k - 1 : k], best[..., k:]
    threshold = ops.where(noisy > first_other, first_other, last_chosen)
    return (1 + ops.erf((logits - threshold) / deviations / math.sqrt(2))) / 2


@serializable
class GateNoise(keras.layers.Layer):
    """Adds normal noise of a learnt width to the logits of a gate in training.

    Args:
        seed: int, seed of the noise; None draws a seed.

    Call arguments:
        logits: `(..., experts)`.
        scales: `(..., experts)`; their softplus is the standard deviation, plus 0.01.

    Returns:
        `(..., experts)`.

    Example:
        >>> from keras import ops
        >>> ops.shape(GateNoise()(ops.ones((4, 3)), ops.ones((4, 3)), training=True))
        (4, 3)

    Source: Shazeer et al. (2017), "Outrageously large neural networks", equation 4.
    """

    def __init__(self, seed=None, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.seed = draw_seed() if seed is None else seed
        self.seed_generator = keras.random.SeedGenerator(self.seed)

    def call(self, logits, scales, training=False):
        if not training:
            return logits
        return logits + self.draw(logits) * self.deviations(scales)

    def deviations(self, scales):
        """Return the standard deviations of the noise, in the shape of `scales`."""
        return ops.softplus(scales) + MIN_NOISE

    def draw(self, logits):
        """Return standard normal numbers in the shape of the logits."""
        return keras.random.normal(ops.shape(logits), dtype=logits.dtype, seed=self.seed_generator)

    def compute_output_shape(self, logits_shape, scales_shape):
        return logits_shape


@serializable
class TopKGate(keras.layers.Layer):
    """Weights of the best experts, which add up to 1; the others have weight 0.

    In training the logits get noise, and pass a learnt matrix. A loss keeps the experts in use: the
    squared coefficients of variation of their total weights and, if not all are chosen, of how many
    choices of each are expected.

    Args:
        k: int, number of experts with a weight.
        balance: float of at least 0, factor of the loss.
        seed: int, seed of the noise; None draws a seed.

    Call arguments:
        logits: `(batch, num_channels, experts)`.
        scales: `(batch, num_channels, experts)`, see `GateNoise`.

    Returns:
        `(batch, num_channels, experts)`.

    Raises:
        ValueError: If `k` is below 1, or greater than the number of experts.
        ValueError: If `balance` is negative.

    Example:
        >>> from keras import ops
        >>> logits = ops.convert_to_tensor([[[0.0, 1.0, 1.0]]])
        >>> ops.convert_to_numpy(TopKGate(k=2)(logits, logits)).round(3)[0, 0].tolist()
        [0.0, 0.5, 0.5]

    Source: Qiu et al. (2025), DUET, section 4.2, with the loss of Shazeer et al. (2017).
    """

    def __init__(self, k, balance=0.0, seed=None, **kwargs):
        check_positive_integers(k=k)
        check_non_negative(balance=balance)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.k = k
        self.balance = balance
        self.noise = GateNoise(seed, dtype=self.dtype_policy, name="noise")
        self.seed = self.noise.seed

    def build(self, logits_shape, scales_shape):
        experts = logits_shape[-1]
        check_at_most(k=self.k, number_of_experts=experts)
        self.mixing = self.add_weight(
            shape=(experts, experts), initializer="identity", name="mixing"
        )

    def call(self, logits, scales, training=False):
        noisy = self.noise(logits, scales, training=training)
        shares = ops.softmax(ops.matmul(noisy, self.mixing) if training else noisy)
        better = ops.cast(shares[..., None, :] > shares[..., :, None], shares.dtype)
        weights = ops.where(ops.sum(better, axis=-1) < self.k, shares, 0.0)
        weights = weights / (ops.sum(weights, axis=-1, keepdims=True) + 1e-6)
        if training and self.balance:
            loss = squared_variation(ops.sum(weights, axis=(0, 1)))
            if self.k < weights.shape[-1]:
                deviations = self.noise.deviations(scales)
                chosen = choice_probabilities(logits, noisy, deviations, shares, self.k)
                loss = loss + squared_variation(ops.sum(chosen, axis=(0, 1)))
            self.add_loss(self.balance * loss)
        return weights

    def compute_output_shape(self, logits_shape, scales_shape):
        return logits_shape
