"""FEDformer: Autoformer's frame around frequencies instead of delays (Zhou et al., 2022)."""

import keras

from kerastrans import heads
from kerastrans.layers import FourierBlock, FourierCrossAttention
from kerastrans.models.blocks import decomposition_transformer, resolve_label_length
from kerastrans.utils.validation import (
    check_divides,
    check_dropout,
    check_positive_integers,
)

SEARCH_SPACE = {
    "d_model": (16, 32, 64, 128),
    "modes": (16, 32, 64),
    "dropout": (0.0, 0.1),
}


def build_fedformer_model(
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
    moving_average=24,
    modes=64,
    dropout=0.05,
    head=None,
    name="fedformer",
):
    """Build FEDformer with the Fourier basis.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        label_length: int, known steps in front of the decoder's input, at most
            `context_length`; half of it by default.
        d_model, num_heads, ff_dim: int, of all blocks; heads divide `d_model`.
        num_encoder_blocks, num_decoder_blocks: int, depth of the two stacks.
        moving_average: int, steps of the moving average that is the trend.
        modes: int, frequencies that each block keeps, chosen at random once.
        dropout: float in [0, 1).
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, a label longer than the context, heads that do not divide
            `d_model`, `dropout` outside [0, 1), an unknown `head`.

    Source: Zhou et al. (2022), figure 2 and equations 3-7, without the calendar's embedding.
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        d_model=d_model,
        ff_dim=ff_dim,
        num_encoder_blocks=num_encoder_blocks,
        num_decoder_blocks=num_decoder_blocks,
        moving_average=moving_average,
        modes=modes,
        num_heads=num_heads,
    )
    label_length = resolve_label_length(label_length, context_length)
    check_divides(num_heads=num_heads, d_model=d_model)
    check_dropout(dropout)
    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    outputs = decomposition_transformer(
        history,
        prediction_length,
        head,
        self_attention=lambda: FourierBlock(num_heads, d_model, modes),
        cross_attention=lambda: FourierCrossAttention(num_heads, d_model, modes),
        label_length=label_length,
        d_model=d_model,
        ff_dim=ff_dim,
        num_encoder_blocks=num_encoder_blocks,
        num_decoder_blocks=num_decoder_blocks,
        moving_average=moving_average,
        dropout=dropout,
    )
    return keras.Model(history, outputs, name=name)
