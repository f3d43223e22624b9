"""Embedding of the values of a step and its two neighbours."""

import keras
from keras import ops

from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class ValueEmbedding(keras.layers.Layer):
    """Convolution over three steps of the series, with circular padding and without bias.

    Args:
        d_model: int, number of output features.

    Call arguments:
        inputs: `(batch, time, channels)`.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If `d_model` is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(ValueEmbedding(d_model=16)(ops.ones((4, 48, 3))))
        (4, 48, 16)

    Source: Zhou et al. (2021), Informer, appendix B.
    """

    def __init__(self, d_model, **kwargs):
        check_positive_integers(d_model=d_model)
        super().__init__(**kwargs)
        self.d_model = d_model

    def build(self, inputs_shape):
        self.kernel = self.add_weight(
            shape=(3 * inputs_shape[-1], self.d_model), initializer="he_normal", name="kernel"
        )

    def call(self, inputs):
        padded = ops.concatenate([inputs[:, -1:], inputs, inputs[:, :1]], axis=1)
        steps = ops.concatenate([padded[:, :-2], inputs, padded[:, 2:]], axis=-1)
        return ops.matmul(steps, ops.cast(self.kernel, steps.dtype))

    def get_config(self):
        return {**super().get_config(), "d_model": self.d_model}
