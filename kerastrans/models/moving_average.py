"""The mean of the last steps, repeated."""

import keras
from keras import ops

from kerastrans.utils.validation import check_at_most, check_positive_integers


def build_moving_average_model(
    context_length, prediction_length, num_channels, *, window=None, name="moving_average"
):
    """Build the moving-average forecast: the mean of the last `window` steps. It has no weights.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        window: int, steps that are averaged; the whole context by default.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, a window longer than the context.

    Source: Hyndman, Athanasopoulos (2021), section 5.2.
    """
    window = context_length if window is None else window
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        window=window,
    )
    check_at_most(window=window, context_length=context_length)
    history = keras.Input((context_length, num_channels), name="history")
    mean = ops.mean(history[:, -window:], axis=1, keepdims=True)
    return keras.Model(history, ops.repeat(mean, prediction_length, axis=1), name=name)
