"""Base of the multi-head attention layers: projections, heads and masked weights."""

from typing import Any

import keras
from keras import ops

from kerastrans.layers.attention.copies import NO_COPIES
from kerastrans.layers.dropout import Dropout
from kerastrans.utils.validation import check_dropout, check_positive_integers

HIDDEN_SCORE = -1e9  # in place of a hidden score, in float32, before the softmax


class ProjectedAttention(keras.layers.Layer):
    """Base class of multi-head attention layers, which define `call`.

    Args:
        num_heads, key_dim, dropout, causal, kernel_initializer, use_bias: See
            `CachedMultiHeadAttention`.
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        dropout: float = 0.0,
        causal: bool = False,
        kernel_initializer: Any = "glorot_uniform",
        use_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        check_positive_integers(num_heads=num_heads, key_dim=key_dim)
        check_dropout(dropout)
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.dropout = dropout
        self.causal = causal
        self.kernel_initializer = kernel_initializer
        self.use_bias = use_bias
        width = num_heads * key_dim
        self.query_dense = self._dense(width, "query")
        self.key_dense = self._dense(width, "key")
        self.value_dense = self._dense(width, "value")
        self.weights_dropout = Dropout(dropout, dtype=self.dtype_policy)

    def build(self, query_shape, memory_shape=None):
        memory_shape = memory_shape or query_shape
        self.query_dense.build(query_shape)
        self.key_dense.build(memory_shape)
        self.value_dense.build(memory_shape)
        self.output_dense = self._dense(query_shape[-1], "output")
        self.output_dense.build((*query_shape[:-1], self.num_heads * self.key_dim))

    def project(self, memory):
        """Return keys and values of `memory`, each `(batch, heads, key, key_dim)`."""
        return self._split_heads(self.key_dense(memory)), self._split_heads(
            self.value_dense(memory)
        )

    def _dense(self, units, name):
        initializer = self.kernel_initializer
        if isinstance(initializer, keras.initializers.Initializer):
            # One instance would give all projections the same weights.
            initializer = type(initializer).from_config(initializer.get_config())
        return keras.layers.Dense(
            units,
            kernel_initializer=initializer,
            use_bias=self.use_bias,
            dtype=self.dtype_policy,
            name=name,
        )

    def _queries(self, query):
        """Return scaled queries `(batch, heads, query, key_dim)`."""
        return self._split_heads(self.query_dense(query)) * self.key_dim**-0.5

    def _scores(self, queries, keys):
        """Return products of queries and keys `(batch, heads, query, key)`, in full precision."""
        dtype = keras.backend.result_type(self.compute_dtype, "float32")
        if self.compute_dtype == "float16":  # whose products overflow above 65,504
            queries, keys = ops.cast(queries, dtype), ops.cast(keys, dtype)
        return ops.cast(ops.matmul(queries, ops.transpose(keys, (0, 1, 3, 2))), dtype)

    def _weights(self, queries, keys, mask, copies=NO_COPIES):
        """Return the weight of each value for each query; `copies` of a query share the keys."""
        scores = copies.unfold(self._scores(copies.fold(queries), keys))
        return self._normalise(scores, mask)

    def _normalise(self, scores, mask):
        """Return the weight of each value for each query: the softmax of the visible scores."""
        dtype = scores.dtype
        if mask is None:
            return ops.cast(_softmax(scores), self.compute_dtype)
        mask = ops.cast(mask, "bool")
        if len(mask.shape) == 3:
            mask = ops.expand_dims(mask, 1)  # (B, 1, Q, K): the same for every head
        weights = _softmax(ops.where(mask, scores, ops.cast(HIDDEN_SCORE, dtype)))
        # A query with nothing to see has a uniform softmax: the second `where` makes it zero.
        return ops.cast(ops.where(mask, weights, ops.cast(0, dtype)), self.compute_dtype)

    def _split_heads(self, x):
        batch, length, _ = ops.shape(x)
        x = ops.reshape(x, (batch, length, self.num_heads, self.key_dim))
        return ops.transpose(x, (0, 2, 1, 3))  # (B, H, T, D)

    def _merge_heads(self, attended):
        """Project the results of all heads `(B, H, T, D)` to the output `(B, T, d_model)`."""
        batch, _, length, _ = ops.shape(attended)
        attended = ops.transpose(attended, (0, 2, 1, 3))
        width = self.num_heads * self.key_dim
        return self.output_dense(ops.reshape(attended, (batch, length, width)))

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "dropout": self.dropout,
            "causal": self.causal,
            "kernel_initializer": keras.initializers.serialize(
                keras.initializers.get(self.kernel_initializer)
            ),
            "use_bias": self.use_bias,
        }


def _softmax(scores):
    """Return the softmax over the keys, without the warning of `ops.softmax` for a single key."""
    return ops.ones_like(scores) if scores.shape[-1] == 1 else ops.softmax(scores)
