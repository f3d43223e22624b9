"""Errors that train point forecasts: in the units of the series, or relative to its size."""

import keras
from keras import ops

from kerastrans.heads.losses import MaskedLoss
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
