"""PatchTST: a Transformer over patches of single channels (Nie et al., 2023, figure 1).

Paper: https://arxiv.org/abs/2211.14730
Code: https://github.com/yuqinie98/PatchTST/tree/204c21e
"""

import functools
import math

import keras
from keras import ops

from kerastrans.layers import CachedMultiHeadAttention, Dropout, LearntPositionalEncoding, Patching
from kerastrans.layers.attention.multi_head_attention import ProjectedAttention
from kerastrans.layers.initializers import FanInUniform
from kerastrans.layers.masks import combine_masks, create_look_ahead_mask, for_each_query
from kerastrans.layers.transformer.blocks import transformer_encoder
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import forecast_parts, open_window
from kerastrans.models.parts.projections import concatenate, dense, time_dense
from kerastrans.models.parts.regression import covariate_columns, regress
from kerastrans.utils.keras_internals import mask_of
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_choice

ARCHITECTURE = {
    "summary": "Transformer over patches",
    "license": "Apache-2.0",
    "tags": ("attention", "channel independent", "affine", "takes heads"),
    "paper": {"d_model": 128, "num_heads": 16, "ff_dim": 256},
    "features": ".*head: b f c",
}


@checked
def build_patchtst_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    patch_length=16,
    stride=8,
    pad_end=True,
    d_model=16,
    num_heads=4,
    ff_dim=128,
    num_blocks=3,
    dropout=0.3,
    center="mean",
    affine=True,
    residual_attention=False,
    moving_average=None,
    covariate_tokens=False,
    head=None,
    covariates=None,
    name="patchtst",
):
    """Build PatchTST: the tokens are patches; channels share the weights and do not mix.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        patch_length: int, number of steps in a patch, at most `context_length`.
        stride: int, number of steps between the starts of two patches.
        pad_end: bool, whether the last value is repeated, so that one more patch covers the newest
            steps.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_blocks: int, number of encoder blocks.
        dropout: float in [0, 1), dropout rate of the encoder.
        center: "mean" or "last", the value that is subtracted from a window before it is divided by
            its standard deviation: its mean, or its last known value. None leaves windows as they
            are, without `affine`.
        affine: bool, whether the normalised window has a learnt scale and offset per channel; the
            authors' scripts turn it off.
        residual_attention: bool, whether the attention scores of a block are added to those of the
            next block, as in the authors' code, see `kerastrans.models.patchtst.ResidualAttention`.
        moving_average: int, number of steps in the average that is the trend, if trend and season
            have separate networks, whose forecasts are added, as the authors' code offers (with
            25). Each of the two is normalised, and its forecast restored, by its own statistics;
            both have the tokens of the covariates. None for one network.
        covariate_tokens: bool, whether patches of the covariates, future ones over the history and
            the horizon, are further tokens of each channel; otherwise covariates are added by
            `kerastrans.regress`.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        covariates: Dict of "past", "future", "static", see `kerastrans.zoo.build`.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`; with covariates its input is a dict.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the context is shorter than a patch.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `center` is unknown.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_patchtst_model(24, 12, 3, patch_length=6, stride=3, head="normal")
        >>> model.output_shape
        (None, 12, 3, 2)

    Source: Nie et al. (2023), section 3.1. The defaults are those of its small model (ETTh1),
    except `affine` and `residual_attention`: its figures were reproduced without either change.
    """
    check_at_most(patch_length=patch_length, context_length=context_length)
    check_choice("center", center, ("mean", "last", None))
    options = {"affine": affine and moving_average is None, "standardize": center is not None}
    window = open_window(context_length, num_channels, head, center=center, scale="std", **options)
    cut = Patching(patch_length, stride, pad_end)
    sizes = {"num_heads": num_heads, "key_dim": d_model // num_heads}
    extra, columns = {}, {}
    if covariate_tokens and covariates:
        extra, columns = covariate_columns(window, prediction_length, covariates)

    def forecast(x, prefix=""):
        """Map a window to raw values `(batch, prediction_length * head.size, channels)`."""
        x = _embed(x, columns, cut, d_model, prefix)  # (batch, channels, patches, d_model)
        num_patches = x.shape[2]
        x = ops.reshape(x, (-1, num_patches, d_model))  # (batch * channels, patches, d_model)
        x = _encode(x, num_blocks, ff_dim, dropout, residual_attention, sizes, prefix)
        # (batch, channels, patches * d_model)
        x = ops.reshape(x, (-1, num_channels, num_patches * d_model))
        x = ops.transpose(x, (0, 2, 1))  # (batch, patches * d_model, channels)
        units = prediction_length * head.size
        return time_dense(x, units, dtype=full_precision(), name=f"{prefix}head")

    if moving_average is None:
        x = forecast(window.values)
    else:
        season, trend = (functools.partial(forecast, prefix=x) for x in ("season_", "trend_"))
        options = {"moving_average": moving_average, "affine": affine and center is not None}
        x = forecast_parts(window, season, trend, **options)
    model = window.model(x, head, prediction_length, name, extra=extra)
    return regress(model, covariates) if covariates and not extra else model


def _embed(x, columns, cut, d_model, prefix):
    """Return the tokens `(batch, channels, patches, d_model)`, those of covariates at the end."""
    x = dense(d_model, name=f"{prefix}embedding")(cut(x))
    tokens = _covariate_tokens(columns, cut, d_model, prefix)
    tokens = [ops.repeat(ops.expand_dims(token, 1), x.shape[1], axis=1) for token in tokens]
    return concatenate([x, *tokens], axis=2)


def _encode(x, num_blocks, ff_dim, dropout, residual_attention, sizes, prefix):
    """Add positions and the encoder to tokens `(batch * channels, patches, d_model)`."""
    positions = keras.initializers.RandomUniform(-0.02, 0.02)
    x = Dropout(dropout)(LearntPositionalEncoding(*x.shape[1:], positions)(x))
    kind = ResidualAttention if residual_attention else CachedMultiHeadAttention
    sizes, scores = {**sizes, "kernel_initializer": FanInUniform}, []
    network = {"ff_dim": ff_dim, "dropout": dropout, "activation": "gelu", **sizes}
    for i in range(num_blocks):
        name = f"{prefix}encoder_{i}"
        layer = kind(**sizes, name=f"{name}_self_attention")
        layer.build(x.shape)
        x = transformer_encoder(
            x,
            **network,
            norm="post",
            normalization="batch",
            self_attention=functools.partial(_attend, layer, dropout, scores),
            name=name,
        )
    return x


def _attend(layer, dropout, scores, x):
    """Apply self-attention with the dropout that the authors' code has in the layer.

    Args:
        layer: Layer of attention.
        dropout: float, dropout rate.
        scores: List of the scores of the previous block, if there are any; of this one afterwards.
        x: `(batch * channels, patches, d_model)`.
    """
    if isinstance(layer, ResidualAttention):
        x, *scores[:] = layer(x, *scores)
    else:
        x = layer(x)
    return Dropout(dropout)(x)


def _covariate_tokens(columns, cut, d_model, prefix):
    """Return the tokens `(batch, patches, d_model)` of each kind of `covariate_columns`."""
    for kind in columns:
        x = concatenate(columns[kind])  # (batch, steps, features), or without steps
        # (batch, patches, features, patch_length), or (batch, 1, features)
        x = ops.transpose(cut(x), (0, 2, 1, 3)) if kind != "static" else ops.expand_dims(x, 1)
        # (batch, patches, features * patch_length)
        x = ops.reshape(x, (-1, x.shape[1], math.prod(x.shape[2:])))
        yield dense(d_model, name=f"{prefix}{kind}_embedding")(x)


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
