"""Series decomposition: the trend is a moving average, the season is the remainder."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_choice, check_positive_integers

_BLOCK_LENGTH = 128  # number of steps in a block; series longer than two blocks are cut


@serializable
class SeriesDecomposition(keras.layers.Layer):
    """Splits a series into season and trend; the trend is a centred moving average.

    Both ends are padded with their outermost value, so that the length does not change.

    Args:
        kernel_size: int, number of steps in the average.
        longer: "ahead" or "back", the longer side of an average over an even number of steps.

    Call arguments:
        inputs: `(batch, time, num_channels)`.

    Returns:
        `(season, trend)`, each `(batch, time, num_channels)`; their sum is `inputs`.

    Raises:
        ValueError: If `kernel_size` is below 1, or `longer` is unknown.

    Example:
        >>> from keras import ops
        >>> season, trend = SeriesDecomposition(kernel_size=25)(ops.ones((4, 48, 3)))
        >>> ops.shape(season), ops.shape(trend)
        ((4, 48, 3), (4, 48, 3))

    Source: Wu et al. (2021), equation 1.
    """

    def __init__(self, kernel_size, longer="ahead", **kwargs):
        check_positive_integers(kernel_size=kernel_size)
        check_choice("longer", longer, ("ahead", "back"))
        super().__init__(**kwargs)
        self.kernel_size = kernel_size
        self.longer = longer
        # Number of steps of an average before the one that it belongs to.
        self.before = (kernel_size - (longer == "ahead")) // 2

    def call(self, inputs):
        length = inputs.shape[1]
        block = max(_BLOCK_LENGTH, self.kernel_size - 1)
        if length <= 2 * block:
            # Multiply by a matrix of averages: pooling takes five times as long on a CPU.
            trend = ops.einsum("bsc,st->btc", inputs, self._averages(length, length, inputs.dtype))
            return inputs - trend, trend
        trend = self._averages_by_block(inputs, length, block)
        return inputs - trend, trend

    def _averages_by_block(self, inputs, length, block):
        """Compute the trend in blocks of time, at a cost linear (not quadratic) in the length."""
        reach = self.kernel_size - 1
        before, after = self.before, reach - self.before + -length % block
        x = ops.concatenate(
            [
                ops.repeat(inputs[:, :1], before, axis=1),
                inputs,
                ops.repeat(inputs[:, -1:], after + block, axis=1),
            ],
            axis=1,
        )
        # Each block is followed by the first steps of the next one, which its averages reach into.
        count, channels = -(-length // block), inputs.shape[2]
        x = ops.reshape(x[:, : (count + 1) * block], (-1, count + 1, block, channels))
        frames = ops.concatenate([x[:, :-1], x[:, 1:, :reach]], axis=2)
        averages = self._averages(block + reach, block, inputs.dtype)
        x = ops.einsum("bnsc,st->bntc", frames, averages)
        return ops.reshape(x, (-1, count * block, channels))[:, :length]

    def _averages(self, steps, length, dtype):
        """Return the matrix `(steps, length)` of the weight of each step in each average.

        If `steps == length`, the averages are centred and the outermost steps are repeated beyond
        both ends; otherwise average i covers the steps from i.
        """
        window = np.arange(self.kernel_size)
        if steps == length:
            window -= self.before
        places = np.clip(np.arange(length)[:, None] + window, 0, steps - 1)
        matrix = np.zeros((steps, length))
        np.add.at(matrix, (places, np.arange(length)[:, None]), 1 / self.kernel_size)
        return ops.convert_to_tensor(matrix, dtype)
