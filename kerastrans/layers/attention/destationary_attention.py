"""Multi-head attention whose scores depend on the statistics of the raw window."""

import keras
from keras import ops

from kerastrans.layers.attention.projected_attention import ProjectedAttention
from kerastrans.layers.masks import create_look_ahead_mask


@keras.saving.register_keras_serializable(package="kerastrans")
class DestationaryAttention(ProjectedAttention):
    """Multi-head attention with one factor of the scores per window, and one offset per key.

    Windows that were normalised are alike: the factor and the offset, which are computed from the
    raw window, restore the attention that the raw window would have had. Both may be large: in half
    precision they are not rounded, and the scores are computed in float32. The other arguments and
    the weights are those of `CachedMultiHeadAttention`. The layer cannot be decoded step by step.

    Call arguments:
        query: `(batch, query, d_model)`.
        value: `(batch, key, value_width)`; None for self-attention.
        factor: `(batch, 1)`, multiplies the products of queries and keys.
        offset: `(batch, key)`, added to them; None for no offset.

    Returns:
        `(batch, query, d_model)`.

    Raises:
        ValueError: See `CachedMultiHeadAttention`.

    Example:
        >>> from keras import ops
        >>> layer = DestationaryAttention(num_heads=2, key_dim=8)
        >>> ops.shape(layer(ops.ones((4, 10, 16)), factor=ops.ones((4, 1))))
        (4, 10, 16)

    Source: Liu et al. (2022), "Non-stationary Transformers", equation 6.
    """

    def __init__(self, **kwargs):
        # Otherwise Keras casts factor and offset to float16, whose largest number is 65,504.
        super().__init__(autocast=False, **kwargs)

    def build(self, query_shape, value_shape=None, factor_shape=None, offset_shape=None):
        super().build(query_shape, value_shape)

    def call(self, query, value=None, factor=None, offset=None):
        keys, values = self.project(query if value is None else value)
        scores = self._scores(self._queries(query), keys)  # (batch, heads, query, key)
        if factor is not None:
            scores = scores * ops.cast(factor, scores.dtype)[:, :, None, None]
        if offset is not None:
            offset = ops.cast(offset, scores.dtype)[:, None, None, :]
            scores = scores + offset * self.key_dim**-0.5
        mask = create_look_ahead_mask(ops.shape(query)[1]) if self.causal else None
        weights = self.weights_dropout(self._normalise(scores, mask))
        return self._merge_heads(ops.matmul(weights, values))

    def compute_output_shape(
        self, query_shape, value_shape=None, factor_shape=None, offset_shape=None
    ):
        return self.output_shape_of(query_shape)
