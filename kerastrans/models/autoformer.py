"""Autoformer: trends taken out block by block, delays in place of positions (Wu et al., 2021)."""

import keras

from kerastrans import heads
from kerastrans.layers import AutoCorrelation
from kerastrans.models.blocks import decomposition_transformer, resolve_label_length
from kerastrans.utils.validation import check_dropout, check_positive_integers

SEARCH_SPACE = {
    "d_model": (16, 32, 64, 128),
    "moving_average": (13, 25),
    "dropout": (0.0, 0.1),
}


def build_autoformer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    label_length=None,
    d_model=512,
    ff_dim=2048,
    num_encoder_blocks=2,
    num_decoder_blocks=1,
    moving_average=25,
    factor=3,
    dropout=0.05,
    head=None,
    name="autoformer",
):
    """Build Autoformer.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        label_length: int, known steps in front of the decoder's input, at most
            `context_length`; half of it by default.
        d_model, ff_dim: int, of all blocks. The paper's heads all attend to the same delays,
            so that their number changes nothing.
        num_encoder_blocks, num_decoder_blocks: int, depth of the two stacks.
        moving_average: int, steps of the moving average that is the trend.
        factor: int, delays kept for each unit of ln(length).
        dropout: float in [0, 1).
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, a label longer than the context, `dropout` outside [0, 1), an
            unknown `head`.

    Source: Wu et al. (2021), figure 1 and equations 1-8, without the calendar's embedding.
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
        factor=factor,
    )
    label_length = resolve_label_length(label_length, context_length)
    check_dropout(dropout)
    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    outputs = decomposition_transformer(
        history,
        prediction_length,
        head,
        self_attention=lambda: AutoCorrelation(d_model, factor),
        cross_attention=lambda: AutoCorrelation(d_model, factor),
        label_length=label_length,
        d_model=d_model,
        ff_dim=ff_dim,
        num_encoder_blocks=num_encoder_blocks,
        num_decoder_blocks=num_decoder_blocks,
        moving_average=moving_average,
        dropout=dropout,
    )
    return keras.Model(history, outputs, name=name)
