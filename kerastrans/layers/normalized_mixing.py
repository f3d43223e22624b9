"""A map over tokens whose weights are positive and add up to one."""

import keras
from keras import ops

from kerastrans.layers.dropout import Dropout
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_dropout

SMALLEST_SUM = 1e-12


@keras.saving.register_keras_serializable(package="kerastrans")
class NormalizedMixing(keras.layers.Layer):
    """Mixes tokens by a learnt matrix whose rows are positive and add up to 1 (NormLin).

    It replaces the matrix of an attention, which depends on the tokens, by one that all windows
    share. A softplus makes the weights positive; each row is then divided by its sum. The matrix
    begins with the identity plus standard normal noise, before the softplus.

    Args:
        dropout: float in [0, 1), dropout rate of the weights. All windows of a batch lose the same.

    Call arguments:
        inputs: `(batch, tokens, features)`.

    Returns:
        `(batch, tokens, features)`.

    Raises:
        ValueError: If `dropout` is outside [0, 1).

    Example:
        >>> from keras import ops
        >>> ops.shape(NormalizedMixing()(ops.ones((4, 3, 16))))
        (4, 3, 16)

    Source: Yue et al. (2025), OLinear, "NormLin".
    """

    def __init__(self, dropout=0.0, **kwargs):
        check_dropout(dropout)
        super().__init__(**kwargs)
        self.dropout = dropout
        self.weights_dropout = Dropout(dropout, dtype=full_precision())

    def build(self, inputs_shape):
        tokens = inputs_shape[1]
        noise = keras.initializers.RandomNormal(stddev=1.0)
        self.matrix = self.add_weight(
            shape=(tokens, tokens),
            initializer=lambda shape, dtype=None: (
                noise(shape, dtype) + ops.eye(tokens, dtype=dtype)
            ),
            dtype=full_precision(),
            autocast=False,
            name="matrix",
        )

    def call(self, inputs, training=False):
        weights = ops.softplus(self.matrix)
        total = ops.sum(weights, axis=-1, keepdims=True)
        weights = weights / ops.maximum(total, SMALLEST_SUM)
        weights = self.weights_dropout(weights, training=training)
        return ops.matmul(ops.cast(weights, inputs.dtype), inputs)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout}
