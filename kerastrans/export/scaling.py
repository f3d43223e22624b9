"""Scaling and bounds inside of an exported file, in float32."""

import keras
import numpy as np
from keras import ops

from kerastrans.data.pivot import pivot_windows
from kerastrans.data.scaling import StandardScaler, WindowScaler
from kerastrans.heads.bounded import check_bounds
from kerastrans.heads.quantile import QuantileHead
from kerastrans.models.parts.forecast_graph import WindowScaling, equivariance_of


def check_scaler(model, head, scaler, num_channels):
    """Raise ValueError for a scaler of another width, or one that the head cannot undo."""
    if isinstance(scaler, StandardScaler) and len(scaler.mean) != num_channels:
        raise ValueError(
            f"the model's input has {num_channels} channels, the scaler {len(scaler.mean)}: they "
            "must agree."
        )
    if not scaler.is_identity:  # a head of counts says here that it has no scale
        parameters = np.zeros([size or 1 for size in model.output_shape])
        head.rescale(parameters, np.zeros(num_channels), np.ones(num_channels))


def unscaled(predict, model, head, scaler, takes_missing, fill=None):
    """Return the function from a raw history, and other inputs, to the head's parameters.

    It does what `kerastrans.forecasting.inference.forecast.forecast_arrays` does, by the same
    layers, but finds the pivot and the unit of each window in float32.

    Args:
        predict: Function from a dict of inputs, whose "history" `(batch, context_length,
            num_channels)` is scaled, to the head's parameters `(batch, prediction_length,
            num_channels[, head.size])`.
        model: Keras model that forecasts.
        head: Head of the model.
        scaler: `StandardScaler`, `WindowScaler` or None.
        takes_missing: Whether `predict` takes NaN for a missing value; otherwise it gets 0.
        fill: What the model sees of a missing value: None, "last" or "zero".

    Returns:
        Function from a dict of inputs with a raw history to the parameters and the scale of each
        window `(batch, 1, num_channels)`, in the units of the series.
    """
    if isinstance(scaler, StandardScaler):
        equivariance, scale_windows = "", _by_constants(scaler, takes_missing)
    else:
        scaler = WindowScaler(None) if scaler is None else scaler
        equivariance = equivariance_of(model, scaler, fill)
        scale_windows = WindowScaling(scaler.kind, scaler.season, not takes_missing, fill)

    def function(inputs):
        history, pivot, unit = pivot_windows(inputs["history"], equivariance, ops)
        x, center, scale = scale_windows(history)
        parameters = predict({**inputs, "history": x})
        if not scaler.is_identity:
            parameters = head.rescale(parameters, center, scale)
        if equivariance:
            parameters = head.rescale(parameters, pivot, unit)
        return parameters, scale if scaler.is_identity else scale * unit

    return function


def _by_constants(scaler, takes_missing):
    """As `WindowScaling`, by one centre and scale for all windows."""

    def scale_windows(history):
        center, scale = scaler.statistics(history, keras.ops)
        x = (history - center) / scale
        if not takes_missing:
            x = ops.where(ops.isnan(x), ops.zeros_like(x), x)
        return x, center, scale

    return scale_windows


def check_bounded(head, bounds):
    """Raise ValueError for invalid bounds, or a distribution whose bounded mean a file lacks."""
    if check_bounds(bounds) and head.has_parameter_axis and not isinstance(head, QuantileHead):
        raise ValueError(
            f"bounds and a {type(head).__name__} cannot be exported together: train with "
            "head='quantiles', or forecast in Python."
        )


def within(outputs, bounds):
    """Return a dict of outputs that never leave the bounds, see `kerastrans.heads.bounded`."""
    low, high = check_bounds(bounds) or (None, None)

    def clip(x):
        x = x if low is None else ops.maximum(x, low)
        return x if high is None else ops.minimum(x, high)

    return {name: clip(x) for name, x in outputs.items()}


def without_silent(outputs, history):
    """Return a dict of outputs, NaN for channels without a value in their history."""
    known = ops.any(ops.logical_not(ops.isnan(history)), axis=1, keepdims=True)

    def cover(x):
        mask = known if len(x.shape) == 3 else known[..., None]
        return ops.where(mask, x, ops.full_like(x, np.nan))

    return {name: cover(x) for name, x in outputs.items()}
