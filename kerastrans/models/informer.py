"""Informer: attention of the active queries alone, and a memory that is distilled."""

import keras
from keras import layers, ops

from kerastrans import heads
from kerastrans.layers import CachedMultiHeadAttention, ProbSparseAttention
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.blocks import (
    EPSILON,
    add_norm,
    dense,
    embed_values,
    label_input,
    position_wise_ffn,
    resolve_label_length,
)
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import (
    check_divides,
    check_dropout,
    check_positive_integers,
)

SEARCH_SPACE = {
    "d_model": (16, 32, 64, 128),
    "num_encoder_blocks": (1, 2),
    "dropout": (0.0, 0.1),
}


def build_informer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    label_length=None,
    d_model=512,
    num_heads=8,
    ff_dim=2048,
    num_encoder_blocks=2,
    num_decoder_blocks=1,
    factor=5,
    dropout=0.05,
    head=None,
    name="informer",
):
    """Build Informer.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        label_length: int, known steps in front of the decoder's zeros, at most `context_length`;
            half of it by default.
        d_model, num_heads, ff_dim: int, of all blocks; heads divide `d_model`.
        num_encoder_blocks, num_decoder_blocks: int, depth of the two stacks; between two encoder
            blocks the length is halved.
        factor: int, queries that attend for each unit of ln(length).
        dropout: float in [0, 1).
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, a label longer than the context, heads that do not divide
            `d_model`, `dropout` outside [0, 1), an unknown `head`.

    Source: Zhou et al. (2021), figure 2 and equations 2-6, without the calendar's embedding.
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        d_model=d_model,
        num_heads=num_heads,
        num_encoder_blocks=num_encoder_blocks,
        num_decoder_blocks=num_decoder_blocks,
    )
    label_length = resolve_label_length(label_length, context_length)
    check_divides(num_heads=num_heads, d_model=d_model)
    check_dropout(dropout)
    key_dim = d_model // num_heads
    start = {"kernel_initializer": FanInUniform}

    def sparse_attention(causal=False):
        return ProbSparseAttention(num_heads, key_dim, dropout, causal, factor=factor, **start)

    def feed_forward(x):
        return position_wise_ffn(x, ff_dim, dropout, activation="gelu", **start)

    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    x = embed_values(history, d_model, dropout)
    for i in range(num_encoder_blocks):
        if i > 0:
            x = _distil(x)
        x = add_norm(x, sparse_attention(), dropout, norm="post")
        x = add_norm(x, feed_forward, dropout, norm="post")
    memory = layers.LayerNormalization(epsilon=EPSILON)(x)

    x = embed_values(label_input(history, label_length, prediction_length), d_model, dropout)
    for _ in range(num_decoder_blocks):
        cross = CachedMultiHeadAttention(num_heads, key_dim, dropout, **start)
        x = add_norm(x, sparse_attention(causal=True), dropout, norm="post")
        x = add_norm(x, lambda x, cross=cross: cross(x, memory), dropout, norm="post")
        x = add_norm(x, feed_forward, dropout, norm="post")
    x = layers.LayerNormalization(epsilon=EPSILON)(x[:, -prediction_length:])
    x = dense(num_channels * head.size, dtype=full_precision(), name="head")(x)
    outputs = head.forecast(x, prediction_length)
    return keras.Model(history, outputs, name=name)


def _distil(x):
    """Convolution over neighbours (the sequence taken as a circle), then every other maximum."""
    x = ops.concatenate([x[:, -1:], x, x[:, :1]], axis=1)
    x = layers.Conv1D(x.shape[-1], 3, kernel_initializer=FanInUniform())(x)
    x = layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)
    return layers.MaxPooling1D(3, strides=2, padding="same")(layers.ELU()(x))
