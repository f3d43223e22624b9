"""Base of the multi-head attention layers: projections, heads and masked weights."""

from typing import Any

import keras
from keras import ops

from kerastrans.layers.attention.copies import NO_COPIES
from kerastrans.layers.dropout import Dropout
from kerastrans.layers.initializers import copy_initializer
from kerastrans.utils.keras_internals import KeepsQuantization
from kerastrans.utils.validation import check_dropout, check_positive_integers

HIDDEN_SCORE = -1e9  # in place of a hidden score, in float32, before the softmax


class ProjectedAttention(KeepsQuantization, keras.layers.Layer):
    """Base class of multi-head attention layers, which define `call`.

    Args:
        num_heads, key_dim, value_dim, output_shape, dropout, causal, kernel_initializer,
        bias_initializer, use_bias: See `CachedMultiHeadAttention`.
    """

    def __init__(
        self,
        *,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        output_shape: int | None = None,
        dropout: float = 0.0,
        causal: bool = False,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        use_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        value_dim = key_dim if value_dim is None else value_dim
        check_positive_integers(num_heads=num_heads, key_dim=key_dim, value_dim=value_dim)
        if output_shape is not None:
            check_positive_integers(output_shape=output_shape)
        check_dropout(dropout)
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = value_dim
        self.output_width = output_shape
        self.dropout = dropout
        self.causal = causal
        self.kernel_initializer = kernel_initializer
        self.bias_initializer = bias_initializer
        self.use_bias = use_bias
        self.query_dense = self._dense(num_heads * key_dim, "query")
        self.key_dense = self._dense(num_heads * key_dim, "key")
        self.value_dense = self._dense(num_heads * value_dim, "value")
        self.weights_dropout = Dropout(dropout, dtype=self.dtype_policy)

    def build(self, query_shape, value_shape=None, key_shape=None):
        value_shape = value_shape or query_shape
        key_shape = key_shape or value_shape
        self.query_dense.build(query_shape)
        self.key_dense.build(key_shape)
        self.value_dense.build(value_shape)
        self.output_dense = self._dense(self.output_shape_of(query_shape)[-1], "output")
        self.output_dense.build((*query_shape[:-1], self.num_heads * self.value_dim))

    def project(self, value, key=None):
        """Return projected keys `(batch, heads, key, key_dim)` and values `(..., value_dim)`.

        The keys are made of `value` if there is no `key`.
        """
        keys = self._heads_of(self.key_dense, value if key is None else key)
        return keys, self._heads_of(self.value_dense, value)

    def _dense(self, units, name):
        # One instance of an initializer would give all projections the same weights.
        return keras.layers.Dense(
            units,
            kernel_initializer=copy_initializer(self.kernel_initializer),
            bias_initializer=copy_initializer(self.bias_initializer),
            use_bias=self.use_bias,
            dtype=self.dtype_policy,
            name=name,
        )

    def output_shape_of(self, query_shape):
        """Return the shape of the result for this shape of the query."""
        return (*query_shape[:-1], self.output_width or query_shape[-1])

    def _queries(self, query):
        """Return scaled queries `(batch, heads, query, key_dim)`."""
        return self._heads_of(self.query_dense, query) * self.key_dim**-0.5

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
            return ops.cast(softmax_over_keys(scores), self.compute_dtype)
        mask = ops.cast(mask, "bool")
        if len(mask.shape) == 3:
            mask = ops.expand_dims(mask, 1)  # (B, 1, Q, K): the same for every head
        weights = softmax_over_keys(ops.where(mask, scores, ops.cast(HIDDEN_SCORE, dtype)))
        # A query with nothing to see has a uniform softmax: the second `where` makes it zero.
        return ops.cast(ops.where(mask, weights, ops.cast(0, dtype)), self.compute_dtype)

    def _heads_of(self, dense, x):
        """Return one projection of `x` `(B, T, d_model)` by heads, `(B, H, T, D)`."""
        # The ONNX converter merges the last reshape of `dense` with what follows. It makes errors
        # if a reshape reads the sizes of the product, or a transposition moves an axis of size 1.
        if self.num_heads == 1:
            return ops.expand_dims(dense(x), 1)
        batch, length, _ = ops.shape(x)
        x = ops.reshape(dense(x), (batch, length, self.num_heads, dense.units // self.num_heads))
        return ops.transpose(x, (0, 2, 1, 3))

    def _merge_heads(self, attended):
        """Project the results of all heads `(B, H, T, D)` to the output `(B, T, d_model)`."""
        batch, _, length, _ = ops.shape(attended)
        attended = ops.transpose(attended, (0, 2, 1, 3))
        width = self.num_heads * self.value_dim
        return self.output_dense(ops.reshape(attended, (batch, length, width)))

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "output_shape": self.output_width,
            "dropout": self.dropout,
            "causal": self.causal,
            "kernel_initializer": _serialized(self.kernel_initializer),
            "bias_initializer": _serialized(self.bias_initializer),
            "use_bias": self.use_bias,
        }


def _serialized(initializer):
    return keras.initializers.serialize(keras.initializers.get(initializer))


def softmax_over_keys(scores):
    """Return the softmax over the keys, without the warning of `ops.softmax` for a single key.

    The gradient of a single key is zero, and not missing, so that no optimizer warns of it.
    """
    return ops.exp(scores - scores) if scores.shape[-1] == 1 else ops.softmax(scores)
