"""Multi-head attention that can also decode step by step with a key/value cache."""

import inspect
import math

import keras
from keras import ops

from kerastrans.layers.attention.copies import NO_COPIES
from kerastrans.layers.attention.long_attention import fuse, is_long, map_chunks
from kerastrans.layers.attention.projected_attention import ProjectedAttention
from kerastrans.layers.masks import (
    check_attention_mask,
    check_padding_mask,
    combine_masks,
    create_look_ahead_mask,
    for_each_query,
    hide_gaps,
    row_of_mask,
    show_gaps,
)
from kerastrans.utils.keras_internals import mask_of
from kerastrans.utils.types import Tensor
from kerastrans.utils.validation import check_sequence

_MASKS = "padding_mask", "attention_mask", "query_mask", "value_mask", "key_mask"


@keras.saving.register_keras_serializable(package="kerastrans")
class CachedMultiHeadAttention(ProjectedAttention):
    """Multi-head scaled dot-product attention with a key/value cache for decoding.

    With the query only, or `layer(x, x, x)`, it is self-attention; otherwise it is
    cross-attention to the steps of `value`. Arguments, weights and outputs are those of
    `keras.layers.MultiHeadAttention`, with `(num_heads, key_dim)` flattened to one axis of the
    weights. Implicit masks, such as those of `keras.layers.Embedding(mask_zero=True)`, hide keys
    in addition to the masks that are given.

    If all keys of a query are hidden, its attention is zero and its gradients are finite. A step
    that is NaN reaches only the queries that may attend to it. The softmax runs in float32 under
    mixed precision.

    Args:
        num_heads: int, number of heads.
        key_dim: int, width of each head's queries and keys.
        value_dim: int, width of each head's values; `key_dim` by default.
        output_shape: int, width of the result; the width of the query by default.
        dropout: float in [0, 1), applied to the attention weights.
        causal: bool, whether position t sees only positions 0..t; for self-attention only.
        kernel_initializer: Initializer of the four projections, as in `keras.layers.Dense`.
        bias_initializer: Initializer of their biases.
        use_bias: bool, whether the four projections have biases.

    Call arguments:
        query: `(batch, query, d_model)`.
        value: `(batch, key, value_width)`; None for self-attention.
        key: `(batch, key, key_width)`; `value` by default.
        padding_mask: boolean `(batch, key)`, or `(batch, query, key)` for one mask per query,
            as `create_padding_mask` returns them; True = may be attended to.
        attention_mask: boolean, broadcastable to `(batch, query, key)`, True = may be attended to.
        use_causal_mask: bool, overrides `causal` in this call.
        query_mask, value_mask, key_mask: Implicit masks `(batch, time)`, which Keras passes. The
            mask of the query is also that of the result; only in self-attention does it hide keys.

    Returns:
        `(batch, query, d_model)`, or `(batch, query, output_shape)`.

    Raises:
        ValueError: If a size is below 1, or `dropout` is outside [0, 1).
        ValueError: If the query, value or key is not `(batch, time, width)`.
        ValueError: If a mask is not boolean, or does not fit the numbers of queries and keys.
        ValueError: If `causal` attention gets a `value` other than the query.

    Example:
        >>> from keras import ops
        >>> layer = CachedMultiHeadAttention(num_heads=2, key_dim=8, causal=True)
        >>> ops.shape(layer(ops.ones((4, 10, 16))))
        (4, 10, 16)

    Source: Vaswani et al. (2017), section 3.2, equation 1.
    """

    def build(self, query_shape, value_shape=None, key_shape=None):
        shapes = {"query": query_shape, "value": value_shape, "key": key_shape}
        check_sequence(**{name: shape for name, shape in shapes.items() if shape is not None})
        super().build(query_shape, value_shape, key_shape)

    def __call__(self, *args, **kwargs):
        names = list(inspect.signature(self.call).parameters)
        given = {**kwargs, **dict(zip(names, args, strict=False))}
        query, value, key = (given.get(name) for name in ("query", "value", "key"))
        if value is query and (key is None or key is query):
            names = given.keys() - {"query", "value", "key"}  # self-attention, as without them
            args, kwargs = (query,), {name: given[name] for name in names}
            value = key = None
        if key is not None:
            _check_key(key, value)
        queries, keys = (_length(x) for x in (query, query if value is None else value))
        check_padding_mask("padding_mask", given.get("padding_mask"), keys)
        check_attention_mask("attention_mask", given.get("attention_mask"), queries, keys)
        return super().__call__(*args, **kwargs)

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
        own = mask_of(query) if query_mask is None else query_mask
        masks = padding_mask, attention_mask, own, value_mask, key_mask
        query, keys, values, mask, gaps = self._prepare(query, value, key, use_causal_mask, *masks)
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
        query_mask: Tensor | None = None,
        value_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Return the weights `(batch, heads, query, key)` that `call` gives to the values.

        They are those before dropout, whatever `training` is.
        """
        if value is query and (key is None or key is query):
            value = key = None  # self-attention, as without them
        masks = padding_mask, attention_mask, query_mask, value_mask, key_mask
        query, keys, _, mask, gaps = self._prepare(query, value, key, use_causal_mask, *masks)
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

    def check_decode(self, query, value=None, key=None, *, time_axes, **masks):
        """See `kerastrans.decoding.contract`."""
        if {"value", "key"} & time_axes.keys():
            raise ValueError(f"{self.name}: a memory that depends on the decoder's input grows.")
        if value is None and not self._is_causal(masks.pop("use_causal_mask", None)):
            raise ValueError(
                f"{self.name} sees later positions: only causal attention, or attention to a "
                "memory that does not grow, can be decoded step by step."
            )
        reads_ahead = False
        for name, mask in _per_query(value, **masks).items():
            shape, axis = mask.shape, _time_axis(name, time_axes)
            hides_keys = axis is not None and axis == len(masks[name].shape) - 1
            if axis is None:
                fits = len(shape) <= 3
                reads_ahead |= value is None or shape[-2] != 1
            else:
                fits = len(shape) == 3 and (not hides_keys if value is not None else hides_keys)
            if not fits:
                raise ValueError(
                    f"{self.name}: {name} of shape {tuple(shape)} is not known step by step."
                )
        return reads_ahead

    def start_cache(self, query, value=None, key=None, *, batch_size, length, **masks):
        """Return space for the keys and values of `length` steps; nothing if there is a memory.

        A mask over the decoder's steps that depends on its input gets space as well.
        """
        masks.pop("use_causal_mask", None)
        masks = list(_per_query(value, **masks).values())
        known = [mask for mask in masks if not isinstance(mask, keras.KerasTensor)]
        for mask in known:
            sizes = mask.shape[-2:] if value is None else mask.shape[-2:-1]
            if any(size != 1 and size < length for size in sizes):
                raise ValueError(
                    f"{self.name}: {length} steps require a mask of as many, "
                    f"got shape {tuple(mask.shape)}."
                )
        if value is not None:
            return ()
        keys, values = (
            ops.zeros((batch_size, self.num_heads, length, width), self.compute_dtype)
            for width in (self.key_dim, self.value_dim)
        )
        if len(known) == len(masks):
            return keys, values
        return keys, values, ops.ones((batch_size, 1, length), "bool")

    def start_shared(self, query, value=None, key=None, **masks):
        """Return the projected memory, which all sequences of a history share."""
        if value is None:
            return None
        masks.pop("use_causal_mask", None)
        masks = _per_query(value, **masks).values()
        mask = combine_masks(*(x for x in masks if not isinstance(x, keras.KerasTensor)))
        if mask is not None:  # 0 * NaN is NaN: zeros for the steps that no query sees
            seen = ops.expand_dims(ops.any(mask, axis=-2), -1)
            value, key = (x if x is None else ops.where(seen, x, 0) for x in (value, key))
        return self.project(value, key)

    def decode(
        self,
        query,
        value=None,
        key=None,
        *,
        cache,
        index,
        time_axes,
        shared=None,
        copies=NO_COPIES,
        **masks,
    ):
        """Decode one step: `query` `(batch, 1, d_model)` is at position `index`.

        Self-attention writes the step's key and value into the cache and sees positions
        0..index; cross-attention reads what `start_shared` projected from the memory.
        The step uses its own row of each mask.

        Returns:
            The attention `(batch, 1, d_model)`, and the cache.
        """
        masks.pop("use_causal_mask", None)
        masks = _per_query(value, **masks)
        growing = {name for name in masks if _time_axis(name, time_axes) is not None}
        newest = [mask for name, mask in masks.items() if name in growing]
        rows = [row_of_mask(mask, index) for name, mask in masks.items() if name not in growing]
        if value is not None:
            mask = combine_masks(*rows, *newest)
            return self.attend(query, *shared, mask, copies), cache
        keys, values, *visible = cache
        new_key, new_value = self.project(query)
        keys = ops.slice_update(keys, (0, 0, index, 0), new_key)
        values = ops.slice_update(values, (0, 0, index, 0), new_value)
        length = keys.shape[2]
        if newest:
            visible = [ops.slice_update(visible[0], (0, 0, index), combine_masks(*newest))]
        past = ops.reshape(ops.arange(length, dtype="int32") <= index, (1, 1, -1))
        mask = combine_masks(past, *(row[..., :length] for row in rows), *visible)
        return self.attend(query, keys, values, mask), (keys, values, *visible)

    def _is_causal(self, use_causal_mask):
        return self.causal if use_causal_mask is None else use_causal_mask

    def _prepare(self, query, value, key, use_causal_mask, *masks):
        """Return the query, projected keys and values, one mask, and `gaps` for `show_gaps`."""
        is_causal = self._is_causal(use_causal_mask)
        if is_causal and value is not None:
            raise ValueError(f"{self.name} is causal: it attends to its own query, not a memory.")
        look_ahead = create_look_ahead_mask(ops.shape(query)[1]) if is_causal else None
        masks = _per_query(value, **dict(zip(_MASKS, masks, strict=True)))
        mask = combine_masks(*masks.values(), look_ahead)
        query, value, key, gaps = hide_gaps(mask, query, value, key)
        keys, values = self.project(query if value is None else value, key)
        return query, keys, values, mask, gaps

    def compute_mask(self, query, previous_mask):
        return previous_mask

    def compute_output_shape(self, query_shape, value_shape=None, key_shape=None):
        return self.output_shape_of(query_shape)


def _per_query(value, *, attention_mask=None, query_mask=None, training=None, **padding_masks):
    """Return the given masks by name, each broadcastable to `(batch, query, key)`.

    The mask of the query hides keys only if they are those of the query. `training` is an argument
    of a call as well, and none of decoding.
    """
    if value is None:
        padding_masks["query_mask"] = query_mask
    masks = {name: for_each_query(mask) for name, mask in padding_masks.items()}
    masks["attention_mask"] = attention_mask
    return {name: mask for name, mask in masks.items() if mask is not None}


def _time_axis(name, time_axes):
    """Return the time axis of a mask that depends on the decoder's input; otherwise None."""
    return time_axes.get("query") if name == "query_mask" else time_axes.get(name)


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
