"""ProbSparse attention: only the most active queries attend to the keys."""

import math

import keras
import numpy as np
from keras import ops

from kerastrans.layers.attention.projected_attention import ProjectedAttention
from kerastrans.layers.masks import create_look_ahead_mask
from kerastrans.utils.deprecation import positional_until
from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class ProbSparseAttention(ProjectedAttention):
    """Multi-head self-attention of only the `factor * ln(length)` most active queries.

    A query is active if its scores over a random sample of `factor * ln(length)` keys are far from
    uniform, as measured by the largest minus the mean. The other queries return the mean of the
    values (of those up to their own position if `causal`). In training every call draws a new
    sample. In inference the sample is always that of `seed`, so that a forecast can be repeated;
    the reference code draws new samples there too.

    The active queries depend on the whole sequence. Therefore the layer cannot be decoded step by
    step, and it has no attention scores for every query.

    Args:
        factor: int, number of queries and of sampled keys per unit of ln(length); None for all
            queries, which is full attention without a sample.
        seed: int, seed of the samples; None draws one, so that layers have different samples.
        reference: bool, whether to measure activity and to fill in queries as the published code
            does: the sum of the scores is divided by the number of all keys instead of the sampled
            ones, and the inactive queries of a causal layer return the sum of the values.
        mix: bool, whether heads and steps are mixed before the last projection, as in the decoder
            of the published code.
        **kwargs: Arguments of `CachedMultiHeadAttention`.

    Call arguments:
        query: `(batch, time, d_model)` with a known number of steps.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: See `CachedMultiHeadAttention`.
        ValueError: If `factor` is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(ProbSparseAttention(num_heads=2, key_dim=8)(ops.ones((4, 48, 16))))
        (4, 48, 16)

    Source: Zhou et al. (2021), equations 2-4 and algorithm 1.
    """

    @positional_until("0.5", "num_heads", "key_dim", "dropout", "causal", "factor", "seed")
    def __init__(self, *, factor=5, seed=None, reference=False, mix=False, **kwargs):
        if factor is not None:
            check_positive_integers(factor=factor)
        super().__init__(**kwargs)
        self.factor = factor
        self.reference = reference
        self.mix = mix
        self.seed = draw_seed() if seed is None else seed
        self.seed_generator = keras.random.SeedGenerator(self.seed)

    def build(self, query_shape):
        super().build(query_shape)

    def call(self, query, training=False):
        keys, values = self.project(query)  # (B, H, T, D)
        queries = self._queries(query)
        length = query.shape[1]
        if self.factor is None:
            mask = create_look_ahead_mask(length) if self.causal else None
            x = self._attend(queries, keys, values, mask)
        else:
            x = self._attend_sparsely(queries, keys, values, length, training)
        if self.mix:
            return self.output_dense(ops.reshape(x, (-1, length, self.num_heads * self.value_dim)))
        return self._merge_heads(x)

    def _attend(self, queries, keys, values, mask):
        weights = self.weights_dropout(self._weights(queries, keys, mask))
        return ops.matmul(weights, values)

    def _attend_sparsely(self, queries, keys, values, length, training):
        """Return the attention of the active queries, and means for the others, `(B, H, T, D)`."""
        # In the published code the logarithm of length 1 would leave no query.
        logarithm = math.log(max(2, length) if self.reference else length + 1)
        count = min(length, self.factor * math.ceil(logarithm))

        sample = self._sample((length, count), training)
        sampled = ops.take(keys, sample, axis=2)  # (B, H, T, count, D)
        scores = ops.einsum("bhtd,bhtcd->bhtc", queries, sampled)
        divisor = length if self.reference else count
        activity = ops.max(scores, axis=-1) - ops.sum(scores, axis=-1) / divisor
        _, active = ops.top_k(activity, count)  # (B, H, count)

        chosen = ops.take_along_axis(queries, ops.expand_dims(active, -1), axis=2)
        mask = None
        if self.causal:
            steps = ops.arange(length, dtype="int32")
            mask = steps <= ops.expand_dims(active, -1)  # (B, H, count, T)
        attended = self._attend(chosen, keys, values, mask)  # (B, H, count, D)
        where = ops.one_hot(active, length, dtype=self.compute_dtype)  # (B, H, count, T)
        resting = ops.expand_dims(1 - ops.sum(where, axis=2), -1)  # (B, H, T, 1)
        mixed = self._mean(values, length) * resting
        return mixed + ops.matmul(ops.transpose(where, (0, 1, 3, 2)), attended)

    def _sample(self, shape, training):
        """Return the positions of the keys that each query is compared with, `(query, count)`."""
        if training:
            return keras.random.randint(shape, 0, shape[0], seed=self.seed_generator)
        return np.random.default_rng(self.seed).integers(0, shape[0], shape)

    def _mean(self, values, length):
        if not self.causal:
            return ops.mean(values, axis=2, keepdims=True)
        if self.reference:
            return ops.cumsum(values, axis=2)
        steps = ops.reshape(ops.arange(1, length + 1), (-1, 1))
        return ops.cumsum(values, axis=2) / ops.cast(steps, values.dtype)

    def compute_output_shape(self, query_shape):
        return self.output_shape_of(query_shape)

    def get_config(self):
        return {
            **super().get_config(),
            "factor": self.factor,
            "seed": self.seed,
            "reference": self.reference,
            "mix": self.mix,
        }
