"""A learnt cycle per channel that can be read at any position in time."""

import keras
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


@serializable
class RecurrentCycle(keras.layers.Layer):
    """One learnt period per channel, repeated periodically; it is zero before training.

    Args:
        cycle_length: int, number of steps in the period.
        num_channels: int, number of channels.

    Call arguments:
        position: Integers `(batch,)`, number of the first step, counted from an origin that is the
            same for all windows.
        length: int, number of steps to read.
        offset: int, number of steps from `position` to the first step to read.

    Returns:
        `(batch, length, num_channels)`.

    Raises:
        ValueError: If a size is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(RecurrentCycle(24, num_channels=3)(ops.convert_to_tensor([0, 5]), length=48))
        (2, 48, 3)

    Source: Lin et al. (2024), CycleNet, section 3.1.
    """

    def __init__(self, cycle_length, num_channels, **kwargs):
        check_positive_integers(cycle_length=cycle_length, num_channels=num_channels)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.cycle_length = cycle_length
        self.num_channels = num_channels

    def build(self, position_shape):
        self.cycle = self.add_weight(
            shape=(self.cycle_length, self.num_channels), initializer="zeros", name="cycle"
        )

    def call(self, position, length, offset=0):
        steps = ops.expand_dims(position, 1) + ops.arange(offset, offset + length, dtype="int32")
        return ops.take(self.cycle, ops.mod(steps, self.cycle_length), axis=0)
