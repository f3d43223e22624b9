"""Multi-head attention: projections, heads and masked weights."""

import math
from typing import Any

import keras
from keras import ops

from kerastrans.layers.attention.copies import NO_COPIES
from kerastrans.layers.attention.long_attention import fuse, is_long, map_chunks
from kerastrans.layers.dropout import Dropout
from kerastrans.layers.initializers import fresh
from kerastrans.layers.masks import (
    check_attention_mask,
    check_padding_mask,
    combine_masks,
    create_look_ahead_mask,
    for_each_query,
    given_masks,
    hide_gaps,
    show_gaps,
)
from kerastrans.utils.keras_internals import KeepsQuantization, mask_of
from kerastrans.utils.types import Tensor
from kerastrans.utils.validation import check_dropout, check_positive_integers, check_sequence

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
        initial = {"kernel_initializer": self.kernel_initializer}
        initial["bias_initializer"] = self.bias_initializer
        options = {"use_bias": self.use_bias, "dtype": self.dtype_policy, "name": name}
        return keras.layers.Dense(units, **fresh(initial), **options)

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


class MultiHeadAttention(ProjectedAttention):
    """Scaled dot-product attention with masks: `CachedMultiHeadAttention` without its cache.

    Source: Vaswani et al. (2017), section 3.2, equation 1.
    """

    def build(self, query_shape, value_shape=None, key_shape=None):
        check_sequence(query=query_shape, value=value_shape, key=key_shape)
        super().build(query_shape, value_shape, key_shape)

    def __call__(
        self, query, value=None, key=None, padding_mask=None, attention_mask=None, **kwargs
    ):
        if value is query and (key is None or key is query):
            value = key = None  # self-attention, as without them
        if key is not None:
            _check_key(key, value)
        queries, keys = (_length(x) for x in (query, query if value is None else value))
        check_padding_mask("padding_mask", padding_mask, keys)
        check_attention_mask("attention_mask", attention_mask, queries, keys)
        given = [x for x in (query, value, key) if x is not None]
        return super().__call__(*given, **given_masks(padding_mask, attention_mask), **kwargs)

    def call(
        self,
        query: Tensor,
        value: Tensor | None = None,
        key: Tensor | None = None,
        padding_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        use_causal_mask: bool | None = None,
        query_mask: Tensor | None = None,
        value_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        masks = {"query_mask": mask_of(query) if query_mask is None else query_mask}
        masks |= {"value_mask": value_mask, "key_mask": key_mask}
        masks |= given_masks(padding_mask, attention_mask)
        query, keys, values, mask, gaps = self._prepare(query, value, key, use_causal_mask, **masks)
        in_chunks = training and is_long(query.shape[1], keys.shape[2], self.dropout)
        attend = self._attend_long if in_chunks else self.attend
        return show_gaps(gaps, attend(query, keys, values, mask))

    def attention_scores(
        self,
        query: Tensor,
        value: Tensor | None = None,
        key: Tensor | None = None,
        padding_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        use_causal_mask: bool | None = None,
        **masks: Any,
    ) -> Tensor:
        """Return the weights `(batch, heads, query, key)` that `call` gives to the values.

        The weights are returned before dropout. The method has the arguments of `call`.
        """
        if value is query and (key is None or key is query):
            value = key = None  # self-attention, as without them
        masks |= given_masks(padding_mask, attention_mask)
        query, keys, _, mask, gaps = self._prepare(query, value, key, use_causal_mask, **masks)
        gaps = None if gaps is None else ops.expand_dims(gaps, 1)  # for each head
        return show_gaps(gaps, self.weigh(query, keys, mask))

    def weigh(self, query, keys, mask=None, copies=NO_COPIES):
        """Return the weights `(B, H, Q, K)` of projected keys for `query` `(B, Q, d_model)`."""
        return self._weights(self._queries(query), keys, mask, copies)

    def attend(self, query, keys, values, mask=None, copies=NO_COPIES):
        """Return the attention of `query` `(B, Q, d_model)` to projected keys and values."""
        weights = self.weigh(query, keys, mask, copies)  # (B, H, Q, K)
        weights = copies.fold(self.weights_dropout(weights))
        attended = copies.unfold(ops.matmul(weights, values))  # (B, H, Q, D)
        return self._merge_heads(attended)

    def _attend_long(self, query, keys, values, mask):
        """Return what `attend` returns in training, but keep no weights for the gradient."""
        queries = self._queries(query)
        if keras.backend.backend() == "torch":
            return self._merge_heads(fuse(queries, keys, values, mask))
        drawn = self.weights_dropout.draw() if self.dropout else None

        def attend(start, queries, keys, values, mask=None):
            weights = self._weights(queries, keys, mask)
            if drawn is not None:
                size = math.prod(ops.shape(weights)) // weights.shape[2]  # of all heads of a query
                weights = self.weights_dropout.drop(weights, drawn, start * size)
            return ops.matmul(weights, values)

        return self._merge_heads(map_chunks(attend, queries, keys, values, mask))

    def _is_causal(self, use_causal_mask):
        return self.causal if use_causal_mask is None else use_causal_mask

    def _prepare(self, query, value, key, use_causal_mask, **masks):
        """Return the query, projected keys and values, one mask, and `gaps` for `show_gaps`."""
        is_causal = self._is_causal(use_causal_mask)
        if is_causal and value is not None:
            raise ValueError(f"{self.name} is causal: it attends to its own query, not a memory.")
        look_ahead = create_look_ahead_mask(ops.shape(query)[1]) if is_causal else None
        mask = combine_masks(*masks_per_query(value, **masks).values(), look_ahead)
        query, value, key, gaps = hide_gaps(mask, query, value, key)
        keys, values = self.project(query if value is None else value, key)
        return query, keys, values, mask, gaps

    def compute_mask(self, query, previous_mask):
        return previous_mask

    def compute_output_shape(self, query_shape, value_shape=None, key_shape=None):
        return self.output_shape_of(query_shape)


def masks_per_query(value, *, attention_mask=None, query_mask=None, training=None, **padding_masks):
    """Return the given masks by name, each broadcastable to `(batch, query, key)`.

    The mask of the query hides keys only in self-attention. `training` is ignored, because calls
    have this argument and decoding has not.
    """
    if value is None:
        padding_masks["query_mask"] = query_mask
    masks = {name: for_each_query(mask) for name, mask in padding_masks.items()}
    masks["attention_mask"] = attention_mask
    return {name: mask for name, mask in masks.items() if mask is not None}


def _check_key(key, value):
    """Raise ValueError unless there is one key for each value."""
    if value is None:
        raise ValueError("a key requires a value, got None.")
    if keras.backend.standardize_dtype(getattr(key, "dtype", "float32")) == "bool":
        raise ValueError("key must be numbers, got a boolean tensor: give a mask as padding_mask=.")
    if None not in (sizes := (_length(key), _length(value))) and sizes[0] != sizes[1]:
        raise ValueError(f"key must have as many steps as value, {sizes[1]}, got {sizes[0]}.")


def _length(x):
    """Return the number of steps of a sequence; None if it is not known."""
    shape = getattr(x, "shape", ())
    return shape[1] if len(shape) > 1 else None


def _serialized(initializer):
    return keras.initializers.serialize(keras.initializers.get(initializer))


def softmax_over_keys(scores):
    """Return the softmax over the keys, without the warning of `ops.softmax` for a single key.

    The gradient of a single key is zero, and not missing, so that no optimizer warns of it.
    """
    return ops.exp(scores - scores) if scores.shape[-1] == 1 else ops.softmax(scores)
