"""Non-stationary Transformer: attention that knows the raw window (Liu et al., 2022, figure 2).

Paper: https://arxiv.org/abs/2205.14415
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

import keras
from keras import layers, ops

from kerastrans.layers import ValueEmbedding
from kerastrans.layers.attention.multi_head_attention import ProjectedAttention
from kerastrans.layers.initializers import FanInUniform
from kerastrans.layers.masks import create_look_ahead_mask
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import embed_values, label_input, resolve_label_length
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON, add_norm, position_wise_ffn
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice, check_positive_integers

ARCHITECTURE = {
    "summary": "Transformer with de-stationary attention",
    "license": "MIT",
    "tags": ("attention", "mixes channels", "takes heads"),
    "paper": {"d_model": 512, "ff_dim": 2048, "num_heads": 8},
    "features": "head: b t f",
}
MAX_LOG_FACTOR = 80.0  # the exponential of more overflows in float32


@checked
def build_nonstationary_transformer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    label_length=None,
    d_model=64,
    num_heads=4,
    ff_dim=128,
    num_encoder_blocks=2,
    num_decoder_blocks=1,
    projector_dims=(64, 64),
    activation="gelu",
    dropout=0.1,
    head=None,
    name="nonstationary_transformer",
):
    """Build the Non-stationary Transformer: an encoder-decoder with de-stationary attention.

    The window is normalised; a factor and an offset of the attention scores, which small networks
    compute from the raw window, restore what the normalisation removes.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        label_length: int, number of known steps at the start of the decoder's input, at most
            `context_length`; None for half the context.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_encoder_blocks: int, number of encoder blocks.
        num_decoder_blocks: int, number of decoder blocks.
        projector_dims: Tuple of int, hidden widths of the networks of factor and offset.
        activation: "gelu" or "relu", activation of the feed-forward networks.
        dropout: float in [0, 1), dropout rate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `label_length` is greater than `context_length`.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `activation` is unknown.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_nonstationary_transformer_model(24, 12, 3, d_model=8, num_heads=2)
        >>> model.output_shape
        (None, 12, 3)

    Source: Liu et al. (2022), "Non-stationary Transformers: Exploring the stationarity in time
    series forecasting", section 3, without the calendar embedding.
    """
    check_choice("activation", activation, ("gelu", "relu"))
    sizes = enumerate(projector_dims)
    check_positive_integers(**{f"projector_dims[{i}]": size for i, size in sizes})
    label_length = resolve_label_length(label_length, context_length)
    dtype = full_precision()

    def project_statistics(statistic, units):
        """Map the raw window and one of its statistics to `(batch, units)`."""
        convolve = ValueEmbedding(1, kernel_initializer=FanInUniform(), dtype=dtype)
        x = convolve(ops.transpose(raw, (0, 2, 1)))  # (batch, channels, 1)
        # (batch, 2, channels)
        x = layers.Concatenate(axis=1, dtype=dtype)([ops.transpose(x, (0, 2, 1)), statistic])
        x = layers.Flatten(dtype=dtype)(x)  # (batch, 2 * channels)
        for size in projector_dims:
            x = dense(size, activation="relu", dtype=dtype)(x)
        return dense(units, use_bias=False, dtype=dtype)(x)

    def attend(x, name, memory=None, shift=None, causal=False):
        """Apply attention with the factor of the window, and normalise the sum."""
        layer = DestationaryAttention(
            num_heads=num_heads,
            key_dim=d_model // num_heads,
            dropout=dropout,
            causal=causal,
            kernel_initializer=FanInUniform,
            name=name,
        )
        return add_norm(x, layer(x, memory, factor=factor, offset=shift), dropout, name=name)

    def feed_forward(x, name):
        options = {"activation": activation, "kernel_initializer": FanInUniform, "name": name}
        y = position_wise_ffn(x, ff_dim, dropout, **options)
        return add_norm(x, y, dropout, name=f"{name}_ffn")

    window = open_window(context_length, num_channels, head, **STANDARDIZED)
    raw = window.normalization(window.values, window.statistics)
    factor = project_statistics(window.statistics[:, 1:], 1)
    factor = ops.exp(ops.minimum(factor, MAX_LOG_FACTOR))
    offset = project_statistics(window.statistics[:, :1], context_length)

    x = embed_values(window.values, d_model, dropout)
    for i in range(num_encoder_blocks):
        x = attend(x, f"encoder_{i}_self_attention", shift=offset)
        x = feed_forward(x, f"encoder_{i}")
    memory = layers.LayerNormalization(epsilon=TORCH_EPSILON)(x)

    x = label_input(window.values, label_length, prediction_length)
    x = embed_values(x, d_model, dropout)
    for i in range(num_decoder_blocks):
        x = attend(x, f"decoder_{i}_self_attention", causal=True)
        x = attend(x, f"decoder_{i}_cross_attention", memory, shift=offset)
        x = feed_forward(x, f"decoder_{i}")
    x = layers.LayerNormalization(epsilon=TORCH_EPSILON, dtype=dtype)(x[:, -prediction_length:])
    x = dense(num_channels * head.size, dtype=dtype, name="head")(x)
    return window.model(x, head, prediction_length, name)


@keras.saving.register_keras_serializable(package="kerastrans")
class DestationaryAttention(ProjectedAttention):
    """Multi-head attention with one factor of the scores per window, and one offset per key.

    Windows that were normalised are alike: the factor and the offset, which are computed from the
    raw window, restore the attention that the raw window would have had. Both may be large: in half
    precision they are not rounded, and the scores are computed in float32. The other arguments and
    the weights are those of `CachedMultiHeadAttention`. The layer cannot be decoded step by step.

    Call arguments:
        query: `(batch, query, d_model)`.
        value: `(batch, key, value_width)`; None for self-attention.
        factor: `(batch, 1)`, multiplies the products of queries and keys.
        offset: `(batch, key)`, added to them; None for no offset.

    Returns:
        `(batch, query, d_model)`.

    Raises:
        ValueError: See `CachedMultiHeadAttention`.

    Example:
        >>> from keras import ops
        >>> layer = DestationaryAttention(num_heads=2, key_dim=8)
        >>> ops.shape(layer(ops.ones((4, 10, 16)), factor=ops.ones((4, 1))))
        (4, 10, 16)

    Source: Liu et al. (2022), "Non-stationary Transformers", equation 6.
    """

    def __init__(self, **kwargs):
        # Otherwise Keras casts factor and offset to float16, whose largest number is 65,504.
        super().__init__(autocast=False, **kwargs)

    def build(self, query_shape, value_shape=None, factor_shape=None, offset_shape=None):
        super().build(query_shape, value_shape)

    def call(self, query, value=None, factor=None, offset=None):
        keys, values = self.project(query if value is None else value)
        scores = self._scores(self._queries(query), keys)  # (batch, heads, query, key)
        if factor is not None:
            scores = scores * ops.cast(factor, scores.dtype)[:, :, None, None]
        if offset is not None:
            offset = ops.cast(offset, scores.dtype)[:, None, None, :]
            scores = scores + offset * self.key_dim**-0.5
        mask = create_look_ahead_mask(ops.shape(query)[1]) if self.causal else None
        weights = self.weights_dropout(self._normalise(scores, mask))
        return self._merge_heads(ops.matmul(weights, values))

    def compute_output_shape(
        self, query_shape, value_shape=None, factor_shape=None, offset_shape=None
    ):
        return self.output_shape_of(query_shape)
