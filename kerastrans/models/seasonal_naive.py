"""The last period, repeated."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.validation import check_at_most, check_positive_integers


def build_seasonal_naive_model(
    context_length, prediction_length, num_channels, *, season=24, name="seasonal_naive"
):
    """Build the seasonal naive forecast: the last observed period again. It has no weights.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        season: int, steps in a period, at most `context_length`.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, a context shorter than a period.

    Source: Hyndman, Athanasopoulos (2021), section 5.2.
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        season=season,
    )
    check_at_most(season=season, context_length=context_length)
    history = keras.Input((context_length, num_channels), name="history")
    steps = context_length - season + np.arange(prediction_length) % season
    return keras.Model(history, ops.take(history, steps.tolist(), axis=1), name=name)
