"""TiDE: a dense encoder and decoder with a linear residual connection (Das et al., 2023)."""

import keras
from keras import layers, ops

from kerastrans.layers import Dropout
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "TiDE",
    "source": "Das et al.",
    "year": 2023,
    "summary": "dense encoder and decoder",
    "tags": ("mlp", "channel independent", "affine", "takes heads"),
}
SEARCH_SPACE = {
    "hidden_dim": (64, 128, 256),
    "num_encoder_layers": (1, 2),
    "num_decoder_layers": (1, 2),
    "dropout": (0.0, 0.1, 0.3),
}


@checked
def build_tide_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    hidden_dim=256,
    num_encoder_layers=2,
    num_decoder_layers=2,
    decoder_output_dim=8,
    temporal_hidden_dim=32,
    dropout=0.3,
    head=None,
    name="tide",
):
    """Build TiDE without covariates; all channels share the weights.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        hidden_dim: int, width of encoder and decoder.
        num_encoder_layers: int, number of residual blocks of the encoder.
        num_decoder_layers: int, number of residual blocks of the decoder.
        decoder_output_dim: int, number of features of each future step.
        temporal_hidden_dim: int, hidden width of the network from these features to a value.
        dropout: float in [0, 1), dropout rate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_tide_model(24, 12, 3, hidden_dim=8, temporal_hidden_dim=4)
        >>> model.output_shape
        (None, 12, 3)

    Source: Das et al. (2023), figure 1 and section 4, with the reversible normalisation of its
    appendix B. Like the authors' code, it uses the default initializers of Keras.
    """

    def residual_block(x, hidden, units):
        y = layers.Dense(units)(layers.Dense(hidden, activation="relu")(x))
        y = layers.Add()([Dropout(dropout)(y), layers.Dense(units)(x)])
        return layers.LayerNormalization()(y)

    window = open_window(context_length, num_channels, head, center="mean", scale="std")
    x = channels = ops.transpose(window.values, (0, 2, 1))  # (batch, channels, context_length)
    for _ in range(num_encoder_layers):
        x = residual_block(x, hidden_dim, hidden_dim)
    for _ in range(num_decoder_layers - 1):
        x = residual_block(x, hidden_dim, hidden_dim)
    x = residual_block(x, hidden_dim, prediction_length * decoder_output_dim)
    x = layers.Reshape((num_channels, prediction_length, decoder_output_dim))(x)
    # The temporal decoder. Its last layer is not normalised: layer normalisation of a single value
    # would be constant.
    exact = {"dtype": full_precision()}
    size = head.size
    y = Dropout(dropout)(layers.Dense(temporal_hidden_dim, activation="relu")(x))
    y = layers.Add(**exact)([layers.Dense(size, **exact)(y), layers.Dense(size, **exact)(x)])
    y = ops.reshape(y, (-1, num_channels, prediction_length * size))
    bypass = layers.Dense(prediction_length * size, **exact)(channels)
    y = layers.Add(**exact)([y, bypass])
    x = ops.transpose(y, (0, 2, 1))
    outputs = window.forecast(x, head, prediction_length)
    return keras.Model(window.history, outputs, name=name)
