"""Multi-head attention that can also decode step by step with a key/value cache."""

import keras
from keras import ops

from kerastrans.layers.attention.copies import NO_COPIES
from kerastrans.layers.attention.multi_head_attention import MultiHeadAttention, masks_per_query
from kerastrans.layers.masks import combine_masks, rows_of_mask
from kerastrans.utils.backend import write_steps


@keras.saving.register_keras_serializable(package="kerastrans")
class CachedMultiHeadAttention(MultiHeadAttention):
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
            mask of the query is also the mask of the result; it hides keys in self-attention only.

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
        for name, mask in masks_per_query(value, **masks).items():
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
        masks = list(masks_per_query(value, **masks).values())
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
        masks = masks_per_query(value, **masks).values()
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
        starts=None,
        shared=None,
        copies=NO_COPIES,
        **masks,
    ):
        """Decode the newest steps: the first of `query` `(batch, time, d_model)` is at `index`.

        Self-attention writes the steps' keys and values into the cache and sees all steps until
        each, from `starts` on; cross-attention reads what `start_shared` projected from the
        memory. The steps use their own rows of each mask.

        Returns:
            The attention `(batch, time, d_model)`, and the cache.
        """
        masks.pop("use_causal_mask", None)
        masks = masks_per_query(value, **masks)
        growing = {name for name in masks if _time_axis(name, time_axes) is not None}
        newest = [mask for name, mask in masks.items() if name in growing]
        steps = index + ops.arange(query.shape[1], dtype="int32")
        rows = [rows_of_mask(mask, steps) for name, mask in masks.items() if name not in growing]
        if value is not None:
            mask = combine_masks(*rows, *newest)
            return self.attend(query, *shared, mask, copies), cache
        keys, values, *visible = cache
        new_key, new_value = self.project(query)
        keys = write_steps(keys, new_key, index, 2)
        values = write_steps(values, new_value, index, 2)
        if newest:
            visible = [ops.slice_update(visible[0], (0, 0, index), combine_masks(*newest))]
        cache = keys, values, *visible
        if isinstance(index, int):  # the rest of the room is empty
            keys, values = new_key, new_value
        length = keys.shape[2]
        places = ops.arange(length, dtype="int32")
        past = places <= steps[:, None]
        if starts is not None:
            past = ops.logical_and(past, places >= starts[:, None, None])
        visible = [mask[..., :length] for mask in (*rows, *visible)]
        mask = combine_masks(past, *visible)
        return self.attend(query, keys, values, mask), cache


def _time_axis(name, time_axes):
    """Return the time axis of a mask that depends on the decoder's input; otherwise None."""
    return time_axes.get("query") if name == "query_mask" else time_axes.get(name)
