"""PatchTST: a Transformer over patches, one channel at a time (Nie et al., 2023, figure 1)."""

import keras
from keras import ops

from kerastrans import heads
from kerastrans.layers import (
    Dropout,
    LearntPositionalEncoding,
    Patching,
    ReversibleInstanceNormalization,
)
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.blocks import dense, transformer_encoder
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import (
    check_at_most,
    check_divides,
    check_dropout,
    check_positive_integers,
)

SEARCH_SPACE = {
    "d_model": (16, 32, 64),
    "num_blocks": (2, 3),
    "patch_length": (8, 16, 24),
    "stride": (4, 8),
    "dropout": (0.0, 0.1, 0.3),
}


def build_patchtst_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    patch_length=16,
    stride=8,
    d_model=16,
    num_heads=4,
    ff_dim=128,
    num_blocks=3,
    dropout=0.3,
    attention_dropout=0.0,
    head=None,
    name="patchtst",
):
    """Build PatchTST: patches become tokens, all channels share the weights and never mix.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        patch_length, stride: int, steps in a patch, and from one to the next.
        d_model, num_heads, ff_dim, num_blocks: int, of the encoder; heads divide `d_model`.
        dropout: float in [0, 1), of the encoder.
        attention_dropout: float in [0, 1), on its attention weights.
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, a context shorter than a patch, heads that do not divide
            `d_model`, `dropout` outside [0, 1), an unknown `head`.

    Source: Nie et al. (2023), section 3.1. The defaults are those of its small model (ETTh1).
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        patch_length=patch_length,
        stride=stride,
        d_model=d_model,
        num_heads=num_heads,
        num_blocks=num_blocks,
    )
    check_at_most(patch_length=patch_length, context_length=context_length)
    check_divides(num_heads=num_heads, d_model=d_model)
    check_dropout(dropout)

    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    normalization = ReversibleInstanceNormalization(affine=True)
    x, statistics = normalization(history)
    x = Patching(patch_length, stride, pad_end=True)(x)  # (batch, channels, patches, length)
    x = dense(d_model, name="embedding")(x)
    num_patches = x.shape[2]
    x = ops.reshape(x, (-1, num_patches, d_model))  # (batch * channels, patches, d_model)
    x = LearntPositionalEncoding(num_patches, d_model)(x)
    x = Dropout(dropout)(x)
    for i in range(num_blocks):
        x = transformer_encoder(
            x,
            num_heads,
            d_model // num_heads,
            ff_dim,
            dropout,
            norm="post",
            normalization="batch",
            activation="gelu",
            attention_dropout=attention_dropout,
            kernel_initializer=FanInUniform,
            name=f"encoder_{i}",
        )
    x = ops.reshape(x, (-1, num_channels, num_patches * d_model))
    x = dense(prediction_length * head.size, dtype=full_precision(), name="head")(x)
    x = ops.transpose(x, (0, 2, 1))
    outputs = head.forecast(x, prediction_length, normalization, statistics)
    return keras.Model(history, outputs, name=name)
