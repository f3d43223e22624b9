"""What a history that is not whole changes in a forecast."""

import keras
from keras import ops

from kerastrans.utils.precision import full_precision


@keras.saving.register_keras_serializable(package="kerastrans")
class MissingHistory(keras.layers.Layer):
    """Adds to a forecast what it takes from the steps of the history that are missing.

    Each missing step adds an amount to every parameter of the forecast, and so does, at each step
    of the horizon, the lack of known steps, in proportion to `sqrt((context_length + 1) / (known +
    1)) - 1`, as the error of a mean grows. So a network whose inputs are 0 where a value is missing
    can still tell a mean value from no value, and give a forecast made from little a larger spread.
    All amounts are learnt, 0 at first, and shared by the channels.

    Args:
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: raw values of the forecast, `(batch, prediction_length, num_channels)` or, with
            parameters, `(batch, prediction_length, num_channels, size)`.
        history: `(batch, context_length, num_channels)`, NaN where a value is missing.

    Returns:
        As the inputs.

    Example:
        >>> import numpy as np
        >>> history = np.array([[[3.0], [np.nan]]])
        >>> tuple(MissingHistory()(np.ones((1, 5, 1)), history).shape)
        (1, 5, 1)
    """

    takes_missing = True

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})

    def build(self, inputs_shape, history_shape):
        size = inputs_shape[3] if len(inputs_shape) == 4 else 1
        self.by_lag = self.add_weight((history_shape[1], size), "zeros", name="by_lag")
        self.by_step = self.add_weight((inputs_shape[1], size), "zeros", name="by_step")

    def call(self, inputs, history):
        missing = ops.cast(ops.isnan(history), self.compute_dtype)
        by_lag = ops.matmul(ops.transpose(missing, (0, 2, 1)), self.by_lag)
        known = ops.sum(1 - missing, axis=1)[:, None, :, None]  # (batch, 1, num_channels, 1)
        lack = ops.sqrt((history.shape[1] + 1) / (known + 1)) - 1
        added = by_lag[:, None] + lack * self.by_step[:, None]
        return inputs + (added if len(inputs.shape) == 4 else added[..., 0])
