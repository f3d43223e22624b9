"""Interpretable multi-head attention, whose heads share their values."""

import keras
from keras import ops

from kerastrans.layers.attention.projected_attention import HIDDEN_SCORE
from kerastrans.layers.dropout import Dropout
from kerastrans.utils.validation import check_dropout, check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class InterpretableMultiHeadAttention(keras.layers.Layer):
    """Attention of the last positions of a sequence to all positions that are not later.

    Every head has its own queries and keys, but all heads share the values. Therefore the weights
    of the heads can be averaged, and the average is the importance of each position.

    Args:
        num_heads: int, number of heads.
        key_dim: int, width of queries, keys and values.
        dropout: float in [0, 1), dropout rate.
        use_bias: bool, whether queries, keys and values have a bias.
        drop_weights: bool, whether dropout is applied to the average weights, as up to version 0.2,
            instead of to the result of each head and to the projected average.

    Call arguments:
        query: `(batch, query, d_model)`, the last `query` positions of the memory.
        memory: `(batch, key, d_model)`.

    Returns:
        `(batch, query, d_model)`.

    Raises:
        ValueError: If a size is below 1.
        ValueError: If `dropout` is outside [0, 1).

    Example:
        >>> from keras import ops
        >>> layer = InterpretableMultiHeadAttention(num_heads=2, key_dim=8)
        >>> ops.shape(layer(ops.ones((4, 12, 16)), ops.ones((4, 36, 16))))
        (4, 12, 16)

    Source: Lim et al. (2021), equations 13-16.
    """

    def __init__(self, num_heads, key_dim, dropout=0.0, use_bias=True, drop_weights=True, **kwargs):
        check_positive_integers(num_heads=num_heads, key_dim=key_dim)
        check_dropout(dropout)
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.dropout = dropout
        self.use_bias = use_bias
        self.drop_weights = drop_weights
        heads = {
            "output_shape": (None, num_heads, key_dim),
            "bias_axes": "hk" if use_bias else None,
            "dtype": self.dtype_policy,
        }
        self.query_dense = keras.layers.EinsumDense("btd,dhk->bthk", name="query", **heads)
        self.key_dense = keras.layers.EinsumDense("btd,dhk->bthk", name="key", **heads)
        self.value_dense = keras.layers.Dense(
            key_dim, use_bias=use_bias, dtype=self.dtype_policy, name="value"
        )
        self.weights_dropout = Dropout(dropout, dtype=self.dtype_policy)
        if not drop_weights:
            self.output_dropout = Dropout(dropout, dtype=self.dtype_policy)

    def build(self, query_shape, memory_shape):
        self.query_dense.build(query_shape)
        self.key_dense.build(memory_shape)
        self.value_dense.build(memory_shape)
        self.output_dense = keras.layers.Dense(
            query_shape[-1], use_bias=False, dtype=self.dtype_policy, name="output"
        )
        self.output_dense.build((*query_shape[:-1], self.key_dim))

    def call(self, query, memory):
        queries = self.query_dense(query) * self.key_dim**-0.5
        scores = ops.einsum("bqhk,bmhk->bhqm", queries, self.key_dense(memory))
        dtype = keras.backend.result_type(self.compute_dtype, "float32")
        scores = ops.cast(scores, dtype)
        steps, length = query.shape[1], memory.shape[1]
        position = ops.reshape(ops.arange(length - steps, length), (-1, 1))
        visible = ops.arange(length) <= position  # (query, key)
        weights = ops.softmax(ops.where(visible, scores, ops.cast(HIDDEN_SCORE, dtype)))
        values = self.value_dense(memory)
        if self.drop_weights:
            weights = ops.cast(ops.mean(weights, axis=1), self.compute_dtype)
            return self.output_dense(ops.matmul(self.weights_dropout(weights), values))
        weights = ops.cast(weights, self.compute_dtype)
        heads = self.weights_dropout(ops.matmul(weights, ops.expand_dims(values, 1)))
        return self.output_dropout(self.output_dense(ops.mean(heads, axis=1)))

    def compute_output_shape(self, query_shape, memory_shape):
        return query_shape

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "drop_weights": self.drop_weights,
        }
