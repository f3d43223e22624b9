"""Attention whose heads share keys and values, and that can continue a sequence."""

import keras
import numpy as np
from keras import ops

from kerastrans.layers.attention.multi_head_attention import HIDDEN_SCORE, softmax_over_keys
from kerastrans.layers.masks import create_look_ahead_mask, hide_gaps, show_gaps
from kerastrans.utils.keras_internals import KeepsQuantization
from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_choice, check_divides, check_positive_integers

DECAY_BASE = 256  # positions over which the decay of xPos is measured


@serializable
class GroupedQueryAttention(KeepsQuantization, keras.layers.Layer):
    """Self-attention with fewer heads of keys and values than of queries.

    Scores are divided by `key_dim`, not by its root, and the queries are weighted feature by
    feature. A position turns the first half of each head's features, in pairs of neighbours.

    Args:
        num_heads: int, number of heads of the queries.
        num_groups: int, number of heads of the keys and values; it divides `num_heads`.
        key_dim: int, width of each head's queries and keys; a multiple of 4 with `positions`.
        value_dim: int, width of each head's values.
        causal: bool, whether later steps are hidden from a step.
        positions: None, "rotary", or "xpos", with which scores also decay with the distance.
        use_bias: bool, whether the projections have biases.

    Call arguments:
        inputs: `(batch, time, d_model)`.
        groups: Boolean `(batch, past + time)`; a step attends only to steps of the same group.
        past_keys: `(batch, num_groups, past, key_dim)`, returned by earlier calls.
        past_values: `(batch, num_groups, past, value_dim)`.
        start: int, position of the first step.
        center: int, origin of the distances of xPos.

    Returns:
        `(batch, time, d_model)`, and the keys and values so far.

    Raises:
        ValueError: If a size is below 1, `num_groups` does not divide `num_heads`, `positions` is
            unknown, or 4 does not divide `key_dim` with `positions`.

    Example:
        >>> from keras import ops
        >>> layer = GroupedQueryAttention(num_heads=4, num_groups=2, key_dim=8, value_dim=8)
        >>> x, keys, values = layer(ops.ones((3, 10, 16)), groups=ops.ones((3, 10), "bool"))
        >>> ops.shape(x), ops.shape(keys)
        ((3, 10, 16), (3, 2, 10, 8))

    Source: Ainslie et al. (2023), "GQA", section 2.2; xPos: Sun et al. (2023), "A length-
    extrapolatable Transformer", section 2; the division: Yang et al. (2022), "Tensor programs V".
    """

    def __init__(
        self,
        *,
        num_heads,
        num_groups,
        key_dim,
        value_dim,
        causal=False,
        positions=None,
        use_bias=True,
        **kwargs,
    ):
        sizes = {"num_groups": num_groups, "num_heads": num_heads}
        check_positive_integers(**sizes, key_dim=key_dim, value_dim=value_dim)
        check_divides(**sizes)
        check_choice("positions", positions, (None, "rotary", "xpos"))
        if positions is not None and key_dim % 4:
            raise ValueError(
                f"positions={positions!r} requires a key_dim that 4 divides, got {key_dim}."
            )
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.num_groups = num_groups
        self.key_dim = key_dim
        self.value_dim = value_dim
        self.causal = causal
        self.positions = positions
        self.use_bias = use_bias

    def build(self, inputs_shape, groups_shape, past_keys_shape=None, past_values_shape=None):
        width = inputs_shape[-1]
        queries, keys = self.num_heads * self.key_dim, self.num_groups * self.key_dim
        self.in_dense = self._dense(queries + keys + self.num_groups * self.value_dim, "in")
        self.in_dense.build(inputs_shape)
        merged = self.num_heads * self.value_dim
        self.out_dense = self._dense(width, "out")
        self.out_dense.build((*inputs_shape[:-1], merged))
        self.query_weights = self.add_weight(
            shape=(self.key_dim,), initializer="ones", name="query_weights"
        )

    def _dense(self, units, name):
        return keras.layers.Dense(units, use_bias=self.use_bias, dtype=self.dtype_policy, name=name)

    def call(self, inputs, groups, past_keys=None, past_values=None, start=0, center=0):
        mask = self._mask(groups, inputs.shape[1])
        inputs, _, _, gaps = hide_gaps(mask[..., -inputs.shape[1] :], inputs)
        x = self.in_dense(inputs)  # (batch, time, all queries, keys and values)
        first = self.num_heads * self.key_dim
        second = first + self.num_groups * self.key_dim
        # (batch, num_heads, time, key_dim); of keys and values (batch, num_groups, time, width)
        queries = self._heads(x[..., :first], self.num_heads) * self.query_weights / self.key_dim
        keys = self._heads(x[..., first:second], self.num_groups)
        values = self._heads(x[..., second:], self.num_groups)
        if self.positions is not None:
            queries = self._turned(queries, start, center, 1)
            keys = self._turned(keys, start, center, -1)
        if past_keys is not None:
            keys = ops.concatenate([past_keys, keys], axis=2)
            values = ops.concatenate([past_values, values], axis=2)
        shared = self.num_heads // self.num_groups  # heads of queries that share keys and values
        every_key, every_value = (
            ops.repeat(x, shared, axis=1) if shared > 1 else x for x in (keys, values)
        )
        dtype = keras.backend.result_type(self.compute_dtype, "float32")
        if self.compute_dtype == "float16":  # whose products overflow above 65,504
            queries, every_key = ops.cast(queries, dtype), ops.cast(every_key, dtype)
        scores = ops.cast(ops.matmul(queries, ops.transpose(every_key, (0, 1, 3, 2))), dtype)
        scores = ops.where(ops.expand_dims(mask, 1), scores, ops.cast(HIDDEN_SCORE, scores.dtype))
        weights = softmax_over_keys(scores)
        # (batch, num_heads, time, value_dim), then (batch, time, num_heads, value_dim)
        x = ops.matmul(ops.cast(weights, self.compute_dtype), every_value)
        x = ops.transpose(x, (0, 2, 1, 3))
        x = ops.reshape(x, (-1, x.shape[1], self.num_heads * self.value_dim))
        return show_gaps(gaps, self.out_dense(x)), keys, values

    def _mask(self, groups, time):
        """Return which steps each step attends to, `(batch, time, past + time)`."""
        total = groups.shape[1]
        mask = ops.equal(groups[:, total - time :, None], groups[:, None, :])
        if self.causal:
            mask = ops.logical_and(mask, create_look_ahead_mask(total)[total - time :])
        return mask

    def _heads(self, x, count):
        x = ops.reshape(x, (-1, x.shape[1], count, x.shape[2] // count))
        return ops.transpose(x, (0, 2, 1, 3))

    def _turned(self, x, start, center, sign):
        """Turn the first half of the features by their positions."""
        width = self.key_dim // 2
        positions = start + np.arange(x.shape[2])[:, None]
        pairs = np.arange(0, width, 2)
        angles = positions * 10000.0 ** (-pairs / width)  # (time, pairs)
        size = np.ones_like(angles)
        if self.positions == "xpos":
            decay = (pairs + 0.4 * width) / (1.4 * width)
            size = decay ** (sign * (positions - center) / DECAY_BASE)
        # In float32, because the decay of xPos overflows in float16.
        dtype = keras.backend.result_type(x.dtype, "float32")
        cosine, sine = (
            ops.convert_to_tensor(size * wave, dtype=dtype)
            for wave in (np.cos(angles), np.sin(angles))
        )
        turned, rest = ops.cast(x[..., :width], dtype), x[..., width:]
        # (batch, heads, time, pairs)
        even, odd = turned[..., 0::2], turned[..., 1::2]
        turned = ops.stack([even * cosine - odd * sine, odd * cosine + even * sine], axis=-1)
        turned = ops.reshape(turned, (-1, *x.shape[1:3], width))
        return ops.concatenate([turned, ops.cast(rest, dtype)], axis=-1)
