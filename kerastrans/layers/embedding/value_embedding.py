"""Values become features: each step with its two neighbours."""

import keras
from keras import ops

from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class ValueEmbedding(keras.layers.Layer):
    """Convolution over three steps of the series, taken as a circle, without bias.

    Args:
        d_model: int, output features.

    Call arguments:
        inputs: `(batch, time, channels)`.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: `d_model` below 1.

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
        around = ops.concatenate([inputs[:, -1:], inputs, inputs[:, :1]], axis=1)
        steps = ops.concatenate([around[:, :-2], inputs, around[:, 2:]], axis=-1)
        return ops.matmul(steps, ops.cast(self.kernel, steps.dtype))

    def get_config(self):
        return {**super().get_config(), "d_model": self.d_model}
