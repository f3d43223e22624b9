"""The encoder-decoder Transformer that puts out the whole horizon at once."""

import keras

from kerastrans import heads
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.blocks import (
    dense,
    embed_values,
    label_input,
    resolve_label_length,
    transformer_decoder,
    transformer_encoder,
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


def build_direct_transformer_model(
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
    dropout=0.05,
    head=None,
    name="direct_transformer",
):
    """Build the direct Transformer, what the long-horizon papers call "Transformer".

    The decoder sees the last `label_length` steps and zeros in place of the future, and puts out
    all steps in one pass; `build_transformer_model` decodes step by step.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        label_length: int, known steps in front of the decoder's zeros, at most `context_length`;
            half of it by default.
        d_model, num_heads, ff_dim: int, of all blocks; heads divide `d_model`.
        num_encoder_blocks, num_decoder_blocks: int, depth of the two stacks.
        dropout: float in [0, 1).
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, a label longer than the context, heads that do not divide
            `d_model`, `dropout` outside [0, 1), an unknown `head`.

    Source: Vaswani et al. (2017), figure 1; the decoder's input: Zhou et al. (2021), equation 5.
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
    block = {
        "num_heads": num_heads,
        "key_dim": d_model // num_heads,
        "ff_dim": ff_dim,
        "dropout": dropout,
        "norm": "post",
        "activation": "gelu",
        "kernel_initializer": FanInUniform,
    }

    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    x = embed_values(history, d_model, dropout)
    for i in range(num_encoder_blocks):
        x = transformer_encoder(x, **block, name=f"encoder_{i}")
    memory = x
    x = embed_values(label_input(history, label_length, prediction_length), d_model, dropout)
    for i in range(num_decoder_blocks):
        x = transformer_decoder(x, memory, **block, name=f"decoder_{i}")
    x = x[:, -prediction_length:]
    x = dense(num_channels * head.size, dtype=full_precision(), name="head")(x)
    outputs = head.forecast(x, prediction_length)
    return keras.Model(history, outputs, name=name)
