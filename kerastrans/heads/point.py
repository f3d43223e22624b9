"""Head for point forecasts, and the errors that train it."""

import keras
from keras import layers, ops

from kerastrans.heads.base import Head
from kerastrans.heads.losses import MaskedLoss
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice


def _absolute(y_true, y_pred):
    return ops.abs(y_true - y_pred)


def _squared(y_true, y_pred):
    return ops.square(y_true - y_pred)


def _huber(y_true, y_pred):
    error = _absolute(y_true, y_pred)
    return ops.where(error < 1, 0.5 * ops.square(error), error - 0.5)


def _symmetric(y_true, y_pred):
    """Return twice the absolute error divided by |y| + |f|, whose gradient is stopped.

    With a gradient of the denominator a forecast could reduce its error merely by being large. A
    target of 0 has an error of 2 for any forecast, so its gradient is stopped too.
    """
    error = _absolute(y_true, y_pred)
    error = ops.where(y_true == 0, ops.stop_gradient(error), error)
    size = ops.stop_gradient(ops.abs(y_true) + ops.abs(y_pred))
    return 2 * error / ops.where(size > 0, size, 1.0)


def _relative(y_true, y_pred):
    size = ops.abs(y_true)
    return _absolute(y_true, y_pred) / ops.where(size > 0, size, 1.0)


POINT_ERRORS = {
    "mae": _absolute,
    "mse": _squared,
    "huber": _huber,
    "smape": _symmetric,
    "mape": _relative,
    "mase": _absolute,
}
MEDIANS = ("mae", "mase")  # errors that are smallest at the median
RELATIVE = ("smape", "mape")  # errors that depend on the zero of the scale, but not on its unit


@keras.saving.register_keras_serializable(package="kerastrans")
class PointError(MaskedLoss):
    """Mean error over the targets that are not NaN.

    Targets and forecasts have the shape `(batch, prediction_length, num_channels)`.

    - "mae", "mse" and "huber" (delta 1) are the absolute, the squared and the Huber error;
    - "smape" is `2 |y - f| / (|y| + |f|)`, from 0 to 2. Its denominator has no gradient, as in
      the code of N-BEATS. A target of 0 gives no gradient: its error is 2 for any forecast but 0;
    - "mape" is `|y - f| / |y|`; targets of 0 are ignored;
    - "mase" is the absolute error of series scaled by `WindowScaler("mase", season)`, which
      divides each window by the mean absolute seasonal difference of its context.

    "smape" and "mape" do not change if a scaler multiplies the series, but they do if it shifts the
    series; `kerastrans.Forecaster` refuses that combination.

    Args:
        error: str, one of "mae", "mse", "huber", "smape", "mape" and "mase".
        name: Name of the loss.
        **kwargs: Additional arguments of `keras.losses.Loss`.

    Raises:
        ValueError: If the error is unknown.

    Example:
        >>> import numpy as np
        >>> targets, forecasts = np.array([[[1.0], [np.nan]]]), np.array([[[3.0], [5.0]]])
        >>> [float(PointError(error)(targets, forecasts)) for error in ("mse", "smape", "mape")]
        [4.0, 1.0, 2.0]

    Source: Oreshkin et al. (2020), section 2, for sMAPE, MAPE and MASE.
    """

    has_parameter_axis = False

    def __init__(self, error="mae", name="point_error", **kwargs):
        check_choice("error", error, tuple(POINT_ERRORS))
        super().__init__(name=name, **kwargs)
        self.error = error

    def counts(self, y_true):
        """Return a bool tensor that selects known targets; for "mape" they must not be 0."""
        known = super().counts(y_true)
        return ops.logical_and(known, y_true != 0) if self.error == "mape" else known

    def errors(self, y_true, y_pred):
        """Return the error of each target."""
        return POINT_ERRORS[self.error](y_true, y_pred)

    def fits(self, head):
        """Return whether this loss can be computed from the forecasts of `head`."""
        return not head.has_parameter_axis

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "error": self.error}


@keras.saving.register_keras_serializable(package="kerastrans")
class PointHead(Head):
    """One number for each step and channel: an identity layer that records its loss.

    The forecast is `(batch, prediction_length, num_channels)`, without a parameter axis. The loss
    determines which point is forecast: "mae" and "mase" are smallest at the median and "mse" at the
    mean; "huber" is smallest between the two, and "mape" below the median.

    Args:
        loss: str, name of the loss that trains it, see `PointError`; NaN targets are ignored.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `(batch, prediction_length, num_channels)`.

    Returns:
        The inputs.

    Raises:
        ValueError: If the loss is unknown.

    Example:
        >>> from kerastrans import heads, zoo
        >>> model = zoo.build("nlinear", 48, 12, 1, head=PointHead("mse"))
        >>> heads.of(model).loss().error
        'mse'
    """

    size = 1
    has_parameter_axis = False
    interval_levels = ()

    def __init__(self, loss="mae", **kwargs):
        check_choice("loss", loss, tuple(POINT_ERRORS))
        super().__init__(**kwargs)
        self.point_loss = loss

    @property
    def point_is_median(self):
        """True if the point is the median, which minimises the absolute error."""
        return self.point_loss in MEDIANS

    def split(self, x, prediction_length):
        """Return the values unchanged."""
        return x

    def forecast(self, x, prediction_length, normalization=None, statistics=None, shift=None):
        """Convert values to the units of the history and apply this head, see `Head.forecast`."""
        if shift is not None:
            x = layers.Add(dtype=full_precision())([x, shift])
        return self(x if normalization is None else normalization(x, statistics))

    def call(self, inputs):
        """Return the inputs."""
        return inputs

    def decode(self, inputs, *, positions):
        """Return the newest steps of a model that decodes step by step."""
        return inputs

    def loss(self):
        """Return the loss that was chosen for this head."""
        return PointError(self.point_loss)

    def rescale(self, parameters, center, scale):
        """Return the forecast of the series times `scale` plus `center`."""
        return parameters * scale + center

    def shift(self, parameters, amount):
        """Return the forecast plus `amount`."""
        return parameters + amount

    def outputs(self, parameters):
        """Return the outputs of an exported model, a dict with the point forecast."""
        return {"forecast": parameters}

    def point(self, parameters):
        """Return the forecast."""
        return parameters

    def median(self, parameters):
        """Return the forecast if the loss is "mae" or "mase".

        Raises:
            ValueError: If another loss was chosen, because its point is not the median.
        """
        if not self.point_is_median:
            raise ValueError(
                f'a point trained with "{self.point_loss}" is not a median: use "mae".'
            )
        return parameters

    def quantile(self, parameters, levels):
        """Raise ValueError, as `cdf` and `sample` do, because a point has no distribution.

        Raises:
            ValueError: Always.
        """
        raise ValueError(
            "a point forecast has no quantiles: build the model with another head, such as "
            "QuantileHead, or add conformal intervals."
        )

    cdf = sample = inverse_cdf = quantile

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "loss": self.point_loss}
