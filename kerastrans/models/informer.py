"""Informer: sparse attention and a distilled memory (Zhou et al., 2021)."""

import keras
from keras import layers, ops

from kerastrans.layers import CachedMultiHeadAttention, ProbSparseAttention
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import embed_values, label_input, resolve_label_length
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import EPSILON, add_norm, position_wise_ffn
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "Informer",
    "source": "Zhou et al.",
    "year": 2021,
    "summary": "ProbSparse, distilling",
    "tags": ("attention", "mixes channels", "takes heads"),
    "paper": {"d_model": 512, "num_heads": 8, "ff_dim": 2048},
}
SEARCH_SPACE = {
    "d_model": (16, 32, 64, 128),
    "num_encoder_blocks": (1, 2),
    "dropout": (0.0, 0.1),
}


@checked
def build_informer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    label_length=None,
    d_model=64,
    num_heads=4,
    ff_dim=256,
    num_encoder_blocks=2,
    num_decoder_blocks=1,
    factor=5,
    dropout=0.05,
    head=None,
    name="informer",
):
    """Build Informer: only the most active queries attend, and the memory is distilled.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        label_length: int, number of known steps at the start of the decoder's input, at most
            `context_length`; half the context by default.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_encoder_blocks: int, number of encoder blocks; the length is halved between two blocks.
        num_decoder_blocks: int, number of decoder blocks.
        factor: int, number of queries that attend per unit of ln(length).
        dropout: float in [0, 1), dropout rate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the label is longer than the context.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_informer_model(24, 12, 3, d_model=8, num_heads=2, ff_dim=16)
        >>> model.output_shape
        (None, 12, 3)

    Source: Zhou et al. (2021), figure 2 and equations 2-6, without the calendar embedding.
    """
    label_length = resolve_label_length(label_length, context_length)
    kwargs = {"kernel_initializer": FanInUniform}
    attention = {"num_heads": num_heads, "key_dim": d_model // num_heads, "dropout": dropout}
    attention |= kwargs

    def sparse_attention(causal=False):
        return ProbSparseAttention(**attention, causal=causal, factor=factor)

    def feed_forward(x):
        return position_wise_ffn(x, ff_dim, dropout, activation="gelu", **kwargs)

    window = open_window(context_length, num_channels, head)
    x = embed_values(window.values, d_model, dropout)
    for i in range(num_encoder_blocks):
        if i > 0:
            x = _distil(x)
        x = add_norm(x, sparse_attention(), dropout, norm="post")
        x = add_norm(x, feed_forward, dropout, norm="post")
    memory = layers.LayerNormalization(epsilon=EPSILON)(x)

    x = embed_values(label_input(window.values, label_length, prediction_length), d_model, dropout)
    for _ in range(num_decoder_blocks):
        cross = CachedMultiHeadAttention(**attention)
        x = add_norm(x, sparse_attention(causal=True), dropout, norm="post")
        x = add_norm(x, lambda x, cross=cross: cross(x, memory), dropout, norm="post")
        x = add_norm(x, feed_forward, dropout, norm="post")
    x = layers.LayerNormalization(epsilon=EPSILON)(x[:, -prediction_length:])
    x = dense(num_channels * head.size, dtype=full_precision(), name="head")(x)
    outputs = window.forecast(x, head, prediction_length)
    return keras.Model(window.history, outputs, name=name)


def _distil(x):
    """Halve the length: a circular convolution over neighbours, then max pooling."""
    x = ops.concatenate([x[:, -1:], x, x[:, :1]], axis=1)
    x = layers.Conv1D(x.shape[-1], 3, kernel_initializer=FanInUniform())(x)
    x = layers.ELU()(layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x))
    # Repeat both ends: "same" would pad only the last end and centre the pools on odd steps.
    x = ops.concatenate([x[:, :1], x, x[:, -1:]], axis=1)
    return layers.MaxPooling1D(3, strides=2)(x)
