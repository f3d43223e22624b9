"""The last tokens of a sequence whose length is not known when the graph is built."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kerastrans")
class LastTokens(keras.layers.Layer):
    """Returns as many last tokens of a sequence as another sequence has.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(..., time, width)`.
        like: `(..., last, any)`; only its number of tokens is used.

    Returns:
        `(..., last, width)`.

    Example:
        >>> from keras import ops
        >>> ops.shape(LastTokens()(ops.ones((4, 10, 16)), ops.ones((4, 3, 1))))
        (4, 3, 16)
    """

    def call(self, inputs, like):
        first = ops.shape(inputs)[-2] - ops.shape(like)[-2]
        return inputs[..., first:, :]

    def compute_output_shape(self, inputs_shape, like_shape):
        return (*inputs_shape[:-2], like_shape[-2], inputs_shape[-1])
