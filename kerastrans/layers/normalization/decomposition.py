"""Series decomposition: a moving average is the trend, what is left the season."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.validation import check_positive_integers

BLOCK = 128  # steps, of a series longer than two of them


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
        length = inputs.shape[1]
        block = max(BLOCK, self.kernel_size - 1)
        if length <= 2 * block:
            # One product with the averages' matrix: pooling takes five times as long on a CPU.
            trend = ops.einsum("bsc,st->btc", inputs, self._averages(length, length, inputs.dtype))
            return inputs - trend, trend
        trend = self._averages_by_block(inputs, length, block)
        return inputs - trend, trend

    def _averages_by_block(self, inputs, length, block):
        """The same in blocks of time: the cost grows with the length, not with its square."""
        reach = self.kernel_size - 1
        before, after = reach // 2, reach - reach // 2 + -length % block
        x = ops.concatenate(
            [
                ops.repeat(inputs[:, :1], before, axis=1),
                inputs,
                ops.repeat(inputs[:, -1:], after + block, axis=1),
            ],
            axis=1,
        )
        count, channels = -(-length // block), inputs.shape[2]
        x = ops.reshape(x[:, : (count + 1) * block], (-1, count + 1, block, channels))
        frames = ops.concatenate([x[:, :-1], x[:, 1:, :reach]], axis=2)
        averages = self._averages(block + reach, block, inputs.dtype)
        x = ops.einsum("bnsc,st->bntc", frames, averages)
        return ops.reshape(x, (-1, count * block, channels))[:, :length]

    def _averages(self, steps, length, dtype):
        """Matrix `(steps, length)`: the share of each step in each average.

        Of as many steps as averages the outermost take the place of those beyond them; of more,
        each average begins at its own step.
        """
        window = np.arange(self.kernel_size)
        if steps == length:
            window -= (self.kernel_size - 1) // 2
        places = np.clip(np.arange(length)[:, None] + window, 0, steps - 1)
        matrix = np.zeros((steps, length))
        np.add.at(matrix, (places, np.arange(length)[:, None]), 1 / self.kernel_size)
        return ops.convert_to_tensor(matrix, dtype)

    def get_config(self):
        return {**super().get_config(), "kernel_size": self.kernel_size}
