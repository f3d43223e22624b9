"""xPatch: convolutions for the season, linear maps for the trend (Stitsyuk, Choi, 2025).

Paper: https://arxiv.org/abs/2412.17323
Code: https://github.com/stitsyuk/xPatch/tree/d12eeca
"""

import keras
import numpy as np
from keras import layers, ops

from kerastrans.layers import BatchNormalization, Patching
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import concatenate, dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_choice, check_weight

ARCHITECTURE = {
    "summary": "season by convolutions over patches, trend by linear maps",
    "license": "Apache-2.0",
    "tags": ("convolution", "channel independent", "affine", "takes heads"),
    "features": "head: bc f",
}
SLOPE_SMOOTHING = 0.3  # weight of the newest slope in double smoothing


@checked
def build_xpatch_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    patch_length=16,
    stride=8,
    pad_end=True,
    decomposition="simple",
    smoothing=0.3,
    standardize=True,
    head=None,
    name="xpatch",
):
    """Build xPatch: exponential smoothing separates season and trend, which have two networks.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        patch_length: int, number of steps in a patch, at most `context_length`.
        stride: int, number of steps between the starts of two patches.
        pad_end: bool, whether the last value is repeated, so that one more patch covers the newest
            steps.
        decomposition: "simple" or "double" exponential smoothing, or "none": both networks get the
            window.
        smoothing: float in (0, 1], weight of the newest value in the trend.
        standardize: bool, whether each window is normalised by its mean and standard deviation,
            with a learnt scale and offset per channel.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the context is shorter than a patch.
        ValueError: If `decomposition` is unknown, or `smoothing` is outside (0, 1].
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_xpatch_model(24, 12, 3, patch_length=6, stride=3)
        >>> model.output_shape
        (None, 12, 3)

    Source: Stitsyuk, Choi (2025), "xPatch: Dual-stream time series forecasting with exponential
    seasonal-trend decomposition", section 3.
    """
    check_at_most(patch_length=patch_length, context_length=context_length)
    check_choice("decomposition", decomposition, ("simple", "double", "none"))
    check_weight(smoothing=smoothing)
    dtype = full_precision()
    half = max(1, prediction_length // 2)

    def normalise(x):
        """Apply batch normalisation with statistics for each patch."""
        return BatchNormalization(axis=1, momentum=0.9, epsilon=1e-5)(x)

    def convolve_patches(x):
        """Forecast the season: `(batch, channels, time)` -> `(batch * channels, horizon)`."""
        x = Patching(patch_length, stride, pad_end)(x)
        count = x.shape[2]
        x = ops.reshape(x, (-1, count, patch_length))  # (batch * channels, patches, patch_length)
        x = normalise(dense(patch_length**2, activation="gelu", name="expand")(x))
        # Depthwise: the features of each patch in pieces, with a filter for each patch.
        y = layers.EinsumDense(
            "bpfk,pk->bfp",
            (patch_length, count),
            kernel_initializer=FanInUniform(input_axes=(1,), output_axes=(0,)),
            bias_axes="p",
            name="depthwise",
        )(ops.reshape(x, (-1, count, patch_length, patch_length)))  # (..., patches, pieces, length)
        # (batch * channels, patches, patch_length)
        y = normalise(ops.gelu(_swap(y), approximate=False))
        x = layers.Add()([y, dense(patch_length, name="skip")(x)])
        x = _swap(dense(count, activation="gelu", name="pointwise")(_swap(x)))
        x = layers.Flatten()(normalise(x))  # (batch * channels, patches * patch_length)
        x = dense(2 * prediction_length, activation="gelu", name="season_hidden")(x)
        return dense(prediction_length, name="season")(x)

    def halve(x):
        """Average pairs of features, and normalise them."""
        # (batch * channels, pairs)
        x = ops.mean(ops.reshape(x, (-1, x.shape[-1] // 2, 2)), axis=-1)
        return layers.LayerNormalization(epsilon=TORCH_EPSILON)(x)

    def map_trend(x):
        """Forecast the trend: `(batch * channels, time)` -> `(batch * channels, horizon)`."""
        x = halve(dense(4 * prediction_length, name="trend_expand")(x))
        x = halve(dense(2 * half, name="trend_hidden")(x))
        return dense(prediction_length, name="trend")(x)

    window = open_window(
        context_length, num_channels, head, **STANDARDIZED, affine=True, standardize=standardize
    )
    season = trend = window.values
    if decomposition != "none":
        slope = SLOPE_SMOOTHING if decomposition == "double" else None
        season, trend = ExponentialDecomposition(smoothing, slope, dtype=dtype)(window.values)
    trend = ops.reshape(_swap(trend), (-1, context_length))  # (batch * channels, context_length)
    x = concatenate([convolve_patches(season), map_trend(trend)])
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    # (batch, time * size, channels)
    x = _swap(ops.reshape(x, (-1, num_channels, prediction_length * head.size)))
    return window.model(x, head, prediction_length, name)


def _swap(x):
    """Exchange the last two axes of three."""
    return ops.transpose(x, (0, 2, 1))


@serializable
class ExponentialDecomposition(keras.layers.Layer):
    """Splits a series into season and trend; the trend is exponentially smoothed.

    Simple smoothing starts at the first value. Double smoothing (Holt) also smooths the slope, and
    starts with the first difference.

    Args:
        smoothing: float in (0, 1], weight of the newest value.
        slope_smoothing: float in (0, 1], weight of the newest slope in double smoothing; None for
            simple smoothing.

    Call arguments:
        inputs: `(batch, time, num_channels)`.

    Returns:
        `(season, trend)`, each `(batch, time, num_channels)`; their sum is `inputs`.

    Raises:
        ValueError: If a weight is outside (0, 1].

    Example:
        >>> from keras import ops
        >>> inputs = ops.convert_to_tensor([[[0.0], [1.0], [1.0]]])
        >>> season, trend = ExponentialDecomposition(smoothing=0.5)(inputs)
        >>> ops.convert_to_numpy(trend)[0, :, 0].tolist()
        [0.0, 0.5, 0.75]

    Source: Stitsyuk, Choi (2025), xPatch, equations 1-3; Holt (1957) for double smoothing.
    """

    def __init__(self, smoothing=0.3, slope_smoothing=None, **kwargs):
        check_weight(smoothing=smoothing)
        if slope_smoothing is not None:
            check_weight(slope_smoothing=slope_smoothing)
        super().__init__(**kwargs)
        self.smoothing = smoothing
        self.slope_smoothing = slope_smoothing

    def call(self, inputs):
        matrix = ops.convert_to_tensor(self._weights(inputs.shape[1]), inputs.dtype)
        trend = ops.einsum("bsc,st->btc", inputs, matrix)
        return inputs - trend, trend

    def _weights(self, length):
        """Return the matrix `(steps, length)` of the weight of each step in each smoothed value."""
        values = np.eye(length)  # row t holds the weights of the value at step t
        level, slope = values[0], np.zeros(length)
        if self.slope_smoothing is not None and length > 1:
            slope = values[1] - values[0]
        levels = [level]
        for value in values[1:]:
            before = level
            level = self.smoothing * value + (1 - self.smoothing) * (before + slope)
            if self.slope_smoothing is not None:
                share = self.slope_smoothing
                slope = share * (level - before) + (1 - share) * slope
            levels.append(level)
        return np.stack(levels, axis=1)
