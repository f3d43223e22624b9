"""From windows, or arrays of raw histories, to forecasts in the units of the series."""

import numpy as np

from kerastrans.data.missing import fill_gaps
from kerastrans.decoding.graph import history_input, takes_missing
from kerastrans.forecasting.inference.forecast_frame import Forecasts
from kerastrans.forecasting.inference.state import BATCH
from kerastrans.utils.validation import check_finite_output


def forecast_windows(config, fitted, windows):
    """`Forecasts` of some windows.

    Args:
        config: `Config`.
        fitted: `Fitted`.
        windows: `Windows`, at least one.

    Raises:
        ValueError: a forecast that float64 cannot hold.
    """
    parts, scales = [], []
    for start in range(0, len(windows), BATCH):
        inputs, (center, scale) = windows.arrays(slice(start, start + BATCH))
        parts.append(_rescaled(config, fitted, inputs, center, scale))
        scales.append(scale)
    parameters = np.concatenate(parts)
    check_finite_output(parameters)
    parameters[~windows.observed()] = np.nan  # there was nothing to forecast from
    return Forecasts(windows, fitted.head, parameters, np.concatenate(scales))


def forecast_arrays(config, fitted, inputs):
    """Parameters of the forecasts of raw histories, `(batch, prediction_length, ...)`, float64.

    Args:
        config: `Config`.
        fitted: `Fitted`.
        inputs: dict of arrays by the names of the model's inputs; see
            `Forecaster.forecast_histories`.
    """
    history = np.asarray(inputs["history"], "float64")
    center, scale = config.scaler.statistics(history)
    scaled = ((fill_gaps(history, config.fill) - center) / scale).astype("float32")
    if not takes_missing(fitted.model):
        scaled = np.nan_to_num(scaled)
    further = {name: value for name, value in inputs.items() if name != "history"}
    inputs = {history_input(fitted.model).name: scaled, **further} if further else scaled
    return _rescaled(config, fitted, inputs, center, scale)


def _rescaled(config, fitted, inputs, center, scale):
    parameters = fitted.run(inputs, config).astype("float64")
    if config.scaler.is_identity:
        return parameters
    return fitted.head.rescale(parameters, center, scale)
