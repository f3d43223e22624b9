"""Autoformer: a decomposition Transformer with auto-correlation (Wu et al., 2021).

Paper: https://arxiv.org/abs/2106.13008
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

import keras

from kerastrans.layers import AutoCorrelation
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import decomposition_transformer, resolve_label_length
from kerastrans.models.parts.normalized_window import open_window

ARCHITECTURE = {
    "summary": "auto-correlation",
    "license": "MIT",
    "tags": ("attention", "mixes channels", "shift", "takes heads"),
    "paper": {"d_model": 512, "ff_dim": 2048},
    "features": "head: b t f",
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
    reference_delays=False,
    dropout=0.05,
    head=None,
    name="autoformer",
):
    """Build Autoformer: auto-correlation replaces attention, and each block removes the trend.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        label_length: int, number of known steps at the start of the decoder's input, at most
            `context_length`; half the context by default.
        d_model: int, width of all blocks. All heads of the paper attend to the same delays, so the
            number of heads is not an argument.
        ff_dim: int, hidden width of the feed-forward networks.
        num_encoder_blocks: int, number of encoder blocks.
        num_decoder_blocks: int, number of decoder blocks.
        moving_average: int, number of steps in the moving average that estimates the trend.
        factor: int, number of delays to keep per unit of ln(length).
        reference_delays: bool, whether the delays are chosen as in the published code, see
            `kerastrans.layers.AutoCorrelation`.
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
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_autoformer_model(24, 12, 3, d_model=8, ff_dim=16, moving_average=5)
        >>> model.output_shape
        (None, 12, 3)

    Source: Wu et al. (2021), figure 1 and equations 1-8, without the calendar embedding.
    """
    label_length = resolve_label_length(label_length, context_length)

    def attention():
        return AutoCorrelation(d_model, factor, reference_delays=reference_delays)

    window = open_window(context_length, num_channels, head, center="mean")
    outputs = decomposition_transformer(
        window,
        prediction_length,
        head,
        encoder_attention=attention,
        decoder_attention=attention,
        cross_attention=attention,
        label_length=label_length,
        d_model=d_model,
        ff_dim=ff_dim,
        num_encoder_blocks=num_encoder_blocks,
        num_decoder_blocks=num_decoder_blocks,
        moving_averages=(moving_average,),
        activation="gelu",
        dropout=dropout,
    )
    return keras.Model(window.history, outputs, name=name)
