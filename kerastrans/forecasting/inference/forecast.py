"""Forecasts in the units of the series, from windows or from arrays of raw histories."""

import numpy as np

from kerastrans.data.pivot import pivot_windows
from kerastrans.forecasting.inference.forecast_frame import Forecasts
from kerastrans.forecasting.inference.reader import Reader
from kerastrans.forecasting.inference.state import BATCH
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.heads.bounded import bound_inputs
from kerastrans.models.parts.forecast_graph import TYPICAL, typical_inputs
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import check_finite_output


def predict_frame(state, frame, future, static, report):
    """Return the `Forecasts` of the steps after each series of a frame.

    Args:
        state: `FittedState`.
        frame: See `Forecaster.predict`.
        future: See `Forecaster.predict`.
        static: See `Forecaster.predict`.
        report: Function that is called with the panel, whose faults name the series left out.
    """
    reader = Reader.like(state)
    panel = reader.with_future(reader.panel(frame, static, future))
    windows = windows_of(state, panel, np.arange(len(panel)), panel.cuts)
    silent = np.flatnonzero(~windows.observed())
    panel = panel.without(
        dict.fromkeys(silent, f"no value in its last {state.config.context_length} steps")
    )
    report(panel)
    windows = windows_of(state, panel, np.arange(len(panel)), panel.cuts)
    _warn_of_silent_channels(windows)
    return forecast_windows(state, windows)


def _warn_of_silent_channels(windows):
    """Warn of channels without a value in their context, whose forecasts are NaN."""
    panel = windows.panel
    if panel.num_channels > 1:
        contexts = (
            panel.values[max(end - windows.context_length, begin) : end]
            for begin, end in zip(panel.begins, windows.cuts, strict=True)
        )
        names = [
            str(name)
            for channels, context in zip(panel.names, contexts, strict=True)
            for name in channels[np.isnan(context).all(axis=0)]
        ]
        if names:
            warn_user(
                f"{len(names)} channels have no value in their last {windows.context_length} "
                f"steps and no forecast, {names[0]!r} is the first."
            )


def forecast_windows(state, windows):
    """Return the `Forecasts` of at least one window.

    Raises:
        ValueError: If float32 cannot hold a history, or float64 a forecast.
    """
    parts = []
    for start in range(0, len(windows), BATCH):
        chosen = slice(start, start + BATCH)
        parts.append(forecast_arrays(state, windows.histories(chosen, state.typical)))
    parameters, scales = map(np.concatenate, zip(*parts, strict=True))
    check_finite_output(parameters)
    return forecasts_of(state, windows, parameters, scales)


def forecast_outputs(state, inputs):
    """Return the forecast of raw histories, see `Forecaster.forecast_histories`.

    Raises:
        ValueError: If a bound is missing that is a column of frames.
    """
    columns = bound_inputs(state.config.bounds)
    missing = [name for name in columns if name not in inputs]
    if missing:
        raise ValueError(
            f"bounds={state.config.bounds} are columns: the inputs {missing} are missing, arrays "
            "(batch, prediction_length, 1)."
        )
    names = zip(("lower_bound", "upper_bound"), state.config.bounds or (None, None), strict=True)
    bounds = [np.asarray(inputs[x], "float64") if x in columns else bound for x, bound in names]
    inputs = {name: array for name, array in inputs.items() if name not in columns}
    return state.output(*bounds).outputs(forecast_arrays(state, inputs)[0])


def forecasts_of(state, windows, parameters, scale):
    """Return `Forecasts` of these parameters, within the bounds of the series."""
    rows = windows.cuts[:, None] + np.arange(windows.prediction_length)
    output = state.output(*state.config.bounds_in(windows.panel, rows))
    return Forecasts(windows, output, parameters, scale)


def forecast_arrays(state, inputs):
    """Forecast raw histories: every forecast in Python is made here.

    The graph computes in float32. A pivot is subtracted from each window, which is then divided by
    a unit; both are computed, and undone in the forecast, in float64.

    Args:
        state: `FittedState`.
        inputs: Dict of arrays by the names of the model's inputs, see
            `Forecaster.forecast_histories`, with or without the typical scales of the series.

    Returns:
        Parameters `(batch, prediction_length, num_channels[, size])`, NaN for channels without a
        value, and the scale of each window `(batch, 1, num_channels)`, float64, in the units of the
        series.
    """
    history = np.asarray(inputs["history"], "float64")
    with np.errstate(over="ignore", invalid="ignore"):
        relative, pivot, unit = pivot_windows(history, state.equivariance)
        # The values of a window seed its samples: these must not depend on the unit.
        dtype = "float64" if state.decodes else "float32"
        relative = relative.astype(dtype)
    if np.isinf(relative).any():
        raise ValueError("history has values that float32 cannot hold.")
    names = [*state.typical, *typical_inputs(state.model)]
    typical = dict.fromkeys(names, np.zeros_like(pivot))  # not known
    typical |= {name: x for name, x in inputs.items() if name.startswith(TYPICAL)}
    others = {x: y for x, y in inputs.items() if x != "history" and x not in typical}
    typical = {name: (x / unit).astype(dtype) for name, x in typical.items()}
    parameters, scale = state.run({"history": relative, **typical, **others})
    parameters, scale = parameters.astype("float64"), scale.astype("float64")
    if state.equivariance:
        is_scaled = not state.config.scaler.is_identity
        parameters = state.head.rescale(parameters, pivot, unit)
        scale = scale * unit if is_scaled else scale
    silent = np.isnan(history).all(axis=1)  # (batch, num_channels), nothing to forecast from
    parameters.swapaxes(1, 2)[silent] = np.nan
    return parameters, scale
