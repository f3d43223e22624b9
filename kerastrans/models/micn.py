"""MICN: local and global convolutions at several scales (Wang et al., 2023, figures 1-3).

Paper: https://openreview.net/forum?id=zt53IDUR1U
Code: https://github.com/thuml/Time-Series-Library/tree/4e938a1
"""

import keras
from keras import layers, ops

from kerastrans.layers import Dropout, SeriesDecomposition
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import embed_values
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import concatenate, dense, time_dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers

ARCHITECTURE = {
    "summary": "local and global convolutions",
    "license": "MIT",
    "tags": ("convolution", "mixes channels", "takes heads"),
    "paper": {"d_model": 512},
    "features": "head: b t f",
}


@checked
def build_micn_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    kernel_sizes=(12, 16),
    d_model=32,
    num_blocks=1,
    dropout=0.05,
    head=None,
    name="micn",
):
    """Build MICN: the season passes convolutions at several scales, the trend a linear map.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        kernel_sizes: Tuple of int, number of steps of each scale.
        d_model: int, number of features of each step.
        num_blocks: int, number of blocks.
        dropout: float in [0, 1), dropout rate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If there are no kernels.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_micn_model(24, 12, 3, kernel_sizes=(4, 6), d_model=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Wang et al. (2023), "MICN: Multi-scale local and global context modeling for long-term
    series forecasting", section 3, with the linear trend (MICN-regre).
    """
    if not kernel_sizes:
        raise ValueError("kernel_sizes must have at least one size, got ().")
    check_positive_integers(**{f"kernel_sizes[{i}]": size for i, size in enumerate(kernel_sizes)})
    length = context_length + prediction_length

    def decompose(x, size, **options):
        """Return season and trend; the moving average has an odd number of steps."""
        return SeriesDecomposition(size + 1 - size % 2, **options)(x)

    def activate(x):
        return Dropout(dropout)(ops.tanh(x))

    def mix_scale(x, size, normalise, name):
        """Convolve segments of `size` steps, then all segments, and return to single steps."""
        initial = {"kernel_initializer": FanInUniform()}
        season, _ = decompose(x, size)
        reach = size // 2
        count = (length + 2 * reach) // size
        x = ops.pad(season, ((0, 0), (reach, reach), (0, 0)))[:, : count * size]
        x = ops.reshape(x, (-1, count, size * d_model))  # (batch, segments, size * d_model)
        x = activate(dense(d_model, name=name.format("local"))(x))
        isometric = layers.Conv1D(
            d_model, count, padding="causal", **initial, name=name.format("global")
        )
        x = normalise(layers.Add()([x, activate(isometric(x))]))
        # A transposed convolution, whose fan-in is that of the convolution in PyTorch.
        x = layers.EinsumDense(
            "bsd,dke->bske",
            (count, size, d_model),
            bias_axes="e",
            kernel_initializer=FanInUniform(input_axes=(1, 2), output_axes=(0,)),
            name=name.format("steps"),
        )(x)
        # (batch, time, d_model)
        x = activate(ops.reshape(x, (-1, count * size, d_model)))[:, :length]
        return normalise(layers.Add()([x, season]))

    def mix_scales(x, name):
        normalise, first, second = (
            layers.LayerNormalization(epsilon=TORCH_EPSILON) for _ in range(3)
        )
        x = concatenate(
            [
                mix_scale(x, size, normalise, f"{name}_{{}}_{i}")
                for i, size in enumerate(kernel_sizes)
            ]
        )
        x = dense(d_model, name=f"{name}_merge")(x)
        y = dense(4 * d_model, name=f"{name}_expand")(first(x))
        return second(layers.Add()([x, dense(d_model, name=f"{name}_contract")(y)]))

    dtype = full_precision()
    window = open_window(context_length, num_channels, head)
    trends = [decompose(window.values, size, dtype=dtype)[1] for size in kernel_sizes]
    trend = trends[0] if len(trends) == 1 else layers.Average(dtype=dtype)(trends)
    season = layers.Subtract(dtype=dtype)([window.values, trend])
    trend = time_dense(
        trend,
        prediction_length,
        kernel_initializer=keras.initializers.Constant(1 / prediction_length),
        dtype=dtype,
        name="trend",
    )
    x = ops.pad(season, ((0, 0), (0, prediction_length), (0, 0)))
    x = embed_values(x, d_model, dropout)
    for i in range(num_blocks):
        x = mix_scales(x, f"scales_{i}")
    x = dense(num_channels * head.size, dtype=dtype, name="head")(x[:, -prediction_length:])
    return window.model(x, head, prediction_length, name, shift=trend)
