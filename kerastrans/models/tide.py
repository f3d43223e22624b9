"""TiDE: a dense encoder and decoder for each channel, and a linear bypass (Das et al., 2023)."""

import keras
from keras import layers, ops

from kerastrans import heads
from kerastrans.layers import Dropout, ReversibleInstanceNormalization
from kerastrans.models.blocks import EPSILON, dense
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_dropout, check_positive_integers

SEARCH_SPACE = {
    "hidden_dim": (64, 128, 256),
    "num_encoder_layers": (1, 2),
    "num_decoder_layers": (1, 2),
    "dropout": (0.0, 0.1, 0.3),
}


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
        context_length, prediction_length, num_channels: int, sizes of input and output.
        hidden_dim: int, width of encoder and decoder.
        num_encoder_layers, num_decoder_layers: int, residual blocks in each.
        decoder_output_dim: int, features of each future step.
        temporal_hidden_dim: int, hidden width of the network that turns them into a value.
        dropout: float in [0, 1).
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, `dropout` outside [0, 1), an unknown `head`.

    Source: Das et al. (2023), figure 1 and section 4, with the reversible normalisation of its
    appendix B.
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        hidden_dim=hidden_dim,
        num_encoder_layers=num_encoder_layers,
        num_decoder_layers=num_decoder_layers,
        decoder_output_dim=decoder_output_dim,
        temporal_hidden_dim=temporal_hidden_dim,
    )
    check_dropout(dropout)

    def residual_block(x, hidden, units):
        y = dense(units)(dense(hidden, activation="relu")(x))
        y = layers.Add()([Dropout(dropout)(y), dense(units)(x)])
        return layers.LayerNormalization(epsilon=EPSILON)(y)

    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    normalization = ReversibleInstanceNormalization()
    x, statistics = normalization(history)
    x = channels = ops.transpose(x, (0, 2, 1))  # (batch, channels, context_length)
    for _ in range(num_encoder_layers):
        x = residual_block(x, hidden_dim, hidden_dim)
    for _ in range(num_decoder_layers - 1):
        x = residual_block(x, hidden_dim, hidden_dim)
    x = residual_block(x, hidden_dim, prediction_length * decoder_output_dim)
    x = layers.Reshape((num_channels, prediction_length, decoder_output_dim))(x)
    # The temporal decoder; its last layer is not normalised, which would leave one value constant.
    dtype = full_precision()
    y = Dropout(dropout)(dense(temporal_hidden_dim, activation="relu")(x))
    size = head.size
    y = layers.Add(dtype=dtype)([dense(size, dtype=dtype)(y), dense(size, dtype=dtype)(x)])
    y = ops.reshape(y, (-1, num_channels, prediction_length * size))
    y = layers.Add(dtype=dtype)([y, dense(prediction_length * size, dtype=dtype)(channels)])
    x = ops.transpose(y, (0, 2, 1))
    outputs = head.forecast(x, prediction_length, normalization, statistics)
    return keras.Model(history, outputs, name=name)
