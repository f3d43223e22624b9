"""Embedding of the values of a step and its two neighbours."""

import keras
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_positive_integers


@serializable
class ValueEmbedding(keras.layers.Layer):
    """Convolution over three steps of the series, with circular padding.

    Args:
        d_model: int, number of output features.
        use_bias: bool, whether a bias is added.
        kernel_initializer: Initializer of the kernel, as in `keras.layers.Dense`.

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

    def __init__(self, d_model, use_bias=False, kernel_initializer="he_normal", **kwargs):
        check_positive_integers(d_model=d_model)
        super().__init__(**kwargs)
        self.d_model = d_model
        self.use_bias = use_bias
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, inputs_shape):
        self.kernel = self.add_weight(
            shape=(3 * inputs_shape[-1], self.d_model),
            initializer=self.kernel_initializer,
            name="kernel",
        )
        if self.use_bias:
            self.bias = self.add_weight(shape=(self.d_model,), initializer="zeros", name="bias")

    def call(self, inputs):
        padded = ops.concatenate([inputs[:, -1:], inputs, inputs[:, :1]], axis=1)
        steps = ops.concatenate([padded[:, :-2], inputs, padded[:, 2:]], axis=-1)
        x = ops.matmul(steps, ops.cast(self.kernel, steps.dtype))
        return x + ops.cast(self.bias, x.dtype) if self.use_bias else x
