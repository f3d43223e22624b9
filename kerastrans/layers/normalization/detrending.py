"""Removal of a trailing moving average."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.validation import check_choice, check_positive_integers

AXES = ("time", "features")


@keras.saving.register_keras_serializable(package="kerastrans")
class Detrending(keras.layers.Layer):
    """Subtracts a moving average of the latest positions; no gradient flows through the layer.

    The first positions, which have too few before them, subtract the first complete average. An
    average over more positions than there are is one over all of them.

    Args:
        length: int, number of positions in the average.
        axis: "time" or "features", the axis of the average.

    Call arguments:
        inputs: `(batch, time, features)`.

    Returns:
        `(batch, time, features)`.

    Raises:
        ValueError: If `length` is below 1, or `axis` is unknown.

    Example:
        >>> from keras import ops
        >>> inputs = ops.convert_to_tensor([[[1.0], [3.0], [7.0]]])
        >>> ops.convert_to_numpy(Detrending(length=2)(inputs))[0, :, 0].tolist()
        [-1.0, 1.0, 2.0]

    Source: Liu et al. (2025), TimeBridge, section 3.
    """

    def __init__(self, length, axis="time", **kwargs):
        check_positive_integers(length=length)
        check_choice("axis", axis, AXES)
        super().__init__(**kwargs)
        self.length = length
        self.axis = axis

    def call(self, inputs):
        count = inputs.shape[1 + AXES.index(self.axis)]
        length = min(self.length, count)
        last = np.maximum(np.arange(count), length - 1)  # of the positions of each average
        first, positions = last - length + 1, np.arange(count)[:, None]
        averages = ((positions >= first) & (positions <= last)) / length  # (position, average)
        equation = "btf,ts->bsf" if self.axis == "time" else "btf,fs->bts"
        averages = ops.convert_to_tensor(averages, inputs.dtype)
        return ops.stop_gradient(inputs - ops.einsum(equation, inputs, averages))

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "length": self.length, "axis": self.axis}
