"""Series decomposition: a moving average is the trend, what is left the season."""

import keras
from keras import ops

from kerastrans.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class SeriesDecomposition(keras.layers.Layer):
    """Splits a series into season and trend; the trend is a centred moving average.

    The two ends are continued with their outermost value, so that the length stays.

    Args:
        kernel_size: int, steps in the average; of an even number the longer half is ahead.

    Call arguments:
        inputs: `(batch, time, num_channels)`.

    Returns:
        `(season, trend)`, each `(batch, time, num_channels)`; their sum is `inputs`.

    Raises:
        ValueError: `kernel_size` below 1.

    Source: Wu et al. (2021), equation 1.
    """

    def __init__(self, kernel_size, **kwargs):
        check_positive_integers(kernel_size=kernel_size)
        super().__init__(**kwargs)
        self.kernel_size = kernel_size

    def call(self, inputs):
        before = ops.repeat(inputs[:, :1], (self.kernel_size - 1) // 2, axis=1)
        behind = ops.repeat(inputs[:, -1:], self.kernel_size // 2, axis=1)
        padded = ops.concatenate([before, inputs, behind], axis=1)
        trend = ops.average_pool(padded, self.kernel_size, strides=1, data_format="channels_last")
        return inputs - trend, trend

    def get_config(self):
        return {**super().get_config(), "kernel_size": self.kernel_size}
