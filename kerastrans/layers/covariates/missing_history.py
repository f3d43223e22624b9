"""A learnt correction of a forecast for missing steps of its history."""

import keras
from keras import ops

from kerastrans.utils.precision import full_precision


@keras.saving.register_keras_serializable(package="kerastrans")
class MissingHistory(keras.layers.Layer):
    """Adds a learnt correction to a forecast for the missing steps of its history.

    Each missing step adds one amount to every parameter of the forecast. At each step of the
    horizon, the shortage of known steps adds another amount, in proportion to
    `sqrt((context_length + 1) / (known + 1)) - 1`, which is how the error of a mean grows. A
    network whose inputs are 0 for missing values can therefore still distinguish a value that
    equals the mean from a missing one, and widen a forecast that is made from few values. All
    amounts are initialised to 0, learnt, and shared by the channels.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: Raw values of the forecast, `(batch, prediction_length, num_channels)` or, if the
            forecast has parameters, `(batch, prediction_length, num_channels, size)`.
        history: `(batch, context_length, num_channels)`, NaN for missing values.

    Returns:
        A tensor of the shape of the inputs.

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
        shortage = ops.sqrt((history.shape[1] + 1) / (known + 1)) - 1
        correction = by_lag[:, None] + shortage * self.by_step[:, None]
        return inputs + (correction if len(inputs.shape) == 4 else correction[..., 0])
