"""Conditioning of a block that several scales share on the current scale."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class DilationCondition(keras.layers.Layer):
    """Scales and shifts each feature by amounts that depend only on a dilation.

    The amounts are a linear function of sines and cosines of the logarithm of the dilation.

    Args:
        num_frequencies: int, number of frequencies of the sines and cosines.

    Call arguments:
        inputs: `(batch, time, d_model)`.
        dilation: int, the dilation to condition on.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If `num_frequencies` is below 1.

    Example:
        >>> from keras import ops
        >>> layer = DilationCondition(num_frequencies=4)
        >>> ops.shape(layer(ops.ones((4, 10, 16)), dilation=8))
        (4, 10, 16)

    Source: Perez et al. (2018), "FiLM", equation 1.
    """

    def __init__(self, num_frequencies, **kwargs):
        check_positive_integers(num_frequencies=num_frequencies)
        super().__init__(**kwargs)
        self.num_frequencies = num_frequencies

    def build(self, inputs_shape):
        # Zeros, so that an untrained condition is the identity.
        self.dense = keras.layers.Dense(
            2 * inputs_shape[-1], kernel_initializer="zeros", dtype=self.dtype_policy, name="dense"
        )
        self.dense.build((1, 2 * self.num_frequencies))

    def call(self, inputs, dilation=1):
        angles = np.pi * np.log2(dilation) / 2.0 ** np.arange(self.num_frequencies)
        waves = np.concatenate([np.sin(angles), np.cos(angles)])[None]
        scale, shift = ops.split(
            self.dense(ops.convert_to_tensor(waves, dtype=self.compute_dtype)), 2, axis=-1
        )
        return inputs * (1 + scale) + shift

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "num_frequencies": self.num_frequencies}
