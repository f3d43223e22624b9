"""Series decomposition: a moving average is the trend, what is left the season."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.validation import check_positive_integers


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

    Example:
        >>> from keras import ops
        >>> season, trend = SeriesDecomposition(kernel_size=25)(ops.ones((4, 48, 3)))
        >>> ops.shape(season), ops.shape(trend)
        ((4, 48, 3), (4, 48, 3))

    Source: Wu et al. (2021), equation 1.
    """

    def __init__(self, kernel_size, **kwargs):
        check_positive_integers(kernel_size=kernel_size)
        super().__init__(**kwargs)
        self.kernel_size = kernel_size

    def call(self, inputs):
        # One product with the averages' matrix: pooling takes five times as long on a CPU.
        averages = ops.convert_to_tensor(self._averages(inputs.shape[1]).T, inputs.dtype)
        trend = ops.einsum("bsc,st->btc", inputs, averages)
        return inputs - trend, trend

    def _averages(self, length):
        """Matrix `(time, time)`: the share of each step in each step's average."""
        window = np.arange(self.kernel_size) - (self.kernel_size - 1) // 2
        steps = np.clip(np.arange(length)[:, None] + window, 0, length - 1)
        matrix = np.zeros((length, length))
        np.add.at(matrix, (np.arange(length)[:, None], steps), 1 / self.kernel_size)
        return matrix

    def get_config(self):
        return {**super().get_config(), "kernel_size": self.kernel_size}
