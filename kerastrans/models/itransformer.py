"""iTransformer: channels are the tokens (Liu et al., 2024, figure 2)."""

import keras
from keras import layers, ops

from kerastrans import heads
from kerastrans.layers import Dropout, ReversibleInstanceNormalization
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.blocks import EPSILON, dense, transformer_encoder
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_divides, check_dropout, check_positive_integers

SEARCH_SPACE = {
    "d_model": (64, 128, 256),
    "num_blocks": (1, 2, 3),
    "dropout": (0.0, 0.1),
}


def build_itransformer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=256,
    num_heads=8,
    ff_dim=256,
    num_blocks=2,
    dropout=0.1,
    head=None,
    name="itransformer",
):
    """Build iTransformer: each channel's whole history is one token; attention mixes channels.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        d_model, num_heads, ff_dim, num_blocks: int, of the encoder; heads divide `d_model`.
        dropout: float in [0, 1).
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, heads that do not divide `d_model`, `dropout` outside [0, 1), an
            unknown `head`.

    Source: Liu et al. (2024), section 3. The published code adds calendar features as tokens.
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        d_model=d_model,
        num_heads=num_heads,
        num_blocks=num_blocks,
    )
    check_divides(num_heads=num_heads, d_model=d_model)
    check_dropout(dropout)

    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    normalization = ReversibleInstanceNormalization()
    x, statistics = normalization(history)
    x = ops.transpose(x, (0, 2, 1))  # (batch, channels, context_length)
    x = Dropout(dropout)(dense(d_model, name="embedding")(x))
    for i in range(num_blocks):
        x = transformer_encoder(
            x,
            num_heads,
            d_model // num_heads,
            ff_dim,
            dropout,
            norm="post",
            activation="gelu",
            kernel_initializer=FanInUniform,
            name=f"encoder_{i}",
        )
    dtype = full_precision()
    x = layers.LayerNormalization(epsilon=EPSILON, dtype=dtype)(x)
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    x = ops.transpose(x, (0, 2, 1))
    outputs = head.forecast(x, prediction_length, normalization, statistics)
    return keras.Model(history, outputs, name=name)
