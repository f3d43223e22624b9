"""Multi-head attention that adds the scores of the previous layer."""

import keras
from keras import ops

from kerastrans.layers.attention.projected_attention import ProjectedAttention
from kerastrans.layers.masks import combine_masks, create_look_ahead_mask, for_each_query
from kerastrans.utils.keras_internals import mask_of


@keras.saving.register_keras_serializable(package="kerastrans")
class ResidualAttention(ProjectedAttention):
    """Multi-head self-attention that adds the scores of the previous layer to its own.

    It is a residual connection between attention scores: a layer learns how to change them. The
    arguments and weights are those of `CachedMultiHeadAttention`. The layer cannot be decoded step
    by step.

    Call arguments:
        query: `(batch, query, d_model)`; its implicit mask hides keys.
        scores: `(batch, num_heads, query, query)`, scores of the previous layer; None for the
            first.

    Returns:
        `(batch, query, d_model)`, and the scores for the next layer.

    Raises:
        ValueError: See `CachedMultiHeadAttention`.

    Example:
        >>> from keras import ops
        >>> x, scores = ResidualAttention(num_heads=2, key_dim=8)(ops.ones((4, 10, 16)))
        >>> x, scores = ResidualAttention(num_heads=2, key_dim=8)(x, scores)
        >>> ops.shape(x), ops.shape(scores)
        ((4, 10, 16), (4, 2, 10, 10))

    Source: He et al. (2021), "RealFormer: Transformer likes residual attention", equation 3.
    """

    def build(self, query_shape, scores_shape=None):
        super().build(query_shape)

    def call(self, query, scores=None):
        keys, values = self.project(query)
        own = self._scores(self._queries(query), keys)
        scores = own if scores is None else own + ops.cast(scores, own.dtype)
        look_ahead = create_look_ahead_mask(ops.shape(query)[1]) if self.causal else None
        mask = combine_masks(for_each_query(mask_of(query)), look_ahead)
        weights = self.weights_dropout(self._normalise(scores, mask))
        return self._merge_heads(ops.matmul(weights, values)), scores

    def compute_mask(self, query, previous_mask):
        return previous_mask
