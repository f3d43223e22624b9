"""TimeXer: each channel's patches, and a token that asks all channels (Wang et al., 2024)."""

import keras
from keras import layers, ops

from kerastrans import heads
from kerastrans.layers import (
    CachedMultiHeadAttention,
    Dropout,
    GlobalToken,
    Patching,
    PositionalEncoding,
    ReversibleInstanceNormalization,
)
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.blocks import EPSILON, add_norm, dense, position_wise_ffn
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import (
    check_at_most,
    check_divides,
    check_dropout,
    check_positive_integers,
)

SEARCH_SPACE = {
    "d_model": (64, 128, 256),
    "num_blocks": (1, 2),
    "patch_length": (8, 16, 24),
    "dropout": (0.0, 0.1),
}


def build_timexer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    patch_length=16,
    d_model=256,
    num_heads=8,
    ff_dim=2048,
    num_blocks=1,
    dropout=0.1,
    head=None,
    name="timexer",
):
    """Build TimeXer, every channel forecast with all channels as its exogenous ones.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        patch_length: int, steps in a patch, at most `context_length`; patches do not overlap.
        d_model, num_heads, ff_dim, num_blocks: int, of the encoder; heads divide `d_model`.
        dropout: float in [0, 1).
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, a context shorter than a patch, heads that do not divide
            `d_model`, `dropout` outside [0, 1), an unknown `head`.

    Source: Wang et al. (2024), "TimeXer", figure 2 and equations 3-8. The published code adds
    calendar features as exogenous channels.
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        patch_length=patch_length,
        d_model=d_model,
        num_heads=num_heads,
        num_blocks=num_blocks,
    )
    check_at_most(patch_length=patch_length, context_length=context_length)
    check_divides(num_heads=num_heads, d_model=d_model)
    check_dropout(dropout)

    def attention():
        return CachedMultiHeadAttention(
            num_heads, d_model // num_heads, dropout, kernel_initializer=FanInUniform
        )

    def feed_forward(x):
        return position_wise_ffn(
            x, ff_dim, dropout, activation="relu", kernel_initializer=FanInUniform
        )

    def ask_channels(x):
        """Cross-attention of the global tokens, the last of each sequence, to all channels."""
        tokens = ops.reshape(x[:, -1:], (-1, num_channels, d_model))
        tokens = Dropout(dropout)(attention()(tokens, channels))
        tokens = layers.Add()([x[:, -1:], ops.reshape(tokens, (-1, 1, d_model))])
        return ops.concatenate([x[:, :-1], tokens], axis=1)

    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    normalization = ReversibleInstanceNormalization()
    x, statistics = normalization(history)
    channels = dense(d_model, name="channel_embedding")(ops.transpose(x, (0, 2, 1)))
    channels = Dropout(dropout)(channels)  # (batch, channels, d_model)

    x = Patching(patch_length, patch_length)(x)  # (batch, channels, patches, patch_length)
    num_tokens = x.shape[2] + 1
    x = dense(d_model, use_bias=False, name="patch_embedding")(x)
    x = PositionalEncoding(None, d_model)(ops.reshape(x, (-1, num_tokens - 1, d_model)))
    x = GlobalToken(num_channels)(x)  # (batch * channels, patches + 1, d_model)
    x = Dropout(dropout)(x)
    for _ in range(num_blocks):
        x = add_norm(x, attention(), dropout, norm="post")
        x = layers.LayerNormalization(epsilon=EPSILON)(ask_channels(x))
        x = add_norm(x, feed_forward, dropout, norm="post")
    x = layers.LayerNormalization(epsilon=EPSILON)(x)
    x = ops.reshape(x, (-1, num_channels, num_tokens * d_model))
    dtype = full_precision()
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    x = Dropout(dropout, dtype=dtype)(ops.transpose(x, (0, 2, 1)))
    outputs = head.forecast(x, prediction_length, normalization, statistics)
    return keras.Model(history, outputs, name=name)
