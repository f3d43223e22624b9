"""A weighted residual connection."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kerastrans")
class WeightedResidual(keras.layers.Layer):
    """Adds the output of a sublayer to its input, with weights whose squares add up to one.

    The weights are in the ratio `tau` to 1, so that the sum of two independent inputs of variance
    one has variance one. `tau` is a non-trainable weight.

    Call arguments:
        inputs: `(..., d_model)`, output of the sublayer.
        skip: `(..., d_model)`, input of the sublayer.

    Returns:
        `(..., d_model)`.

    Example:
        >>> from keras import ops
        >>> ops.shape(WeightedResidual()(ops.ones((4, 10, 16)), ops.ones((4, 10, 16))))
        (4, 10, 16)

    Source: Blake et al. (2024), "u-muP: the unit-scaled maximal update parametrization", section 4.
    """

    def build(self, inputs_shape, skip_shape):
        self.tau = self.add_weight(shape=(), initializer="ones", trainable=False, name="tau")

    def call(self, inputs, skip):
        return (self.tau * inputs + skip) * ops.rsqrt(1 + ops.square(self.tau))

    def compute_output_shape(self, inputs_shape, skip_shape):
        return inputs_shape
