"""Scaling and bounds inside of an exported file, in float32."""

from dataclasses import asdict

import numpy as np
from keras import ops

from kerastrans.data.pivot import pivot_windows
from kerastrans.data.scaling import StandardScaler, WindowScaler
from kerastrans.heads.quantile import QuantileHead
from kerastrans.heads.samples import Samples
from kerastrans.models.parts.forecast_graph import WindowScaling, equivariance_of, least_inputs


def check_scaler(model, head, scaler, shape):
    """Raise ValueError for a scaler of another history, or one that the head cannot undo."""
    if not isinstance(scaler, StandardScaler | WindowScaler):
        raise ValueError(
            f"scaler must be a scaler of kerastrans.data.scaling, or None, got {scaler!r}."
        )
    _, context_length, num_channels = shape
    if isinstance(scaler, WindowScaler):
        scaler.check_context(context_length)
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
        Function from a dict of inputs with a raw history to the parameters and the scale of the
        errors of each window `(batch, 1, num_channels)`, in the units of the series, None for a
        `StandardScaler`.
    """
    if isinstance(scaler, StandardScaler):
        equivariance, scale_windows = "", _by_constants(scaler, takes_missing)
    else:
        scaler = WindowScaler(None) if scaler is None else scaler
        equivariance = equivariance_of(model, scaler, fill)
        scale_windows = WindowScaling(**asdict(scaler), fill=not takes_missing, gaps=fill)

    inside, is_window = least_inputs(model), isinstance(scaler, WindowScaler)

    def function(inputs):
        raw = inputs["history"]
        history, pivot, unit = pivot_windows(raw, equivariance, ops)
        # The series of a window, and thus its typical scale, is not known in a file.
        least = [scaler.least_scale(raw, xp=ops) / unit] if is_window else []
        x, center, scale = scale_windows(history, *least)
        inner = {name: y.least_scale(raw, xp=ops) / unit for name, y in inside.items()}
        parameters = predict({**inputs, "history": x, **inner})
        if not scaler.is_identity:
            parameters = head.rescale(parameters, center, scale)
        if equivariance:
            parameters = head.rescale(parameters, pivot, unit)
        return parameters, scaler.error_scale(raw, xp=ops) if is_window else None

    return function


def _by_constants(scaler, takes_missing):
    """As `WindowScaling`, by one centre and scale for all windows."""

    def scale_windows(history):
        statistics = scaler.statistics(history, ops)
        center, scale = (ops.convert_to_tensor(x, history.dtype) for x in statistics)
        x = (history - center) / scale
        if not takes_missing:
            x = ops.where(ops.isnan(x), ops.zeros_like(x), x)
        return x, center, scale

    return scale_windows


def check_bounded(head):
    """Raise ValueError for a distribution, whose bounded mean a file cannot compute."""
    if head.has_parameter_axis and not isinstance(head, QuantileHead | Samples):
        raise ValueError(
            f"bounds and a {type(head).__name__} cannot be exported together: train with "
            "head='quantiles', or forecast in Python."
        )


def within(outputs, bounds, inputs):
    """Return outputs that never leave their bounds, see `kerastrans.heads.bounded`.

    Args:
        outputs: Dict of tensors `(batch, prediction_length, num_channels, ...)`.
        bounds: Pair of numbers, names of columns or None; None for no bounds.
        inputs: Dict of tensors with the values of the columns, see `bound_inputs`, NaN for a bound
            that is not known.
    """
    sides = zip(
        ("lower_bound", "upper_bound"), bounds or (), (ops.maximum, ops.minimum), strict=False
    )
    for name, bound, limit in sides:
        if bound is None:
            continue
        for key, x in outputs.items():
            if isinstance(bound, str):
                values = inputs[name]
                values = ops.reshape(values, (*ops.shape(values), *[1] * (len(x.shape) - 3)))
                known = ops.logical_not(ops.isnan(values))
                outputs[key] = ops.where(known, limit(x, values), x)
            else:
                outputs[key] = limit(x, bound)
    return outputs


def masked(outputs, history, fits=None):
    """Return outputs that are NaN when there is nothing to forecast from.

    Args:
        outputs: Dict of tensors `(batch, prediction_length, num_channels, ...)`.
        history: `(batch, context_length, num_channels)`; a channel without a value has no forecast.
        fits: bools `(batch,)`, false for windows whose time stamps do not fit the clock.
    """
    known = ops.any(ops.logical_not(ops.isnan(history)), axis=1, keepdims=True)
    if fits is not None:
        known = ops.logical_and(known, fits[:, None, None])

    def cover(x):
        mask = known if len(x.shape) == 3 else known[..., None]
        return ops.where(mask, x, ops.full_like(x, np.nan))

    return {name: cover(x) for name, x in outputs.items()}
