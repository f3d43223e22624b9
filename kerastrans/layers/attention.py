"""Multi-head attention that can also decode one step at a time from a key/value cache."""

import keras
from keras import ops

from kerastrans.layers.dropout import Dropout
from kerastrans.layers.masks import combine_masks, create_look_ahead_mask
from kerastrans.utils.validation import check_dropout, check_positive_integers

HIDDEN_SCORE = -1e9  # in place of a hidden score, in float32, before the softmax


@keras.saving.register_keras_serializable(package="kerastrans")
class CachedMultiHeadAttention(keras.layers.Layer):
    """Multi-head scaled dot-product attention with a key/value cache for decoding.

    Without `memory` it is self-attention; with `memory` it is cross-attention, whose keys and
    values come from there. Its weights are those of `keras.layers.MultiHeadAttention` with
    `(num_heads, key_dim)` flattened to one axis, and its outputs are equal.

    A query whose every key is hidden attends to nothing: its attention is zero, finite in every
    dtype, with finite gradients. The softmax runs in float32 under mixed precision.

    Args:
        num_heads: int, number of heads.
        key_dim: int, width of each head's queries, keys and values.
        dropout: float in [0, 1), applied to the attention weights.
        causal: bool, whether position t sees only positions 0..t (self-attention alone).
        kernel_initializer: of the four projections, as in `keras.layers.Dense`.

    Call arguments:
        query: `(batch, query, d_model)`.
        memory: `(batch, key, memory_width)`; None for self-attention.
        padding_mask: boolean `(batch, key)`, or `(batch, query, key)` for one a query, as
            `create_padding_mask` makes them; True = may be attended to.
        attention_mask: boolean, broadcastable to `(batch, query, key)`, True = may be attended to.

    Returns:
        `(batch, query, d_model)`.

    Raises:
        ValueError: `num_heads` or `key_dim` below 1, `dropout` outside [0, 1).

    Source: Vaswani et al. (2017), section 3.2, equation 1.
    """

    def __init__(
        self,
        num_heads,
        key_dim,
        dropout=0.0,
        causal=False,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        check_positive_integers(num_heads=num_heads, key_dim=key_dim)
        check_dropout(dropout)
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.dropout = dropout
        self.causal = causal
        self.kernel_initializer = kernel_initializer
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

    def call(self, query, memory=None, padding_mask=None, attention_mask=None):
        keys, values = self.project(query if memory is None else memory)
        mask = self._mask(query, memory, padding_mask, attention_mask)
        return self.attend(query, keys, values, mask)

    def attention_scores(self, query, memory=None, padding_mask=None, attention_mask=None):
        """The weights `(batch, heads, query, key)` that `call` gives to the values."""
        keys, _ = self.project(query if memory is None else memory)
        mask = self._mask(query, memory, padding_mask, attention_mask)
        return self._weights(self._queries(query), keys, mask)

    def project(self, memory):
        """Keys and values of `memory`, each `(batch, heads, key, key_dim)`."""
        return self._split_heads(self.key_dense(memory)), self._split_heads(
            self.value_dense(memory)
        )

    def attend(self, query, keys, values, mask=None):
        """Attention of `query` `(B, Q, d_model)` over projected keys and values."""
        weights = self._weights(self._queries(query), keys, mask)  # (B, H, Q, K)
        attended = ops.matmul(self.weights_dropout(weights), values)  # (B, H, Q, D)
        return self._merge_heads(attended)

    def start_cache(self, query, memory=None, *_, batch_size, length, **__):
        """The `(keys, values)` to decode with: projected memory, or room for `length` steps."""
        if memory is not None:
            return self.project(memory)
        if not self.causal:
            raise ValueError(
                f"{self.name} sees later positions: only causal attention, or attention to a "
                "memory that does not grow, can be decoded step by step."
            )
        empty = ops.zeros((batch_size, self.num_heads, length, self.key_dim), self.compute_dtype)
        return empty, empty

    def decode(self, query, memory=None, padding_mask=None, attention_mask=None, *, cache, index):
        """One decoding step: `query` `(batch, 1, d_model)` stands at position `index`.

        Self-attention writes the step's key and value into the cache and sees positions
        0..index; cross-attention reads the cache that `start_cache` projected from the memory,
        and obeys the masks over it.

        Returns:
            The attention `(batch, 1, d_model)`, and the cache.
        """
        keys, values = cache
        if memory is None:
            new_key, new_value = self.project(query)
            keys = ops.slice_update(keys, (0, 0, index, 0), new_key)
            values = ops.slice_update(values, (0, 0, index, 0), new_value)
            mask = ops.reshape(ops.arange(keys.shape[2], dtype="int32") <= index, (1, 1, -1))
        else:
            mask = self._mask(query, memory, padding_mask, attention_mask)
        return self.attend(query, keys, values, mask), (keys, values)

    def _dense(self, units, name):
        start = self.kernel_initializer
        if isinstance(start, keras.initializers.Initializer):
            start = start.clone()  # one instance would give all projections the same weights
        return keras.layers.Dense(
            units, kernel_initializer=start, dtype=self.dtype_policy, name=name
        )

    def _mask(self, query, memory, padding_mask, attention_mask):
        """All that hides a key, in one mask; None if nothing does."""
        if self.causal and memory is not None:
            raise ValueError(f"{self.name} is causal: it attends to its own query, not a memory.")
        look_ahead = create_look_ahead_mask(ops.shape(query)[1]) if self.causal else None
        return combine_masks(_for_each_query(padding_mask), attention_mask, look_ahead)

    def _queries(self, query):
        """Scaled queries `(batch, heads, query, key_dim)`."""
        return self._split_heads(self.query_dense(query)) * self.key_dim**-0.5

    def _weights(self, queries, keys, mask):
        scores = ops.matmul(queries, ops.transpose(keys, (0, 1, 3, 2)))
        dtype = keras.backend.result_type(self.compute_dtype, "float32")
        scores = ops.cast(scores, dtype)
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
        """Every head's share `(B, H, T, D)` as the layer's output `(B, T, d_model)`."""
        batch, _, length, _ = ops.shape(attended)
        attended = ops.transpose(attended, (0, 2, 1, 3))
        return self.output_dense(ops.reshape(attended, (batch, length, -1)))

    def compute_output_shape(self, query_shape, memory_shape=None):
        return query_shape

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
        }


def _for_each_query(padding_mask):
    """Padding mask `(B, K)` as `(B, 1, K)`: the same for every query; others as they are."""
    if padding_mask is None or len(padding_mask.shape) == 3:
        return padding_mask
    return ops.expand_dims(padding_mask, 1)


def _softmax(scores):
    """Softmax over the keys; of a single key, as at a first step, `ops.softmax` would warn."""
    return ops.ones_like(scores) if scores.shape[-1] == 1 else ops.softmax(scores)
