"""The normalised input window of a model and the restored forecast at its end."""

from dataclasses import dataclass

import keras
from keras import layers, ops

from kerastrans.layers import ReversibleInstanceNormalization, SeriesDecomposition
from kerastrans.utils.precision import full_precision

# Each window with mean 0 and deviation 1, as reversible instance normalisation has it.
STANDARDIZED = {"center": "mean", "scale": "std"}
POOLS = {"average": layers.AveragePooling1D, "max": layers.MaxPooling1D}


@dataclass(frozen=True)
class Window:
    """The history of a model, and the normalisation that its forecast reverses.

    Attributes:
        history: Input `(batch, context_length, num_channels)`, NaN for missing values.
        values: Normalised history, 0 for missing values.
        normalization: `ReversibleInstanceNormalization` of the window.
        statistics: `(batch, 2, num_channels)`, centre and scale.
    """

    history: keras.KerasTensor
    values: keras.KerasTensor
    normalization: ReversibleInstanceNormalization
    statistics: keras.KerasTensor

    def last_value(self, prediction_length):
        """Return the last known value of each channel, repeated, on the scale of `values`.

        The result `(batch, prediction_length, num_channels)` is meant for `forecast(shift=...)`.
        """
        normalization = ReversibleInstanceNormalization("last", None, name="last_value")
        _, statistics = normalization(self.history)
        level = (statistics[:, :1] - self.statistics[:, :1]) / self.statistics[:, 1:]
        return ops.repeat(level, prediction_length, axis=1)

    def inputs(self, covariates):
        """Return the inputs of the model: the history, or a dict with it and the `covariates`."""
        return {"history": self.history, **covariates} if covariates else self.history

    def forecast(self, x, head, prediction_length, shift=None):
        """Apply a head to raw values, at the end of the model; see `Head.forecast`."""
        if head.sees_missing:
            x = MissingHistory()(head.split(x, prediction_length), self.history)
        undo = () if self.normalization.is_identity else (self.normalization, self.statistics)
        return head.forecast(x, prediction_length, *undo, shift=shift)

    def model(self, x, head, prediction_length, name, *, shift=None, extra=None):
        """Return the functional model from the history to the forecast, see `forecast`.

        Args:
            x: Outputs of the network, as `forecast` takes them.
            head: `kerastrans.heads.Head`.
            prediction_length: int, number of steps to forecast.
            name: str, name of the model.
            shift: Series that the head adds to its locations.
            extra: Dict of the names of further inputs -> KerasTensor.
        """
        outputs = self.forecast(x, head, prediction_length, shift)
        return keras.Model(self.inputs(extra), outputs, name=name)


def open_window(
    context_length,
    num_channels,
    head,
    *,
    center=None,
    scale=None,
    affine=False,
    fill=True,
    ddof=0,
    standardize=True,
):
    """Create the input of a model for the history, and normalise it.

    The arguments select the normalisation of the architecture, see
    `ReversibleInstanceNormalization`; by default windows are not changed. Counts are the
    exception: they arrive unscaled, and every architecture divides them by the mean of their
    window, or of its values that are not zero (`head.window_scale`), or by 1 if that is greater. If
    a centre were subtracted and added back, the model could not forecast means near 0.

    Args:
        context_length: int, number of steps of the history.
        num_channels: int, number of values at each step.
        head: Head of the model.
        center: Value to subtract from a window: "mean", "last" or None.
        scale: Value to divide a window by: "std", "mean_abs" or None.
        affine: bool, whether to apply a learnt scale and offset per channel afterwards.
        fill: bool, whether missing values become 0.
        ddof: int, the divisor of the variance is the number of known values minus `ddof`.
        standardize: bool, the argument of that name of an architecture; if it is False, `center`,
            `scale` and `affine` are not used, and only missing values are changed.

    Returns:
        `Window`.

    Example:
        >>> from kerastrans.heads import PointHead
        >>> open_window(24, 3, PointHead(), center="mean", scale="std").values.shape
        (None, 24, 3)

    Source: Salinas et al. (2020), section 3.3, for the scaling of counts.
    """
    floor = 0.0
    if not standardize:
        center, scale, affine = None, None, False
    if not head.takes_scaled_windows:
        center, scale, floor = None, head.window_scale, 1.0
    normalization = ReversibleInstanceNormalization(
        center, scale, affine, floor=floor, fill=fill, ddof=ddof, name="window"
    )
    history = keras.Input((context_length, num_channels), name="history")
    values, statistics = normalization(history)
    return Window(history, values, normalization, statistics)


