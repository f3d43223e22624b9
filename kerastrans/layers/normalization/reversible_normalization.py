"""Reversible instance normalisation of windows and their forecasts."""

import keras
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice, check_non_negative

CENTERS = (None, "mean", "last")
SMALLEST_MEAN = 1e-10  # so that a forecast follows a change of units, as in GluonTS
SCALES = (None, "std", "plain_std", "mean_abs", "mean_nonzero")


@serializable
class ReversibleInstanceNormalization(keras.layers.Layer):
    """Normalises every window and channel by its own statistics, and reverses it for forecasts.

    Called with a window, the layer returns the normalised window and the statistics. Called with a
    forecast and these statistics, it returns the forecast in the units of the window:

        normalization = ReversibleInstanceNormalization()
        x, statistics = normalization(history)
        ...
        outputs = normalization(x, statistics)

    Missing values are NaN. They do not count in the statistics, and are 0 in the normalised window
    unless `fill` is False. The layer computes in full precision regardless of the dtype policy.

    Args:
        center: Value to subtract: "mean" for the mean of the window, "last" for its last known
            value, or None for no centring.
        scale: Value to divide by: "std" for the standard deviation (with `epsilon` added to the
            variance), "plain_std" for the standard deviation without it (then `epsilon` is added
            to the divisor, but not to the factor of forecasts), "mean_abs" for the mean absolute
            value (at least 1e-10), "mean_nonzero" for that of the values that are not zero (plus
            `epsilon`), or None for no scaling.
        affine: bool, whether to apply a learnt scale and offset per channel afterwards.
        epsilon: float, keeps the scale of a constant window above zero.
        floor: float, smallest scale, in units of the inputs; with 0 only `epsilon` bounds it.
        fill: bool, whether missing values become 0; otherwise they stay NaN.
        ddof: int, the divisor of the variance is the number of known values minus `ddof`.

    Call arguments:
        inputs: `(batch, time, num_channels)`.
        statistics: `(batch, 2, num_channels)`, centre and scale, as returned by the first call.

    Returns:
        `(inputs, statistics)` if called without `statistics`, otherwise
        `(batch, time, num_channels)`.

    Raises:
        ValueError: If `center` or `scale` is unknown, or `floor` is negative.

    Example:
        >>> from keras import ops
        >>> layer = ReversibleInstanceNormalization()
        >>> x, statistics = layer(ops.reshape(ops.arange(6.0), (1, 3, 2)))
        >>> ops.convert_to_numpy(layer(x, statistics)).round(3)[0, 2].tolist()
        [4.0, 5.0]

    Source: Kim et al. (2022), equations 1-3; "last" from Zeng et al. (2023), NLinear; "mean_abs"
    from Salinas et al. (2020), section 3.3.
    """

    takes_missing = True

    def __init__(
        self,
        center="mean",
        scale="std",
        affine=False,
        epsilon=1e-5,
        floor=0.0,
        fill=True,
        ddof=0,
        **kwargs,
    ):
        check_choice("center", center, CENTERS)
        check_choice("scale", scale, SCALES)
        check_non_negative(floor=floor)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.center = center
        self.scale = scale
        self.affine = affine
        self.epsilon = epsilon
        self.floor = floor
        self.fill = fill
        self.ddof = ddof

    @property
    def is_identity(self):
        """True if the layer changes nothing in a window except missing values."""
        return self.center is None and self.scale is None and not self.affine

    def build(self, inputs_shape, statistics_shape=None):
        if self.affine:
            shape = (inputs_shape[-1],)
            self.gamma = self.add_weight(shape=shape, initializer="ones", name="gamma")
            self.beta = self.add_weight(shape=shape, initializer="zeros", name="beta")

    def call(self, inputs, statistics=None):
        if statistics is not None:
            return self._restore(inputs, statistics)
        missing = ops.isnan(inputs)  # in ONNX, only a `where` of `isnan` itself leaves no NaN
        values = ops.where(missing, ops.zeros_like(inputs), inputs)
        statistics = self._statistics(values, 1 - ops.cast(missing, inputs.dtype))
        scale = statistics[:, 1:]
        x = (values - statistics[:, :1]) / (scale + self.epsilon * (self.scale == "plain_std"))
        x = x * self.gamma + self.beta if self.affine else x
        return ops.where(missing, 0.0 if self.fill else float("nan"), x), statistics

    def _statistics(self, values, weights):
        """Return centre and scale of values `(batch, time, num_channels)` with weights 0 or 1."""
        count = ops.maximum(ops.sum(weights, axis=1, keepdims=True), 1.0)

        def mean(x):
            return ops.sum(x * weights, axis=1, keepdims=True) / count

        def variance():
            biased = mean(ops.square(values - mean(values)))
            return biased * (count / ops.maximum(count - self.ddof, 1.0)) if self.ddof else biased

        def mean_nonzero():
            is_nonzero = ops.cast(values != 0, weights.dtype)
            total = ops.sum(ops.abs(values), axis=1, keepdims=True)
            number = ops.maximum(ops.sum(is_nonzero, axis=1, keepdims=True), 1.0)
            return total / number + self.epsilon

        def last():
            steps = ops.reshape(ops.arange(1, values.shape[1] + 1, dtype="float32"), (1, -1, 1))
            latest = ops.max(steps * ops.cast(weights, "float32"), axis=1, keepdims=True)
            return ops.sum(ops.where(steps == latest, values, 0.0), axis=1, keepdims=True)

        center = {
            None: lambda: ops.zeros_like(values[:, :1]),
            "mean": lambda: mean(values),
            "last": last,
        }[self.center]()
        scale = {
            None: lambda: ops.ones_like(center),
            "std": lambda: ops.sqrt(variance() + self.epsilon),
            # At least `epsilon`, so that distributions of a constant window have a width.
            "plain_std": lambda: ops.sqrt(ops.maximum(variance(), self.epsilon**2)),
            "mean_abs": lambda: ops.maximum(mean(ops.abs(values)), SMALLEST_MEAN),
            "mean_nonzero": mean_nonzero,
        }[self.scale]()
        if self.scale is not None and self.floor:
            scale = ops.maximum(scale, self.floor)
        return ops.concatenate([center, scale], axis=1)

    def _restore(self, inputs, statistics):
        x = (inputs - self.beta) / self.gamma if self.affine else inputs
        return x * statistics[:, 1:] + statistics[:, :1]
