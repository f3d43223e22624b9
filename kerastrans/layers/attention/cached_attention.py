"""Multi-head attention that can also decode step by step with a key/value cache."""

import keras
from keras import ops

from kerastrans.layers.attention.copies import NO_COPIES
from kerastrans.layers.attention.projected_attention import ProjectedAttention
from kerastrans.layers.masks import (
    combine_masks,
    create_look_ahead_mask,
    for_each_query,
    row_of_mask,
)
from kerastrans.utils.types import Tensor


@keras.saving.register_keras_serializable(package="kerastrans")
class CachedMultiHeadAttention(ProjectedAttention):
    """Multi-head scaled dot-product attention with a key/value cache for decoding.

    Without `memory` it is self-attention; with `memory` it is cross-attention, whose keys and
    values come from there. Its weights are those of `keras.layers.MultiHeadAttention` with
    `(num_heads, key_dim)` flattened to one axis, and its outputs are equal.

    If all keys of a query are hidden, its attention is zero and its gradients are finite. The
    softmax runs in float32 under mixed precision.

    Args:
        num_heads: int, number of heads.
        key_dim: int, width of each head's queries, keys and values.
        dropout: float in [0, 1), applied to the attention weights.
        causal: bool, whether position t sees only positions 0..t; for self-attention only.
        kernel_initializer: Initializer of the four projections, as in `keras.layers.Dense`.
        use_bias: bool, whether the four projections have biases.

    Call arguments:
        query: `(batch, query, d_model)`.
        memory: `(batch, key, memory_width)`; None for self-attention.
        padding_mask: boolean `(batch, key)`, or `(batch, query, key)` for one mask per query,
            as `create_padding_mask` returns them; True = may be attended to.
        attention_mask: boolean, broadcastable to `(batch, query, key)`, True = may be attended to.

    Returns:
        `(batch, query, d_model)`.

    Raises:
        ValueError: If `num_heads` or `key_dim` is below 1.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `causal` attention gets a `memory`.

    Example:
        >>> from keras import ops
        >>> layer = CachedMultiHeadAttention(num_heads=2, key_dim=8, causal=True)
        >>> ops.shape(layer(ops.ones((4, 10, 16))))
        (4, 10, 16)

    Source: Vaswani et al. (2017), section 3.2, equation 1.
    """

    def call(
        self,
        query: Tensor,
        memory: Tensor | None = None,
        padding_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> Tensor:
        keys, values = self.project(query if memory is None else memory)
        mask = self._mask(query, memory, padding_mask, attention_mask)
        return self.attend(query, keys, values, mask)

    def attention_scores(
        self,
        query: Tensor,
        memory: Tensor | None = None,
        padding_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> Tensor:
        """Return the weights `(batch, heads, query, key)` that `call` gives to the values."""
        keys, _ = self.project(query if memory is None else memory)
        mask = self._mask(query, memory, padding_mask, attention_mask)
        return self._weights(self._queries(query), keys, mask)

    def attend(self, query, keys, values, mask=None, copies=NO_COPIES):
        """Return the attention of `query` `(B, Q, d_model)` to projected keys and values."""
        weights = self._weights(self._queries(query), keys, mask, copies)  # (B, H, Q, K)
        weights = copies.fold(self.weights_dropout(weights))
        attended = copies.unfold(ops.matmul(weights, values))  # (B, H, Q, D)
        return self._merge_heads(attended)

    def check_decode(
        self, query, memory=None, padding_mask=None, attention_mask=None, *, time_axes
    ):
        """See `kerastrans.decoding.contract`."""
        if "memory" in time_axes:
            raise ValueError(f"{self.name}: a memory that depends on the decoder's input grows.")
        if memory is None and not self.causal:
            raise ValueError(
                f"{self.name} sees later positions: only causal attention, or attention to a "
                "memory that does not grow, can be decoded step by step."
            )
        reads_ahead = False
        given = {"padding_mask": padding_mask, "attention_mask": attention_mask}
        for name, mask in _per_query(padding_mask, attention_mask).items():
            shape, axis = mask.shape, time_axes.get(name)
            hides_keys = axis == len(given[name].shape) - 1
            if axis is None:
                fits = len(shape) <= 3
                reads_ahead |= memory is None or shape[-2] != 1
            else:
                fits = len(shape) == 3 and (not hides_keys if memory is not None else hides_keys)
            if not fits:
                raise ValueError(
                    f"{self.name}: {name} of shape {tuple(shape)} is not known step by step."
                )
        return reads_ahead

    def start_cache(
        self, query, memory=None, padding_mask=None, attention_mask=None, *, batch_size, length
    ):
        """Return space for the keys and values of `length` steps; nothing if there is a memory.

        A mask over the decoder's steps that depends on its input gets space as well.
        """
        masks = list(_per_query(padding_mask, attention_mask).values())
        known = [mask for mask in masks if not isinstance(mask, keras.KerasTensor)]
        for mask in known:
            sizes = mask.shape[-2:] if memory is None else mask.shape[-2:-1]
            if any(size != 1 and size < length for size in sizes):
                raise ValueError(
                    f"{self.name}: {length} steps require a mask of as many, "
                    f"got shape {tuple(mask.shape)}."
                )
        if memory is not None:
            return ()
        empty = ops.zeros((batch_size, self.num_heads, length, self.key_dim), self.compute_dtype)
        if len(known) == len(masks):
            return empty, empty
        return empty, empty, ops.ones((batch_size, 1, length), "bool")

    def start_shared(self, query, memory=None, padding_mask=None, attention_mask=None):
        """Return the projected memory, which all sequences of a history share."""
        return None if memory is None else self.project(memory)

    def decode(
        self,
        query,
        memory=None,
        padding_mask=None,
        attention_mask=None,
        *,
        cache,
        index,
        time_axes,
        shared=None,
        copies=NO_COPIES,
    ):
        """Decode one step: `query` `(batch, 1, d_model)` is at position `index`.

        Self-attention writes the step's key and value into the cache and sees positions
        0..index; cross-attention reads what `start_shared` projected from the memory.
        The step uses its own row of each mask.

        Returns:
            The attention `(batch, 1, d_model)`, and the cache.
        """
        masks = _per_query(padding_mask, attention_mask)
        newest = [mask for name, mask in masks.items() if name in time_axes]
        rows = [row_of_mask(mask, index) for name, mask in masks.items() if name not in time_axes]
        if memory is not None:
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

    def _mask(self, query, memory, padding_mask, attention_mask):
        """Combine all masks into one; None if there is none."""
        if self.causal and memory is not None:
            raise ValueError(f"{self.name} is causal: it attends to its own query, not a memory.")
        look_ahead = create_look_ahead_mask(ops.shape(query)[1]) if self.causal else None
        return combine_masks(for_each_query(padding_mask), attention_mask, look_ahead)

    def compute_output_shape(self, query_shape, memory_shape=None):
        return query_shape


def _per_query(padding_mask, attention_mask):
    """Return the given masks by name, each broadcastable to `(batch, query, key)`."""
    masks = {"padding_mask": for_each_query(padding_mask), "attention_mask": attention_mask}
    return {name: mask for name, mask in masks.items() if mask is not None}
