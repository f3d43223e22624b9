"""TimeBridge: attention to detrended patches, then to channels (Liu et al., 2025, figure 2).

Paper: https://arxiv.org/abs/2410.04442
Code: https://github.com/Hank0626/TimeBridge/tree/0f9a83f
"""

import functools
import math

import keras
import numpy as np
from keras import layers, ops

from kerastrans.layers import CachedMultiHeadAttention, Dropout
from kerastrans.layers.initializers import FanInUniform
from kerastrans.layers.transformer.blocks import transformer_encoder
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense, exchange_axes, time_dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON, add_norm, position_wise_ffn
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_choice, check_positive_integers

ARCHITECTURE = {
    "summary": "attention to detrended patches, then channels",
    "license": "MIT",
    "tags": ("attention", "mixes channels", "affine", "takes heads"),
    "paper": {"d_model": 128, "num_heads": 8},
    "features": "head: b c f",
}
NUM_CALENDAR_CHANNELS = 4  # of the published code, zeros if it is given no calendar


@checked(may_be_zero=("num_blocks", "num_downsampling_blocks", "num_channel_blocks"))
def build_timebridge_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    period=24,
    num_patches=None,
    d_model=64,
    num_heads=4,
    ff_dim=128,
    num_blocks=1,
    num_downsampling_blocks=1,
    num_channel_blocks=1,
    moving_average=6,
    reference_attention=False,
    activation="gelu",
    dropout=0.0,
    attention_dropout=0.15,
    head=None,
    name="timebridge",
):
    """Build TimeBridge: attention within channels without their trends, then across channels.

    The context is cut into `context_length // period` patches; the oldest steps that do not fill a
    patch are left out.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        period: int, smallest number of steps in a patch, at most `context_length`.
        num_patches: int, number of patches after downsampling; None for all of them, which a model
            without downsampling blocks requires.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_blocks: int, number of blocks over the patches of a channel, or 0.
        num_downsampling_blocks: int, number of blocks that map the patches to `num_patches`, or 0.
        num_channel_blocks: int, number of blocks over the channels, or 0.
        moving_average: int, number of patches in the trend that queries and keys leave out.
        reference_attention: bool, whether attention is that of the authors' code: the trend is an
            average of features instead of patches, and channels also attend to four channels of
            zeros, which that code adds if it is given no calendar.
        activation: "gelu" or "relu", activation of the feed-forward networks.
        dropout: float in [0, 1), dropout rate.
        attention_dropout: float in [0, 1), dropout rate on the attention weights.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the context is shorter than `period`.
        ValueError: If `num_patches` is greater than the number of patches, or smaller without
            downsampling blocks.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `activation` is unknown.
        ValueError: If a dropout is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_timebridge_model(24, 12, 3, period=6, d_model=8, num_heads=2)
        >>> model.output_shape
        (None, 12, 3)

    Source: Liu et al. (2025), "TimeBridge: Non-stationarity matters for long-term time series
    forecasting", section 3.
    """
    check_at_most(period=period, context_length=context_length)
    count = context_length // period
    patch_length = context_length // count
    num_patches = count if num_patches is None else num_patches
    check_at_most(num_patches=num_patches, number_of_patches_of_the_context=count)
    if num_downsampling_blocks == 0 and num_patches < count:
        raise ValueError(
            f"num_patches={num_patches} requires a downsampling block, because the context has "
            f"{count} patches, got num_downsampling_blocks=0."
        )
    check_choice("activation", activation, ("gelu", "relu"))
    rows = num_channels + NUM_CALENDAR_CHANNELS * reference_attention
    attention = {"num_heads": num_heads, "key_dim": d_model // num_heads}
    attention |= {"kernel_initializer": FanInUniform}
    network = {"ff_dim": ff_dim, "activation": activation, "kernel_initializer": FanInUniform}
    block = {**attention, **network, "dropout": dropout}
    block |= {"norm": "post", "layer_norm_epsilon": TORCH_EPSILON}
    attention["dropout"] = attention_dropout
    axis = "features" if reference_attention else "time"

    window = open_window(
        context_length, num_channels, head, center="mean", scale="plain_std", ddof=1
    )
    x = ops.transpose(window.values[:, -count * patch_length :], (0, 2, 1))
    x = _embed_patches(x, count, rows, d_model, dropout)  # (batch * rows, patches, d_model)
    for i in range(num_blocks):
        trend = Detrending(moving_average, axis)
        attend = functools.partial(_integrate, attention, trend, f"patches_{i}_attention")
        x = transformer_encoder(x, **block, self_attention=attend, name=f"patches_{i}")
    for i in range(num_downsampling_blocks):
        x = _downsample(x, num_patches, dropout, attention, network, f"downsampling_{i}")
    for i in range(num_channel_blocks):
        attend = functools.partial(_cointegrate, attention, f"channels_{i}")
        x = exchange_axes(x, rows)  # (batch * patches, channels, d_model)
        x = transformer_encoder(x, **block, self_attention=attend, name=f"channels_{i}")
        x = exchange_axes(x, num_patches)  # (batch * rows, patches, d_model)
    # (batch, channels, patches * d_model)
    x = ops.reshape(x, (-1, rows, num_patches * d_model))[:, :num_channels]
    x = dense(prediction_length * head.size, use_bias=False, dtype=full_precision(), name="head")(x)
    return window.model(ops.transpose(x, (0, 2, 1)), head, prediction_length, name)


def _embed_patches(x, count, rows, d_model, dropout):
    """Map series `(batch, channels, time)` to tokens, with rows of zeros for further channels."""
    _, num_channels, time = x.shape
    # (batch, channels, patches, patch_length)
    x = ops.reshape(x, (-1, num_channels, count, time // count))
    x = dense(d_model, use_bias=False, name="embedding")(x)
    x = Dropout(dropout)(x)
    x = ops.pad(x, ((0, 0), (0, rows - num_channels), (0, 0), (0, 0)))
    return ops.reshape(x, (-1, count, d_model))


def _integrate(attention, detrending, name, x):
    """Integrated attention: queries and keys leave out the trend, values have it."""
    stable = detrending(x)
    return CachedMultiHeadAttention(**attention, name=name)(stable, x, stable)


def _cointegrate(attention, name, x):
    """Cointegrated attention: within the rows, then within the columns of a square of channels."""
    _, rows, d_model = x.shape
    side = math.isqrt(rows - 1) + 1
    x = ops.pad(x, ((0, 0), (0, side**2 - rows), (0, 0)))
    x = ops.reshape(x, (-1, side, d_model))  # (batch * patches * side, side, d_model)
    x = CachedMultiHeadAttention(**attention, name=f"{name}_rows")(x)
    x = exchange_axes(x, side)  # columns of the square
    y = CachedMultiHeadAttention(**attention, name=f"{name}_columns")(x)
    x = exchange_axes(layers.Add()([x, y]), side)
    return ops.reshape(x, (-1, side**2, d_model))[:, :rows]  # (batch * patches, rows, d_model)


def _downsample(x, num_patches, dropout, attention, network, name):
    """Add a block whose queries are the merged patches; only their residual has dropout."""
    merged = _merge_patches(x, num_patches, name)
    residual = Dropout(dropout)(merged)
    attended = CachedMultiHeadAttention(**attention, name=f"{name}_attention")(merged, x)
    x = add_norm(residual, attended, name=f"{name}_self_attention")
    y = position_wise_ffn(x, dropout=dropout, **network, name=name)
    return add_norm(x, y, dropout, name=f"{name}_ffn")


def _merge_patches(x, num_patches, name):
    """Mix all patches to fewer ones, `(batch * rows, num_patches, d_model)`."""
    y = time_dense(x, num_patches, use_bias=False, name=f"{name}_merge")
    mean = ops.mean(x, axis=1, keepdims=True)
    z = ops.concatenate([y, mean], axis=1)  # (batch * rows, num_patches + 1, d_model)
    z = time_dense(z, num_patches, use_bias=False, name=f"{name}_merge_again")
    return layers.Add()([y, z])


AXES = ("time", "features")


@serializable
class Detrending(keras.layers.Layer):
    """Subtracts a moving average of the latest positions; no gradient flows through the layer.

    The first positions, which have too few before them, subtract the first complete average. An
    average over more positions than there are is one over all of them.

    Args:
        length: int, number of positions in the average.
        axis: "time" or "features", the axis of the average.

    Call arguments:
        inputs: `(batch, time, features)`.

    Returns:
        `(batch, time, features)`.

    Raises:
        ValueError: If `length` is below 1, or `axis` is unknown.

    Example:
        >>> from keras import ops
        >>> inputs = ops.convert_to_tensor([[[1.0], [3.0], [7.0]]])
        >>> ops.convert_to_numpy(Detrending(length=2)(inputs))[0, :, 0].tolist()
        [-1.0, 1.0, 2.0]

    Source: Liu et al. (2025), TimeBridge, section 3.
    """

    def __init__(self, length, axis="time", **kwargs):
        check_positive_integers(length=length)
        check_choice("axis", axis, AXES)
        super().__init__(**kwargs)
        self.length = length
        self.axis = axis

    def call(self, inputs):
        count = inputs.shape[1 + AXES.index(self.axis)]
        length = min(self.length, count)
        last = np.maximum(np.arange(count), length - 1)  # of the positions of each average
        first, positions = last - length + 1, np.arange(count)[:, None]
        averages = ((positions >= first) & (positions <= last)) / length  # (position, average)
        equation = "btf,ts->bsf" if self.axis == "time" else "btf,fs->bts"
        averages = ops.convert_to_tensor(averages, inputs.dtype)
        return ops.stop_gradient(inputs - ops.einsum(equation, inputs, averages))

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
