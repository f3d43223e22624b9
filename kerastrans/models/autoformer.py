"""Autoformer: trends taken out block by block, delays in place of positions (Wu et al., 2021)."""

import keras

from kerastrans.layers import AutoCorrelation
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import decomposition_transformer, resolve_label_length
from kerastrans.models.parts.normalized_window import open_window

ARCHITECTURE = {
    "title": "Autoformer",
    "source": "Wu et al.",
    "year": 2021,
    "summary": "auto-correlation",
    "tags": ("attention", "mixes channels", "shift", "takes heads"),
    "paper": {"d_model": 512, "ff_dim": 2048},
}
SEARCH_SPACE = {
    "d_model": (16, 32, 64, 128),
    "moving_average": (13, 25),
    "dropout": (0.0, 0.1),
}


@checked
def build_autoformer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    label_length=None,
    d_model=64,
    ff_dim=256,
    num_encoder_blocks=2,
    num_decoder_blocks=1,
    moving_average=25,
    factor=3,
    dropout=0.05,
    head=None,
    name="autoformer",
):
    """Build Autoformer: delays take the place of positions, and each block takes the trend out.

    Args:
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        num_channels: int, values at each step.
        label_length: int, known steps at the start of the decoder's input, at most
            `context_length`; half of it by default.
        d_model: int, width of all blocks. The paper's heads all attend to the same delays, so that
            their number changes nothing.
        ff_dim: int, hidden width of the feed-forward networks.
        num_encoder_blocks: int, blocks of the encoder.
        num_decoder_blocks: int, blocks of the decoder.
        moving_average: int, steps of the moving average that is the trend.
        factor: int, delays kept for each unit of ln(length).
        dropout: float in [0, 1).
        head: None for points, or a head of `kerastrans.heads`, whose parameters are a last axis.
        name: str, name of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: A size is below 1, or too large.
        ValueError: The label is longer than the context.
        ValueError: `dropout` is outside [0, 1).
        ValueError: `head` is unknown.

    Example:
        >>> model = build_autoformer_model(24, 12, 3, d_model=8, ff_dim=16, moving_average=5)
        >>> model.output_shape
        (None, 12, 3)

    Source: Wu et al. (2021), figure 1 and equations 1-8, without the embedding of the calendar.
    """
    label_length = resolve_label_length(label_length, context_length)
    window = open_window(context_length, num_channels, head, center="mean")
    outputs = decomposition_transformer(
        window,
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
    return keras.Model(window.history, outputs, name=name)
