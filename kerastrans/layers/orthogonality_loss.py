"""A loss that keeps features orthogonal."""

import keras
from keras import ops

from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_non_negative


@keras.saving.register_keras_serializable(package="kerastrans")
class OrthogonalityLoss(keras.layers.Layer):
    """Adds a loss to the training that keeps features orthogonal over time; returns its inputs.

    The loss is the Frobenius norm of the products of different features, averaged over the windows
    and channels.

    Args:
        weight: float of at least 0, factor of the loss.

    Call arguments:
        inputs: `(batch, time, num_channels, features)`.

    Returns:
        `inputs`.

    Raises:
        ValueError: If `weight` is negative.

    Example:
        >>> from keras import ops
        >>> layer = OrthogonalityLoss(weight=0.5)
        >>> _ = layer(ops.ones((4, 10, 3, 2)), training=True)
        >>> round(float(layer.losses[0]), 2)
        7.07

    Source: Huang et al. (2025), TimeBase, section 3.3.
    """

    def __init__(self, weight, **kwargs):
        check_non_negative(weight=weight)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.weight = weight

    def call(self, inputs, training=False):
        if training:
            products = ops.einsum("btci,btcj->bcij", inputs, inputs)
            others = products * (1 - ops.eye(inputs.shape[-1], dtype=inputs.dtype))
            # The root of 0 has no gradient.
            norms = ops.sqrt(ops.sum(ops.square(others), axis=(-2, -1)) + 1e-12)
            self.add_loss(self.weight * ops.mean(norms))
        return inputs

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "weight": self.weight}
