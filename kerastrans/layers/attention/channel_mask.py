"""A mask of channels from the distance of their spectra, and the attention that it hides."""

import math

import keras
from keras import ops

from kerastrans.layers.attention.projected_attention import ProjectedAttention
from kerastrans.layers.frequency.fourier import rfft
from kerastrans.utils.precision import full_precision
from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import check_choice

MAX_PROBABILITY = 0.99
HIDDEN = -math.log(1e10)  # a hidden score, before it is divided by the root of the heads' width


@keras.saving.register_keras_serializable(package="kerastrans")
class ChannelMask(keras.layers.Layer):
    """Mask of the channels that a channel attends to: those with a similar spectrum.

    The probability that a channel attends to another falls with their distance in a learnt metric
    of amplitude spectra, in units of the smallest distance of the channel. In training the mask is
    drawn with these probabilities, and its gradient is that of a smooth mask. Otherwise a channel
    attends to all whose probability exceeds 0.5.

    Args:
        draw_always: bool, whether the mask is drawn outside of training too; the forecast is
            random then.
        seed: int, seed of the draws; None draws a seed.

    Call arguments:
        inputs: `(batch, num_channels, time)`.

    Returns:
        `(batch, num_channels, num_channels)`, 1 = may be attended to, otherwise 0.

    Example:
        >>> from keras import ops
        >>> series = ops.reshape(ops.sin(ops.arange(24.0)), (1, 1, 24))
        >>> mask = ChannelMask()(ops.concatenate([series, 1.1 * series, 9 * series], axis=1))
        >>> ops.convert_to_numpy(mask)[0].tolist()
        [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]

    Source: Qiu et al. (2025), DUET, section 4.3; Jang et al. (2017), "Categorical
    reparameterization with Gumbel-softmax".
    """

    def __init__(self, draw_always=False, seed=None, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.draw_always = draw_always
        self.seed = draw_seed() if seed is None else seed
        self.seed_generator = keras.random.SeedGenerator(self.seed)

    def build(self, inputs_shape):
        frequencies = inputs_shape[-1] // 2 + 1
        self.metric = self.add_weight(
            shape=(frequencies, frequencies),
            initializer=keras.initializers.RandomNormal(stddev=1.0),
            name="metric",
        )

    def call(self, inputs, training=False):
        probabilities = MAX_PROBABILITY * self._similarities(inputs)
        # No `log1p`, which cannot be exported to ONNX.
        logits = ops.log(probabilities) - ops.log(1 - probabilities)
        if not (training or self.draw_always):
            return ops.cast(logits > 0, logits.dtype)
        scores = 2 * logits + self.draw(logits)  # a choice between `logits` and `-logits`
        smooth = ops.sigmoid(scores)
        return ops.cast(scores > 0, logits.dtype) - ops.stop_gradient(smooth) + smooth

    def _similarities(self, inputs):
        """Return inverse distances in units of the largest one of a channel, 1 to itself."""
        real, imaginary = rfft(inputs)
        # A bin without energy, such as the phase of a constant, has a root without gradient.
        amplitudes = ops.sqrt(ops.square(real) + ops.square(imaginary) + 1e-12)
        x = ops.matmul(amplitudes, ops.transpose(self.metric))
        x = x - ops.mean(x, axis=1, keepdims=True)  # so that large amplitudes do not cancel
        squares = ops.sum(ops.square(x), axis=-1)
        products = ops.matmul(x, ops.transpose(x, (0, 2, 1)))
        distances = squares[:, :, None] + squares[:, None, :] - 2 * products
        inverse = 1 / (ops.maximum(distances, 0.0) + 1e-10)
        itself = ops.eye(inputs.shape[1], dtype=inverse.dtype)
        inverse = inverse * (1 - itself)
        largest = ops.stop_gradient(ops.max(inverse, axis=-1, keepdims=True))
        largest = ops.maximum(largest, 1e-30)  # 0 for a single channel
        return ops.maximum(inverse / largest, 1e-30) * (1 - itself) + itself

    def draw(self, logits):
        """Return differences of two Gumbel variables, which are logistic, like the logits."""
        uniform = keras.random.uniform(
            ops.shape(logits), 1e-7, 1 - 1e-7, dtype=logits.dtype, seed=self.seed_generator
        )
        return ops.log(uniform) - ops.log(1 - uniform)

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:2], inputs_shape[1])

    def get_config(self):
        return {**super().get_config(), "draw_always": self.draw_always, "seed": self.seed}


@keras.saving.register_keras_serializable(package="kerastrans")
class MaskedChannelAttention(ProjectedAttention):
    """Multi-head self-attention with a mask that has a gradient.

    The scores are multiplied by the mask. A hidden score is about -23 before it is divided by the
    root of `key_dim`, so that hidden channels keep a small weight. The arguments are those of
    `CachedMultiHeadAttention`. The layer cannot be decoded step by step.

    Call arguments:
        inputs: `(batch, num_channels, d_model)`.
        channel_mask: `(batch, num_channels, num_channels)`, 1 = may be attended to.

    Returns:
        `(batch, num_channels, d_model)`.

    Raises:
        ValueError: See `CachedMultiHeadAttention`.

    Example:
        >>> from keras import ops
        >>> layer = MaskedChannelAttention(num_heads=2, key_dim=8)
        >>> ops.shape(layer(ops.ones((4, 3, 16)), ops.ones((4, 3, 3))))
        (4, 3, 16)

    Source: Qiu et al. (2025), DUET, section 4.4.
    """

    def build(self, inputs_shape, channel_mask_shape=None):
        check_choice("causal", self.causal, (False,))  # the mask says what is seen
        super().build(inputs_shape)

    def call(self, inputs, channel_mask):
        keys, values = self.project(inputs)
        scores = self._scores(self._queries(inputs), keys)
        visible = ops.cast(channel_mask, scores.dtype)[:, None]
        hidden = ops.cast(visible == 0, scores.dtype) * (HIDDEN * self.key_dim**-0.5)
        weights = self.weights_dropout(self._normalise(scores * visible + hidden, None))
        return self._merge_heads(ops.matmul(weights, values))

    def compute_output_shape(self, inputs_shape, channel_mask_shape=None):
        return self.output_shape_of(inputs_shape)
