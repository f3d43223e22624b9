"""The last value, repeated: what every forecast has to beat."""

import keras
from keras import ops

from kerastrans.utils.validation import check_positive_integers


def build_last_value_model(context_length, prediction_length, num_channels, *, name="last_value"):
    """Build the naive forecast: the last observed value at every step. It has no weights.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1.

    Source: Hyndman, Athanasopoulos (2021), section 5.2.
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
    )
    history = keras.Input((context_length, num_channels), name="history")
    outputs = ops.repeat(history[:, -1:], prediction_length, axis=1)
    return keras.Model(history, outputs, name=name)
