"""average: the mean of the last steps, repeated (Hyndman, Athanasopoulos, 2021).

Paper: https://otexts.com/fpp3/simple-methods.html
"""

import keras
from keras import ops

from kerastrans.layers import ReversibleInstanceNormalization
from kerastrans.models.parts.checks import checked
from kerastrans.utils.validation import check_at_most

ARCHITECTURE = {
    "summary": "mean of the context",
    "tags": ("baseline", "channel independent", "affine"),
}


@checked
def build_moving_average_model(
    context_length, prediction_length, num_channels, *, window=None, name="moving_average"
):
    """Build the moving-average forecast: the mean of the last `window` steps.

    The model has no weights.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        window: int, number of steps to average; the whole context by default.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the window is longer than the context.

    Example:
        >>> model = build_moving_average_model(24, 12, 3, window=6)
        >>> model.output_shape
        (None, 12, 3)

    Source: Hyndman, Athanasopoulos (2021), section 5.2.
    """
    window = context_length if window is None else window
    check_at_most(window=window, context_length=context_length)
    history = keras.Input((context_length, num_channels), name="history")
    _, statistics = ReversibleInstanceNormalization(scale=None)(history[:, -window:])
    outputs = ops.repeat(statistics[:, :1], prediction_length, axis=1)
    return keras.Model(history, outputs, name=name)