def forecast_parts(window, forecast_season, forecast_trend, *, moving_average, affine):
    """Forecast season and trend of a window by separate networks, and add the forecasts.

    Each of the two is normalised as the window is, and its forecast restored, by its own
    statistics. Only counts keep the scale of the window.

    Args:
        window: `Window` of the model, without a learnt scale and offset.
        forecast_season: Function that maps a normalised season `(batch, context_length, c)` to raw
            values `(batch, prediction_length * head.size, c)`.
        forecast_trend: The same for the trend.
        moving_average: int, number of steps in the average that is the trend.
        affine: bool, whether their normalisations have a learnt scale and offset.

    Returns:
        Raw values `(batch, prediction_length * head.size, c)` for `window.forecast`.

    Source: the option `decomposition` of the code of Nie et al. (2023), PatchTST, and of Luo, Wang
    (2024), ModernTCN.
    """
    dtype = full_precision()
    kind = window.normalization.center, window.normalization.scale
    if kind[1] != "std":  # that of counts, or none
        kind = None, None

    def forecast_part(forecast, x):
        """Forecast a part in its own units, from its own normalised window."""
        normalization = ReversibleInstanceNormalization(*kind, affine)
        values, statistics = normalization(x)
        return normalization(forecast(values), statistics)

    scale = window.statistics[:, 1:]
    season, trend = SeriesDecomposition(moving_average, dtype=dtype)(window.values * scale)
    parts = [forecast_part(forecast_season, season), forecast_part(forecast_trend, trend)]
    return layers.Add(dtype=dtype)(parts) / scale


def pool_window(window, num_scales, standardize=True, pooling="average"):
    """Return a window at coarser and coarser resolutions, each normalised by itself.

    From one resolution to the next, two steps become one. Averages or maxima are those of the
    window before its normalisation. Each resolution has a learnt scale and offset per channel.

    Args:
        window: `Window` of the model.
        num_scales: int, number of resolutions, including the given one.
        standardize: bool, whether the resolutions are normalised; otherwise they are those of
            `window.values`.
        pooling: "average" or "max", the value of two steps.

    Returns:
        List of `num_scales` tensors `(batch, time, num_channels)`, the finest first.

    Source: Wang et al. (2024), TimeMixer, section 3.1.
    """
    x = window.values
    scales = [x]
    if standardize:
        x = window.normalization(x, window.statistics)
    for _ in range(num_scales - 1):
        x = POOLS[pooling](2, dtype=full_precision())(x)
        scales.append(ReversibleInstanceNormalization(affine=True)(x)[0] if standardize else x)
    return scales


@keras.saving.register_keras_serializable(package="kerastrans")
class MissingHistory(keras.layers.Layer):
    """Adds a learnt correction to a forecast for the missing steps of its history.

    Each missing step adds one amount to every parameter of the forecast. At each step of the
    horizon, the shortage of known steps adds another amount, in proportion to
    `sqrt((context_length + 1) / (known + 1)) - 1`, which is how the error of a mean grows. A
    network whose inputs are 0 for missing values can therefore still distinguish a value that
    equals the mean from a missing one, and widen a forecast that is made from few values. All
    amounts are initialised to 0, learnt, and shared by the channels.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: Raw values of the forecast, `(batch, prediction_length, num_channels)` or, if the
            forecast has parameters, `(batch, prediction_length, num_channels, size)`.
        history: `(batch, context_length, num_channels)`, NaN for missing values.

    Returns:
        A tensor of the shape of the inputs.

    Example:
        >>> import numpy as np
        >>> history = np.array([[[3.0], [np.nan]]])
        >>> tuple(MissingHistory()(np.ones((1, 5, 1)), history).shape)
        (1, 5, 1)
    """

    takes_missing = True

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})

    def build(self, inputs_shape, history_shape):
        size = inputs_shape[3] if len(inputs_shape) == 4 else 1
        self.by_lag = self.add_weight((history_shape[1], size), "zeros", name="by_lag")
        self.by_step = self.add_weight((inputs_shape[1], size), "zeros", name="by_step")

    def call(self, inputs, history):
        missing = ops.cast(ops.isnan(history), self.compute_dtype)
        # (batch, channels, size)
        by_lag = ops.matmul(ops.transpose(missing, (0, 2, 1)), self.by_lag)
        known = ops.sum(1 - missing, axis=1)[:, None, :, None]  # (batch, 1, num_channels, 1)
        shortage = ops.sqrt((history.shape[1] + 1) / (known + 1)) - 1
        correction = by_lag[:, None] + shortage * self.by_step[:, None]
        return inputs + (correction if len(inputs.shape) == 4 else correction[..., 0])
