"""naive: the last value, repeated (Hyndman, Athanasopoulos, 2021).

Paper: https://otexts.com/fpp3/simple-methods.html
"""

import keras
from keras import ops

from kerastrans.layers import ReversibleInstanceNormalization
from kerastrans.models.parts.checks import checked

ARCHITECTURE = {
    "summary": "last value, repeated",
    "tags": ("baseline", "channel independent", "affine"),
}


@checked
def build_last_value_model(context_length, prediction_length, num_channels, *, name="last_value"):
    """Build the naive forecast: the last known value at every step. The model has no weights.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.

    Example:
        >>> model = build_last_value_model(24, 12, 3)
        >>> model.output_shape
        (None, 12, 3)

    Source: Hyndman, Athanasopoulos (2021), section 5.2.
    """
    history = keras.Input((context_length, num_channels), name="history")
    _, statistics = ReversibleInstanceNormalization(center="last", scale=None)(history)
    outputs = ops.repeat(statistics[:, :1], prediction_length, axis=1)
    return keras.Model(history, outputs, name=name)
