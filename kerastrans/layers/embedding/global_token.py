"""A learnt token after each channel's sequence."""

import keras
from keras import ops

from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class GlobalToken(keras.layers.Layer):
    """Appends a learnt token per channel to the sequence of the channel.

    Args:
        num_channels: int, number of channels that were folded into the batch.

    Call arguments:
        inputs: `(batch * num_channels, tokens, d_model)`.

    Returns:
        `(batch * num_channels, tokens + 1, d_model)`.

    Raises:
        ValueError: If `num_channels` is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(GlobalToken(num_channels=3)(ops.ones((12, 10, 16))))
        (12, 11, 16)

    Source: Wang et al. (2024), TimeXer, equation 3.
    """

    def __init__(self, num_channels, **kwargs):
        check_positive_integers(num_channels=num_channels)
        super().__init__(**kwargs)
        self.num_channels = num_channels

    def build(self, inputs_shape):
        normal = keras.initializers.RandomNormal(stddev=1.0)
        self.tokens = self.add_weight(
            shape=(1, self.num_channels, inputs_shape[-1]), initializer=normal, name="tokens"
        )

    def call(self, inputs):
        width = inputs.shape[-1]
        batch = ops.shape(inputs)[0] // self.num_channels
        tokens = ops.broadcast_to(self.tokens, (batch, self.num_channels, width))
        tokens = ops.cast(ops.reshape(tokens, (-1, 1, width)), inputs.dtype)
        return ops.concatenate([inputs, tokens], axis=1)

    def compute_output_shape(self, inputs_shape):
        return (inputs_shape[0], inputs_shape[1] + 1, inputs_shape[2])

    def get_config(self):
        return {**super().get_config(), "num_channels": self.num_channels}
