"""Crossformer: attention over segments, then over channels (Zhang, Yan, 2023, figures 1-3).

Paper: https://openreview.net/forum?id=vSVLM2j9eie
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

import keras
from keras import layers, ops

from kerastrans.layers import (
    CachedMultiHeadAttention,
    LearntPositionalEncoding,
    PositionalEncoding,
)
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import add, dense, exchange_axes, learn_tokens
from kerastrans.models.parts.sublayers import TORCH_EPSILON, add_norm, position_wise_ffn
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "attention over time, then channels",
    "license": "MIT",
    "tags": ("attention", "mixes channels", "takes heads"),
    "paper": {"d_model": 256, "ff_dim": 512},
    "features": ".+_head: b c t f",
}


@checked
def build_crossformer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    segment_length=12,
    d_model=64,
    num_heads=4,
    ff_dim=128,
    num_scales=2,
    num_routers=3,
    dropout=0.1,
    pad_end=False,
    head=None,
    name="crossformer",
):
    """Build Crossformer: two-stage attention over segments of each channel, at several scales.

    The context is padded to whole segments by repeating its first value.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        segment_length: int, number of steps in a segment.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_scales: int, number of encoder blocks; each but the first merges pairs of segments.
        num_routers: int, number of learnt vectors per segment through which channels are mixed.
        dropout: float in [0, 1), dropout rate.
        pad_end: bool, whether the context is padded at its end instead, and the last steps of the
            padded horizon are returned instead of the first, as in the Time-Series-Library.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_crossformer_model(24, 12, 3, segment_length=6, d_model=8, num_heads=2)
        >>> model.output_shape
        (None, 12, 3)

    Source: Zhang, Yan (2023), "Crossformer: Transformer utilizing cross-dimension dependency for
    multivariate time series forecasting", section 3.
    """
    past, future = -(-context_length // segment_length), -(-prediction_length // segment_length)
    dtype = full_precision()
    sizes = num_heads, ff_dim, dropout

    window = open_window(context_length, num_channels, head)
    # (batch, channels, segments, d_model)
    x = _embed_segments(window.values, past, segment_length, d_model, pad_end)
    scales = [x]
    # Section 3.3: each encoder block but the first halves the number of segments.
    for i in range(num_scales):
        x = _merge_pairs(x, f"encoder_{i}") if i else x
        x = _attend_in_two_stages(x, num_routers, *sizes, f"encoder_{i}")
        scales.append(x)

    x = learn_tokens(x, num_channels * future, "future_positions", _normal())
    x = ops.reshape(x, (-1, num_channels, future, d_model))  # (batch, channels, future, d_model)
    shares = []
    for i, memory in enumerate(scales):
        x = _attend_in_two_stages(x, num_routers, *sizes, f"decoder_{i}")
        x = _attend_across(x, memory, num_heads, dropout, f"decoder_{i}_cross")
        options = {"dtype": dtype, "name": f"decoder_{i}_head"}
        # (batch, channels, future, segment_length * size)
        shares.append(dense(segment_length * head.size, **options)(x))
    # (batch, channels, time, size)
    x = ops.reshape(
        add(shares, dtype=dtype), (-1, num_channels, future * segment_length, head.size)
    )
    x = x[:, :, -prediction_length:] if pad_end else x[:, :, :prediction_length]
    x = ops.transpose(x, (0, 2, 1, 3))  # (batch, time, channels, size)
    x = ops.reshape(x, (-1, prediction_length, num_channels * head.size))
    return window.model(x, head, prediction_length, name)


def _embed_segments(x, segments, segment_length, d_model, pad_end):
    """Apply the dimension-segment-wise embedding of section 3.1.

    The result is `(batch, channels, segments, d_model)`.
    """
    num_channels, missing = x.shape[2], segments * segment_length - x.shape[1]
    if missing:
        repeated = ops.repeat(x[:, -1:] if pad_end else x[:, :1], missing, axis=1)
        x = ops.concatenate([x, repeated] if pad_end else [repeated, x], axis=1)
    # (batch * channels, segments, segment_length)
    x = ops.reshape(ops.transpose(x, (0, 2, 1)), (-1, segments, segment_length))
    x = dense(d_model, use_bias=False, name="embedding")(x)  # (batch * channels, segments, d_model)
    x = PositionalEncoding(None, d_model)(x)
    count = num_channels * segments
    x = ops.reshape(x, (-1, count, d_model))  # (batch, channels * segments, d_model)
    x = LearntPositionalEncoding(count, d_model, _normal(), name="positions")(x)
    x = layers.LayerNormalization(epsilon=TORCH_EPSILON, name="norm")(x)
    return ops.reshape(x, (-1, num_channels, segments, d_model))


def _normal():
    return keras.initializers.RandomNormal(stddev=1.0)


def _attend_in_two_stages(x, num_routers, num_heads, ff_dim, dropout, name):
    """Apply two-stage attention: to the segments of each channel, to the channels of each segment.

    It is that of section 3.2 of the paper.

    Args:
        x: `(batch, channels, segments, d_model)`.
        num_routers: int, number of routers of a segment.
        num_heads: int, number of attention heads.
        ff_dim: int, hidden width of the feed-forward networks.
        dropout: float, dropout rate.
        name: str, prefix of the layers' names.
    """
    _, num_channels, segments, d_model = x.shape
    routers = learn_tokens(x, segments * num_routers, f"{name}_routers", _normal())
    # (batch * segments, routers, d_model)
    routers = ops.reshape(routers, (-1, num_routers, d_model))
    x = ops.reshape(x, (-1, segments, d_model))  # (batch * channels, segments, d_model)
    x = _add_attention(x, None, num_heads, dropout, f"{name}_time")
    x = _add_network(x, ff_dim, dropout, f"{name}_time")
    x = exchange_axes(x, num_channels)  # (batch * segments, channels, d_model)
    routers = _attend(routers, x, num_heads, dropout, f"{name}_send")
    x = _add_attention(x, routers, num_heads, dropout, f"{name}_receive")
    x = _add_network(x, ff_dim, dropout, f"{name}_channels")
    return ops.reshape(exchange_axes(x, segments), (-1, num_channels, segments, d_model))


def _attend_across(x, memory, num_heads, dropout, name):
    """Add attention of the segments of the horizon to those of the context, by channel."""
    _, num_channels, future, d_model = x.shape
    x = ops.reshape(x, (-1, future, d_model))  # (batch * channels, future, d_model)
    # (batch * channels, segments, d_model)
    memory = ops.reshape(memory, (-1, memory.shape[2], d_model))
    x = _add_attention(x, memory, num_heads, dropout, name)
    x = _add_network(x, d_model, 0.0, name)
    return ops.reshape(x, (-1, num_channels, future, d_model))


def _attend(x, memory, num_heads, dropout, name):
    sizes = {"num_heads": num_heads, "key_dim": x.shape[-1] // num_heads, "dropout": dropout}
    options = {"kernel_initializer": FanInUniform, "name": name}
    return CachedMultiHeadAttention(**sizes, **options)(x, memory)


def _add_attention(x, memory, num_heads, dropout, name):
    return add_norm(x, _attend(x, memory, num_heads, dropout, name), dropout, name=name)


def _add_network(x, ff_dim, dropout, name):
    options = {"activation": "gelu", "kernel_initializer": FanInUniform, "name": name}
    return add_norm(x, position_wise_ffn(x, ff_dim, **options), dropout, name=f"{name}_ffn")


def _merge_pairs(x, name):
    """Map pairs of neighbouring segments to one; the last one of an odd number is repeated.

    Args:
        x: `(batch, channels, segments, d_model)`.
        name: str, prefix of the layers' names.

    Returns:
        `(batch, channels, pairs, d_model)`.
    """
    if x.shape[2] % 2:
        x = ops.concatenate([x, x[:, :, -1:]], axis=2)
    _, num_channels, segments, d_model = x.shape
    # (batch, channels, pairs, 2 * d_model)
    x = ops.reshape(x, (-1, num_channels, segments // 2, 2 * d_model))
    x = layers.LayerNormalization(epsilon=TORCH_EPSILON, name=f"{name}_merge_norm")(x)
    return dense(d_model, name=f"{name}_merge")(x)
