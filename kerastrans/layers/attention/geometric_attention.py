"""Attention by the geometric product: inner and wedge products of queries and keys."""

import keras
from keras import ops

from kerastrans.layers.dropout import Dropout
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_dropout, check_non_negative, check_share

EPSILON = 1e-8  # added to the squared area, because the root of 0 has no gradient


@keras.saving.register_keras_serializable(package="kerastrans")
class GeometricAttention(keras.layers.Layer):
    """Attention whose scores mix inner products with areas between queries and keys.

    A query q and a key k have the score `(1 - wedge_share) q·k + wedge_share |q ∧ k|`, divided by
    the root of the number of features. `|q ∧ k|`, the root of `|q|² |k|² - (q·k)²`, is the area of
    the parallelogram of q and k: 0 for parallel vectors, largest for orthogonal ones.

    The layer has no weights. It computes the scores in float32.

    Args:
        wedge_share: float in [0, 1], share of the area in the scores.
        dropout: float in [0, 1), dropout rate of the attention weights.
        penalty: float of at least 0, factor of a loss in training, the mean of the absolute scores.

    Call arguments:
        query, key, value: `(batch, num_heads, tokens, features)`.

    Returns:
        `(batch, num_heads, tokens, features)`.

    Raises:
        ValueError: If `wedge_share` is outside [0, 1].
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `penalty` is negative.

    Example:
        >>> from keras import ops
        >>> x = ops.ones((4, 2, 10, 3))
        >>> ops.shape(GeometricAttention(wedge_share=0.5)(x, x, x))
        (4, 2, 10, 3)

    Source: Chen et al. (2025), SimpleTM, section 4.
    """

    def __init__(self, wedge_share=0.5, dropout=0.0, penalty=0.0, **kwargs):
        check_share(wedge_share=wedge_share)
        check_dropout(dropout)
        check_non_negative(penalty=penalty)
        super().__init__(**kwargs)
        self.wedge_share = wedge_share
        self.dropout = dropout
        self.penalty = penalty
        self.weights_dropout = Dropout(dropout, dtype=self.dtype_policy)

    def call(self, query, key, value, training=False):
        scores = self._scores(*(ops.cast(x, full_precision()) for x in (query, key)))
        if training and self.penalty:
            self.add_loss(self.penalty * ops.mean(ops.abs(scores)))
        weights = self.weights_dropout(ops.cast(ops.softmax(scores), value.dtype))
        return ops.matmul(weights, value)

    def _scores(self, query, key):
        """Return `(batch, num_heads, tokens, tokens)`."""
        features = query.shape[-1]
        inner = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
        scores = (1 - self.wedge_share) * inner
        if self.wedge_share and features > 1:  # two numbers are parallel
            squares = [ops.sum(ops.square(x), axis=-1) for x in (query, key)]
            area = squares[0][..., :, None] * squares[1][..., None, :] - ops.square(inner)
            # Rounding makes the square of a small area negative.
            scores = scores + self.wedge_share * ops.sqrt(ops.relu(area) + EPSILON)
        return scores * features**-0.5

    def compute_output_shape(self, query_shape, key_shape, value_shape):
        return value_shape

    def get_config(self):
        return {
            **super().get_config(),
            "wedge_share": self.wedge_share,
            "dropout": self.dropout,
            "penalty": self.penalty,
        }
