"""A learnt vector that identifies the channel of a row of features."""

import keras
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_positive_integers


@serializable
class ChannelEmbedding(keras.layers.Layer):
    """Appends a learnt vector per channel to the features of the channel.

    Channels that share all other weights can thus respond to a covariate in different ways.

    Args:
        width: int, length of the vector.

    Call arguments:
        inputs: `(batch, num_channels, features)`.

    Returns:
        `(batch, num_channels, features + width)`.

    Raises:
        ValueError: If `width` is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(ChannelEmbedding(width=2)(ops.ones((4, 3, 16))))
        (4, 3, 18)

    Source: Das et al. (2023), the series embedding in the authors' code.
    """

    def __init__(self, width, **kwargs):
        check_positive_integers(width=width)
        super().__init__(**kwargs)
        self.width = width

    def build(self, inputs_shape):
        shape = (1, inputs_shape[1], self.width)
        self.vectors = self.add_weight(shape=shape, initializer="uniform", name="vectors")

    def call(self, inputs):
        shape = (ops.shape(inputs)[0], *self.vectors.shape[1:])
        vectors = ops.cast(ops.broadcast_to(self.vectors, shape), inputs.dtype)
        return ops.concatenate([inputs, vectors], axis=-1)

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], inputs_shape[-1] + self.width)
