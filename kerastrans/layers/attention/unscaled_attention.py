"""Multi-head attention as in T5."""

import keras
from keras import ops

from kerastrans.layers.attention.multi_head_attention import ProjectedAttention
from kerastrans.layers.masks import (
    combine_masks,
    create_look_ahead_mask,
    for_each_query,
    hide_gaps,
    show_gaps,
)
from kerastrans.utils.keras_internals import mask_of


@keras.saving.register_keras_serializable(package="kerastrans")
class UnscaledAttention(ProjectedAttention):
    """Multi-head attention whose scores are not divided by the root of the heads' width.

    The bias of the scores for each position is an input, which several layers can share. The
    arguments are those of `CachedMultiHeadAttention`, but the projections have no biases by
    default. If all keys of a query are hidden, its attention is zero. The layer cannot be decoded
    step by step.

    Call arguments:
        query: `(batch, query, d_model)`.
        value: `(batch, key, value_width)`; None for self-attention.
        position_bias: Tensor that broadcasts to `(batch, num_heads, query, key)`, added to the
            scores, see `RelativePositionBias`.
        padding_mask: boolean `(batch, key)`, or `(batch, query, key)` for one mask per query,
            True = may be attended to. An implicit mask of the value, or of the query in
            self-attention, hides keys too.

    Returns:
        `(batch, query, d_model)`.

    Raises:
        ValueError: See `CachedMultiHeadAttention`.

    Example:
        >>> from keras import ops
        >>> ops.shape(UnscaledAttention(num_heads=2, key_dim=8)(ops.ones((4, 10, 16))))
        (4, 10, 16)

    Source: Raffel et al. (2020), section 2.1; Shazeer, Stern (2018), "Adafactor", whose optimizer
    makes the scale a part of the initial weights.
    """

    def __init__(self, **kwargs):
        super().__init__(**{"use_bias": False, **kwargs})

    def build(self, query_shape, value_shape=None, position_bias_shape=None):
        super().build(query_shape, value_shape)

    def call(self, query, value=None, position_bias=None, padding_mask=None):
        look_ahead = create_look_ahead_mask(ops.shape(query)[1]) if self.causal else None
        implicit = mask_of(query if value is None else value)
        mask = combine_masks(for_each_query(padding_mask), for_each_query(implicit), look_ahead)
        query, value, _, gaps = hide_gaps(mask, query, value)
        keys, values = self.project(query if value is None else value)
        scores = self._scores(self._queries(query), keys)
        if position_bias is not None:
            scores = scores + ops.cast(position_bias, scores.dtype)
        weights = self.weights_dropout(self._normalise(scores, mask))
        return show_gaps(gaps, self._merge_heads(ops.matmul(weights, values)))

    def compute_mask(self, query, previous_mask):
        return previous_mask

    def compute_output_shape(self, query_shape, value_shape=None, position_bias_shape=None):
        return self.output_shape_of(query_shape)

    def _queries(self, query):
        return self._heads_of(self.query_dense, query)
