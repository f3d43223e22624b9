"""Causal attention with rotary positions to a prompt and to the steps after it."""

import keras
from keras import ops

from kerastrans.layers.attention.copies import NO_COPIES
from kerastrans.layers.attention.multi_head_attention import ProjectedAttention
from kerastrans.layers.attention.rotary import rotate
from kerastrans.layers.masks import create_look_ahead_mask, hide_gaps, show_gaps


@keras.saving.register_keras_serializable(package="kerastrans")
class PromptedAttention(ProjectedAttention):
    """Causal attention of a sequence to a prompt and to itself, with rotary positions.

    Without a prompt it is causal self-attention, and the same layer is called on the prompt itself:
    both calls together equal one call on the prompt followed by the sequence. In decoding, the keys
    and values of the prompt are computed once.

    Args:
        num_heads: int, number of heads.
        key_dim: int, even width of each head.
        dropout: float in [0, 1), applied to the attention weights.
        theta: float, see `kerastrans.layers.attention.rotary.rotate`.
        **kwargs: Other arguments of `CachedMultiHeadAttention`, except `causal`.

    Call arguments:
        query: `(batch, query, d_model)`.
        value: `(batch, prompt, d_model)`, the prompt, the steps before those of the query; None for
            none.

    Returns:
        `(batch, query, d_model)`.

    Raises:
        ValueError: If a size is below 1, or `key_dim` is odd.

    Example:
        >>> from keras import ops
        >>> layer = PromptedAttention(num_heads=2, key_dim=8)
        >>> ops.shape(layer(ops.ones((4, 3, 16)), ops.ones((4, 10, 16))))
        (4, 3, 16)

    Source: Su et al. (2021), "RoFormer: Enhanced Transformer with rotary position embedding".
    """

    def __init__(self, *, key_dim, theta=10000.0, **kwargs):
        super().__init__(key_dim=key_dim, **kwargs)
        if key_dim % 2:
            raise ValueError(f"key_dim must be even: features turn in pairs, got {key_dim}.")
        self.theta = theta

    def build(self, query_shape, value_shape=None):
        super().build(query_shape)

    def call(self, query, value=None):
        look_ahead = create_look_ahead_mask(ops.shape(query)[1])
        query, _, _, gaps = hide_gaps(look_ahead, query)
        keys, values = self._project(query, 0 if value is None else value.shape[1])
        if value is not None:
            earlier_keys, earlier_values = self._project(value, 0)
            keys = ops.concatenate([earlier_keys, keys], axis=2)
            values = ops.concatenate([earlier_values, values], axis=2)
        attended = self._attend(query, keys, values, 0 if value is None else value.shape[1])
        return show_gaps(gaps, attended)

    def check_decode(self, query, value=None, *, time_axes):
        """See `kerastrans.decoding.contract`."""
        if "value" in time_axes:
            raise ValueError(f"{self.name}: the prompt must not depend on the decoder's input.")
        return False

    def start_cache(self, query, value=None, *, batch_size, length):
        """Return room for the keys and values of `length` steps."""
        return tuple(
            ops.zeros((batch_size, self.num_heads, length, width), self.compute_dtype)
            for width in (self.key_dim, self.value_dim)
        )

    def start_shared(self, query, value=None):
        """Return the keys and values of the prompt, which all sequences of a history share."""
        return None if value is None else self._project(value, 0)

    def decode(self, query, value=None, *, cache, index, time_axes, shared=None, copies=NO_COPIES):
        """Return the attention of the newest steps `(batch, time, d_model)`, and the cache."""
        before = 0 if value is None else value.shape[1]
        keys, values = (
            ops.slice_update(earlier, (0, 0, index, 0), new)
            for earlier, new in zip(cache, self._project(query, before + index), strict=True)
        )
        positions = self._positions(query, index)[..., None]
        is_past = ops.arange(ops.shape(keys)[2], dtype="int32") <= positions
        queries = self._queries(query)
        queries = rotate(queries, self._positions(query, before + index), self.theta)
        scores = self._scores(queries, keys)
        if shared is None:
            weights = self._normalise(scores, is_past)
            return self._merge_heads(ops.matmul(weights, values)), (keys, values)
        prompt_scores = copies.unfold(self._scores(copies.fold(queries), shared[0]))
        is_prompt = ops.repeat(ops.ones_like(is_past[..., :1]), before, axis=-1)
        is_visible = ops.concatenate([is_prompt, is_past], axis=-1)
        weights = self._normalise(ops.concatenate([prompt_scores, scores], axis=-1), is_visible)
        attended = copies.unfold(ops.matmul(copies.fold(weights[..., :before]), shared[1]))
        attended = attended + ops.matmul(weights[..., before:], values)
        return self._merge_heads(attended), (keys, values)

    def _attend(self, query, keys, values, offset):
        """Return the attention of a query whose first step is at the position `offset`."""
        queries = rotate(self._queries(query), self._positions(query, offset), self.theta)
        is_past = (
            ops.arange(ops.shape(keys)[2], dtype="int32")
            <= self._positions(query, offset)[..., None]
        )
        weights = self.weights_dropout(self._weights(queries, keys, is_past))
        return self._merge_heads(ops.matmul(weights, values))

    def _project(self, x, offset):
        """Return rotated keys, and values, each `(batch, heads, time, key_dim)`."""
        keys, values = self.project(x)
        return rotate(keys, self._positions(x, offset), self.theta), values

    def _positions(self, x, offset):
        return ops.arange(ops.shape(x)[1], dtype="int32")[None] + offset

    def compute_output_shape(self, query_shape, value_shape=None):
        return self.output_shape_of(query_shape)

    def get_config(self):
        config = {**super().get_config(), "theta": self.theta}
        del config["causal"]  # it always is
        return config
