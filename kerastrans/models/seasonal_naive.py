"""seasonal naive: the last period, repeated (Hyndman, Athanasopoulos, 2021).

Paper: https://otexts.com/fpp3/simple-methods.html
"""

import keras
import numpy as np
from keras import ops

from kerastrans.layers import ReversibleInstanceNormalization
from kerastrans.models.parts.checks import checked
from kerastrans.utils.validation import check_at_most

ARCHITECTURE = {
    "summary": "last period, repeated",
    "tags": ("baseline", "channel independent", "affine"),
}


@checked
def build_seasonal_naive_model(
    context_length, prediction_length, num_channels, *, season=24, name="seasonal_naive"
):
    """Build the seasonal naive forecast: the last observed period, repeated.

    The model has no weights. If a value of that period is missing, the value of an earlier period
    is used, or the last known value if all of these are missing.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        season: int, number of steps in a period, at most `context_length`.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the context is shorter than a period.

    Example:
        >>> model = build_seasonal_naive_model(24, 12, 3, season=7)
        >>> model.output_shape
        (None, 12, 3)

    Source: Hyndman, Athanasopoulos (2021), section 5.2.
    """
    check_at_most(season=season, context_length=context_length)
    history = keras.Input((context_length, num_channels), name="history")
    seasons = context_length // season
    _, statistics = ReversibleInstanceNormalization(center="last", scale=None)(history)
    last = ops.tile(statistics[:, :1], (1, 1, season))
    # One row per period and one column per phase and channel, after a row of last known values;
    # the last known value of each column is the forecast of its phase.
    # (batch, seasons, season * channels)
    phases = ops.reshape(history[:, -seasons * season :], (-1, seasons, season * num_channels))
    phases = ops.concatenate([last, phases], axis=1)
    _, statistics = ReversibleInstanceNormalization(center="last", scale=None)(phases)
    period = ops.reshape(statistics[:, :1], (-1, season, num_channels))  # (batch, season, channels)
    steps = np.arange(prediction_length) % season
    return keras.Model(history, ops.take(period, steps.tolist(), axis=1), name=name)
