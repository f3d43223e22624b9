"""The median of several tensors."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kerastrans")
class Median(keras.layers.Layer):
    """Element-wise median of several tensors.

    For an even number of tensors it is the mean of the two middle values.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: List of tensors of the same shape.

    Returns:
        A tensor of that shape.

    Example:
        >>> import numpy as np
        >>> np.asarray(Median()([np.array([1.0, 9.0]), np.array([3.0, 2.0])])).tolist()
        [2.0, 5.5]
    """

    def call(self, inputs):
        ordered = ops.sort(ops.stack(inputs, axis=-1), axis=-1)
        low, high = (len(inputs) - 1) // 2, len(inputs) // 2
        return ordered[..., low] / 2 + ordered[..., high] / 2  # a sum can overflow in float16

    def compute_output_shape(self, inputs_shape):
        return inputs_shape[0]
