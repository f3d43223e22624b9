"""Series decomposition by exponential smoothing."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.validation import check_weight


@keras.saving.register_keras_serializable(package="kerastrans")
class ExponentialDecomposition(keras.layers.Layer):
    """Splits a series into season and trend; the trend is exponentially smoothed.

    Simple smoothing starts at the first value. Double smoothing (Holt) also smooths the slope, and
    starts with the first difference.

    Args:
        smoothing: float in (0, 1], weight of the newest value.
        slope_smoothing: float in (0, 1], weight of the newest slope in double smoothing; None for
            simple smoothing.

    Call arguments:
        inputs: `(batch, time, num_channels)`.

    Returns:
        `(season, trend)`, each `(batch, time, num_channels)`; their sum is `inputs`.

    Raises:
        ValueError: If a weight is outside (0, 1].

    Example:
        >>> from keras import ops
        >>> inputs = ops.convert_to_tensor([[[0.0], [1.0], [1.0]]])
        >>> season, trend = ExponentialDecomposition(smoothing=0.5)(inputs)
        >>> ops.convert_to_numpy(trend)[0, :, 0].tolist()
        [0.0, 0.5, 0.75]

    Source: Stitsyuk, Choi (2025), xPatch, equations 1-3; Holt (1957) for double smoothing.
    """

    def __init__(self, smoothing=0.3, slope_smoothing=None, **kwargs):
        check_weight(smoothing=smoothing)
        if slope_smoothing is not None:
            check_weight(slope_smoothing=slope_smoothing)
        super().__init__(**kwargs)
        self.smoothing = smoothing
        self.slope_smoothing = slope_smoothing

    def call(self, inputs):
        matrix = ops.convert_to_tensor(self._weights(inputs.shape[1]), inputs.dtype)
        trend = ops.einsum("bsc,st->btc", inputs, matrix)
        return inputs - trend, trend

    def _weights(self, length):
        """Return the matrix `(steps, length)` of the weight of each step in each smoothed value."""
        values = np.eye(length)  # row t holds the weights of the value at step t
        level, slope = values[0], np.zeros(length)
        if self.slope_smoothing is not None and length > 1:
            slope = values[1] - values[0]
        levels = [level]
        for value in values[1:]:
            before = level
            level = self.smoothing * value + (1 - self.smoothing) * (before + slope)
            if self.slope_smoothing is not None:
                share = self.slope_smoothing
                slope = share * (level - before) + (1 - share) * slope
            levels.append(level)
        return np.stack(levels, axis=1)

    def get_config(self):
        return {
            **super().get_config(),
            "smoothing": self.smoothing,
            "slope_smoothing": self.slope_smoothing,
        }
