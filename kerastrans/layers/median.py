"""The median of several tensors."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kerastrans")
class Median(keras.layers.Layer):
    """The median of several tensors, element by element; of an even number the mean of the two.

    Args:
        **kwargs: arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: list of tensors of one shape.

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
        return (ordered[..., low] + ordered[..., high]) / 2

    def compute_output_shape(self, inputs_shape):
        return inputs_shape[0]
