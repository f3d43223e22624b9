"""TimeXer: patches and global tokens that attend to all channels (Wang et al., 2024).

Paper: https://arxiv.org/abs/2402.19072
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

import keras
from keras import layers, ops

from kerastrans.layers import (
    CachedMultiHeadAttention,
    Dropout,
    Patching,
    PositionalEncoding,
    ReversibleInstanceNormalization,
)
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import concatenate, dense
from kerastrans.models.parts.regression import covariate_columns, covariate_series
from kerastrans.models.parts.sublayers import TORCH_EPSILON, add_norm, position_wise_ffn
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_positive_integers

ARCHITECTURE = {
    "summary": "patches that ask channels",
    "license": "MIT",
    "tags": (
        "attention",
        "mixes channels",
        "affine",
        "past covariates",
        "future covariates",
        "static covariates",
        "takes heads",
    ),
    "features": "head: b c f",
}


@checked
def build_timexer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    patch_length=16,
    d_model=256,
    num_heads=8,
    ff_dim=2048,
    num_blocks=1,
    dropout=0.1,
    shared_embedding=False,
    covariates_only=False,
    standardize=True,
    head=None,
    covariates=None,
    name="timexer",
):
    """Build TimeXer: every channel is forecast with all channels as exogenous variables.

    Each channel has a learnt global token. In a long frame all series are channel 0, share its
    token and do not attend to each other; in a wide frame each column has its own token and attends
    to the others. Each covariate is one additional token, an embedding of all its steps, including
    the future ones if they are known, and the global tokens attend to it.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        patch_length: int, number of steps in a patch, at most `context_length`; patches do not
            overlap.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_blocks: int, number of encoder blocks.
        dropout: float in [0, 1), dropout rate.
        shared_embedding: bool, whether one map embeds channels and covariates, as in the authors'
            code; only the past of covariates is read then, and their mean is not subtracted.
        covariates_only: bool, whether the global tokens attend to the covariates only, not to the
            channels, as in the authors' code with `features="MS"`. One map embeds the covariates;
            past ones are normalised like the channels, future ones, such as the calendar, are not.
        standardize: bool, whether each window is normalised by its mean and standard deviation.
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
        ValueError: If `shared_embedding` or `covariates_only` is true and a covariate is static or
            has categories.
        ValueError: If `covariates_only` is true and there are no covariates.
        ValueError: If a kind of covariates is unknown.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_timexer_model(24, 12, 3, patch_length=6, d_model=8, num_heads=2)
        >>> model.output_shape
        (None, 12, 3)

    Source: Wang et al. (2024), "TimeXer", figure 2 and equations 3-8.
    """
    check_at_most(patch_length=patch_length, context_length=context_length)
    if covariates_only and not covariates:
        raise ValueError("covariates_only=True requires covariates, got none.")

    def attention():
        return CachedMultiHeadAttention(
            num_heads=num_heads,
            key_dim=d_model // num_heads,
            dropout=dropout,
            kernel_initializer=FanInUniform,
        )

    def feed_forward(x):
        options = {"activation": "gelu", "kernel_initializer": FanInUniform}
        return add_norm(x, position_wise_ffn(x, ff_dim, dropout, **options), dropout)

    def normalise(x):
        return layers.LayerNormalization(epsilon=TORCH_EPSILON)(x)

    def attend_to_channels(x):
        """Let the global tokens, the last of `x`, attend to all variables, and normalise them."""
        tokens = ops.reshape(x[:, -1:], (-1, num_channels, d_model))  # (batch, channels, d_model)
        tokens = Dropout(dropout)(attention()(tokens, channels))
        # (batch * channels, 1, d_model)
        tokens = layers.Add()([x[:, -1:], ops.reshape(tokens, (-1, 1, d_model))])
        return ops.concatenate([x[:, :-1], normalise(tokens)], axis=1)

    window = open_window(
        context_length, num_channels, head, **STANDARDIZED, standardize=standardize
    )
    embed = dense(d_model, name="channel_embedding")
    if (shared_embedding or covariates_only) and covariates:
        extra, series = covariate_series(window, prediction_length, covariates)
        if not covariates_only:
            series = [window.values, *series]
        elif standardize and "past" in covariates:
            series[0], _ = ReversibleInstanceNormalization(**STANDARDIZED, name="past")(series[0])
        channels = embed(ops.transpose(concatenate(series), (0, 2, 1)))
    else:
        extra, columns = covariate_columns(window, prediction_length, covariates)
        # (batch, steps * features)
        exogenous = [layers.Flatten()(x) for kind in columns for x in columns[kind]]
        # (batch, 1, d_model)
        tokens = [layers.Reshape((1, d_model))(dense(d_model)(x)) for x in exogenous]
        channels = embed(ops.transpose(window.values, (0, 2, 1)))
        channels = concatenate([channels, *tokens], axis=1)
    channels = Dropout(dropout)(channels)  # (batch, channels and covariates, d_model)

    x = Patching(patch_length, patch_length)(window.values)  # (batch, channels, patches, length)
    num_tokens = x.shape[2] + 1
    x = dense(d_model, use_bias=False, name="patch_embedding")(x)
    # (batch * channels, patches, d_model)
    x = PositionalEncoding(None, d_model)(ops.reshape(x, (-1, num_tokens - 1, d_model)))
    x = GlobalToken(num_channels)(x)  # (batch * channels, patches + 1, d_model)
    x = Dropout(dropout)(x)
    for _ in range(num_blocks):
        x = add_norm(x, attention()(x), dropout)
        x = feed_forward(attend_to_channels(x))
    x = normalise(x)
    # (batch, channels, (patches + 1) * d_model)
    x = ops.reshape(x, (-1, num_channels, num_tokens * d_model))
    dtype = full_precision()
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    x = Dropout(dropout, dtype=dtype)(ops.transpose(x, (0, 2, 1)))
    return window.model(x, head, prediction_length, name, extra=extra)


@serializable
class GlobalToken(keras.layers.Layer):
    """Appends a learnt token per channel to the sequence of the channel.

    Args:
        num_channels: int, number of channels that were folded into the batch.

    Call arguments:
        inputs: `(batch * num_channels, tokens, d_model)`.

    Returns:
        `(batch * num_channels, tokens + 1, d_model)`.

    Raises:
        ValueError: If `num_channels` is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(GlobalToken(num_channels=3)(ops.ones((12, 10, 16))))
        (12, 11, 16)

    Source: Wang et al. (2024), TimeXer, equation 3.
    """

    def __init__(self, num_channels, **kwargs):
        check_positive_integers(num_channels=num_channels)
        super().__init__(**kwargs)
        self.num_channels = num_channels

    def build(self, inputs_shape):
        normal = keras.initializers.RandomNormal(stddev=1.0)
        self.tokens = self.add_weight(
            shape=(1, self.num_channels, inputs_shape[-1]), initializer=normal, name="tokens"
        )

    def call(self, inputs):
        width = inputs.shape[-1]
        batch = ops.shape(inputs)[0] // self.num_channels
        tokens = ops.broadcast_to(self.tokens, (batch, self.num_channels, width))
        # (batch * channels, 1, d_model)
        tokens = ops.cast(ops.reshape(tokens, (-1, 1, width)), inputs.dtype)
        return ops.concatenate([inputs, tokens], axis=1)

    def compute_output_shape(self, inputs_shape):
        return (inputs_shape[0], inputs_shape[1] + 1, inputs_shape[2])
