"""Informer: sparse attention and a distilled memory (Zhou et al., 2021).

Paper: https://arxiv.org/abs/2012.07436
Code: https://github.com/zhouhaoyi/Informer2020/tree/29f2a73
"""

import math

import keras
import numpy as np
from keras import layers, ops

from kerastrans.layers import BatchNormalization, CachedMultiHeadAttention
from kerastrans.layers.attention.multi_head_attention import ProjectedAttention
from kerastrans.layers.initializers import FanInUniform
from kerastrans.layers.masks import create_look_ahead_mask
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import embed_values, label_input, resolve_label_length
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.regression import covariate_inputs, regress
from kerastrans.models.parts.sublayers import TORCH_EPSILON, add_norm, position_wise_ffn
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import check_choice, check_positive_integers

ARCHITECTURE = {
    "summary": "ProbSparse, distilling",
    "license": "Apache-2.0",
    "tags": ("attention", "mixes channels", "takes heads"),
    "paper": {"d_model": 512, "num_heads": 8, "ff_dim": 2048},
    "features": "head: b t f",
}


@checked(may_be_zero=("label_length",))
def build_informer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    label_length=None,
    d_model=64,
    num_heads=4,
    ff_dim=256,
    num_encoder_blocks=2,
    num_decoder_blocks=1,
    attention="prob_sparse",
    factor=5,
    distil=True,
    reference_attention=False,
    calendar_embedding=False,
    activation="gelu",
    dropout=0.05,
    head=None,
    covariates=None,
    name="informer",
):
    """Build Informer: only the most active queries attend, and the memory is distilled.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        label_length: int, number of known steps at the start of the decoder's input, from 0
            to `context_length`; half the context by default.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_encoder_blocks: int, number of encoder blocks; the length is halved between two blocks.
        num_decoder_blocks: int, number of decoder blocks.
        attention: "prob_sparse" for self-attention of the most active queries, or "full" for that
            of all queries (Informer† in the paper).
        factor: int, number of queries that attend per unit of ln(length); not used if the attention
            is full.
        distil: bool, whether the length is halved between two encoder blocks.
        reference_attention: bool, whether self-attention is that of the published code: sparse
            attention counts as it does, and the decoder mixes heads and steps, see
            `kerastrans.models.informer.ProbSparseAttention`.
        calendar_embedding: bool, whether future covariates, which must be numbers, are added to
            the embeddings, as the calendar is in that code; otherwise covariates are added by
            `kerastrans.regress`.
        activation: "gelu" or "relu", activation of the feed-forward networks.
        dropout: float in [0, 1), dropout rate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        covariates: Dict of "past", "future", "static", see `kerastrans.zoo.build`.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`; with covariates its input is a dict.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the label is longer than the context.
        ValueError: If `calendar_embedding` is true and a covariate is not a future number.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `attention` or `activation` is unknown.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_informer_model(24, 12, 3, d_model=8, num_heads=2, ff_dim=16)
        >>> model.output_shape
        (None, 12, 3)

    Source: Zhou et al. (2021), figure 2 and equations 2-6; table 1 for full attention.
    """
    check_choice("attention", attention, ("prob_sparse", "full"))
    check_choice("activation", activation, ("gelu", "relu"))
    label_length = resolve_label_length(label_length, context_length)
    kwargs = {"kernel_initializer": FanInUniform}
    sizes = {"num_heads": num_heads, "key_dim": d_model // num_heads, "dropout": dropout, **kwargs}

    def self_attention(causal=False):
        return ProbSparseAttention(
            factor=factor if attention == "prob_sparse" else None,
            reference=reference_attention,
            mix=reference_attention and causal,
            causal=causal,
            **sizes,
        )

    def feed_forward(x):
        y = position_wise_ffn(x, ff_dim, dropout, activation=activation, **kwargs)
        return add_norm(x, y, dropout)

    window = open_window(context_length, num_channels, head)
    extra, calendar = {}, None
    if calendar_embedding and covariates:
        extra, calendar = _calendar(window, prediction_length, covariates)

    def embed(values, steps):
        known = calendar if calendar is None else calendar[:, steps]
        return embed_values(values, d_model, dropout, use_bias=True, calendar=known)

    x = embed(window.values, slice(0, context_length))
    for i in range(num_encoder_blocks):
        if distil and i > 0:
            x = _distil(x)
        x = feed_forward(add_norm(x, self_attention()(x), dropout))
    memory = layers.LayerNormalization(epsilon=TORCH_EPSILON)(x)

    x = label_input(window.values, label_length, prediction_length)
    x = embed(x, slice(context_length - label_length, None))
    for _ in range(num_decoder_blocks):
        cross = CachedMultiHeadAttention(**sizes)
        x = add_norm(x, self_attention(causal=True)(x), dropout)
        x = feed_forward(add_norm(x, cross(x, memory), dropout))
    x = layers.LayerNormalization(epsilon=TORCH_EPSILON)(x[:, -prediction_length:])
    x = dense(num_channels * head.size, dtype=full_precision(), name="head")(x)
    model = window.model(x, head, prediction_length, name, extra=extra)
    return regress(model, covariates) if covariates and not extra else model


def _calendar(window, prediction_length, covariates):
    """Return the inputs of future covariates, and their values at all steps."""
    if set(covariates) != {"future"} or any(covariates["future"]):
        raise ValueError(
            f"calendar_embedding=True requires future covariates that are numbers, got "
            f"{covariates}."
        )
    extra = covariate_inputs(window.history.shape[1], prediction_length, covariates)
    return extra, extra["future_covariates"]


def _distil(x):
    """Halve the length: a circular convolution over neighbours, then max pooling."""
    x = ops.concatenate([x[:, -1:], x, x[:, :1]], axis=1)
    x = layers.Conv1D(x.shape[-1], 3, kernel_initializer=FanInUniform())(x)
    x = layers.ELU()(BatchNormalization(momentum=0.9, epsilon=1e-5)(x))
    # Repeat both ends: "same" would pad only the last end and centre the pools on odd steps.
    x = ops.concatenate([x[:, :1], x, x[:, -1:]], axis=1)
    return layers.MaxPooling1D(3, strides=2)(x)


@serializable
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
            # (B, H, T, D) -> (B, T, H * D), without a transposition, as in the published code
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
        steps = ops.reshape(ops.arange(1, length + 1), (-1, 1))  # (T, 1)
        return ops.cumsum(values, axis=2) / ops.cast(steps, values.dtype)

    def compute_output_shape(self, query_shape):
        return self.output_shape_of(query_shape)
