"""DUET: experts for each window, a mask for the channels (Qiu et al., 2025, figure 4).

Paper: https://arxiv.org/abs/2412.10859
Code: https://github.com/decisionintelligence/DUET/tree/dcc6e67
"""

import functools
import math

import keras
from keras import layers, ops

from kerastrans.layers import Dropout, SeriesDecomposition, TopKGate
from kerastrans.layers.attention.multi_head_attention import ProjectedAttention
from kerastrans.layers.frequency.fourier import rfft
from kerastrans.layers.initializers import FanInUniform
from kerastrans.layers.transformer.blocks import transformer_encoder
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import check_at_most, check_choice

ARCHITECTURE = {
    "summary": "linear experts by window, masked attention to channels",
    "license": "MIT",
    "tags": ("attention", "mixes channels", "takes heads"),
    "paper": {"d_model": 512, "ff_dim": 1024},
    "features": "head: b c f",
}


@checked
def build_duet_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=64,
    num_heads=4,
    ff_dim=128,
    num_blocks=2,
    num_experts=4,
    num_chosen_experts=2,
    hidden_dim=64,
    shared_gates=False,
    moving_average=25,
    balance=1.0,
    draw_always=False,
    activation="gelu",
    dropout=0.1,
    output_dropout=0.1,
    head=None,
    name="duet",
):
    """Build DUET: a gate chooses linear experts for each window and channel; attention mixes them.

    The gate and the mask of the channels read the window before it is normalised. A single channel
    has no attention.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_blocks: int, number of encoder blocks.
        num_experts: int, number of experts.
        num_chosen_experts: int, number of experts of a window, at most `num_experts`.
        hidden_dim: int, hidden width of the gate.
        shared_gates: bool, whether the mean of the channels chooses experts for all of them,
            `CI=False` in the authors' code; otherwise each channel chooses its own.
        moving_average: int, number of steps in the average that separates trend and season.
        balance: float of at least 0, factor of the loss that keeps all experts in use.
        draw_always: bool, whether the mask of the channels is random in forecasts too, as in the
            authors' code.
        activation: "gelu" or "relu", activation of the feed-forward networks.
        dropout: float in [0, 1), dropout rate of the attention and the feed-forward networks.
        output_dropout: float in [0, 1), dropout rate of the forecast of the normalised window.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `num_chosen_experts` is greater than `num_experts`.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `activation` is unknown.
        ValueError: If a dropout is outside [0, 1), or `balance` is negative.
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_duet_model(24, 12, 3, d_model=8, num_heads=2, hidden_dim=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Qiu et al. (2025), "DUET: Dual clustering enhanced multivariate time series
    forecasting", section 4.
    """
    check_at_most(num_chosen_experts=num_chosen_experts, num_experts=num_experts)
    check_choice("activation", activation, ("gelu", "relu"))
    dtype = full_precision()
    sizes = {"num_heads": num_heads, "key_dim": d_model // num_heads, "dropout": dropout}
    sizes["kernel_initializer"] = FanInUniform
    block = {**sizes, "ff_dim": ff_dim, "activation": activation, "norm": "post"}
    block["layer_norm_epsilon"] = TORCH_EPSILON

    window = open_window(context_length, num_channels, head, **STANDARDIZED, affine=True)
    raw = ops.transpose(window.normalization(window.values, window.statistics), (0, 2, 1))
    seen = ops.mean(raw, axis=1, keepdims=True) if shared_gates else raw
    gates = TopKGate(num_chosen_experts, balance, name="gates")(
        _score_experts(seen, hidden_dim, num_experts, "gate"),
        _score_experts(seen, hidden_dim, num_experts, "gate_noise"),
    )  # (batch, channels, experts), or (batch, 1, experts)
    season, trend = SeriesDecomposition(moving_average, dtype=dtype)(window.values)
    parts = {"season": season, "trend": trend}
    x = [_apply_experts(x, num_experts, d_model, name) for name, x in parts.items()]
    x = layers.Add()(x)  # (batch, channels, experts, d_model)
    x = ops.sum(x * ops.cast(gates, x.dtype)[..., None], axis=2)  # (batch, channels, d_model)
    if num_channels > 1:
        mask = ChannelMask(draw_always, name="similar_channels")(raw)
        for i in range(num_blocks):
            attend = functools.partial(_attend, sizes, mask, f"encoder_{i}_self_attention")
            x = transformer_encoder(x, **block, self_attention=attend, name=f"encoder_{i}")
        x = layers.LayerNormalization(epsilon=TORCH_EPSILON, dtype=dtype)(x)
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    x = Dropout(output_dropout, dtype=dtype)(x)
    return window.model(ops.transpose(x, (0, 2, 1)), head, prediction_length, name)


def _score_experts(x, hidden_dim, num_experts, name):
    """Return a score for each expert, `(batch, channels, experts)`."""
    options = {"use_bias": False, "dtype": full_precision()}
    x = dense(hidden_dim, activation="relu", **options, name=f"{name}_hidden")(x)
    return dense(num_experts, **options, name=name)(x)


def _apply_experts(x, num_experts, d_model, name):
    """Map `(batch, time, channels)` to `(batch, channels, experts, d_model)`.

    As in the authors' code, the weights start as an average and the biases at random.
    """
    length, num_channels = x.shape[1:]
    bound = length**-0.5
    return layers.EinsumDense(
        "btc,etd->bced",
        (num_channels, num_experts, d_model),
        bias_axes="ed",
        kernel_initializer=keras.initializers.Constant(1 / length),
        bias_initializer=keras.initializers.RandomUniform(-bound, bound),
        name=name,
    )(x)


def _attend(sizes, mask, name, x):
    """Apply attention between the channels that the mask keeps."""
    return MaskedChannelAttention(**sizes, name=name)(x, mask)


MAX_PROBABILITY = 0.99
HIDDEN = -math.log(1e10)  # a hidden score, before it is divided by the root of the heads' width


@serializable
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
