"""A model's scaling inside an exported file, in float32."""

import keras
import numpy as np
from keras import ops

from kerastrans.data.pivot import pivot_windows
from kerastrans.data.scaling import StandardScaler, WindowScaler
from kerastrans.heads.bounded import bound_inputs
from kerastrans.heads.quantile import QuantileHead
from kerastrans.models.parts.forecast_graph import (
    TYPICAL,
    WindowScaling,
    equivariance_of,
    typical_inputs,
)


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
    """Return the function from raw history, and further inputs, to the head's outputs.

    It does what `kerastrans.forecasting.inference.forecast.forecast_arrays` does, by the same
    layers, but finds the pivot and the unit of each window in float32.

    Args:
        predict: Function from scaled history `(batch, context_length, num_channels)`, and the
            further inputs, to the head's parameters `(batch, prediction_length, num_channels[,
            head.size])`.
        model: Keras model that forecasts.
        head: Head of the model.
        scaler: `StandardScaler`, `WindowScaler` or None.
        takes_missing: Whether `predict` takes NaN for a missing value; otherwise it gets 0.
        fill: What the model sees of a missing value: None, "last" or "zero".
    """
    if isinstance(scaler, StandardScaler):
        equivariance, scale_windows = "", _by_constants(scaler, takes_missing)
    else:
        scaler = WindowScaler(None) if scaler is None else scaler
        equivariance = equivariance_of(model, scaler, fill)
        scale_windows = WindowScaling(scaler.kind, scaler.season, not takes_missing, fill)

    def function(history, *further):
        history, pivot, unit = pivot_windows(history, equivariance, ops)
        x, center, scale = scale_windows(history)
        parameters = predict(x, *further)
        if not scaler.is_identity:
            parameters = head.rescale(parameters, center, scale)
        if equivariance:
            parameters = head.rescale(parameters, pivot, unit)
        return head.outputs(parameters)

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


def without_typical(model, predict):
    """Return `predict` without the model's inputs for typical scales, and the inputs that remain.

    An exported file sees windows, but no series: the typical scales are 0, which stands for not
    known.

    Args:
        model: Functional Keras model.
        predict: Function of the model's inputs by name.
    """
    typical = typical_inputs(model)
    names = [x.name for x in model.inputs if not x.name.startswith(TYPICAL)]

    def call(inputs):
        history = next(iter(inputs.values()))
        unknown = ops.zeros_like(history[:, :1])
        return predict({**inputs, **dict.fromkeys(typical, unknown)})

    return call, names


def within(function, head, bounds):
    """Return a function whose forecasts never leave their bounds, see `kerastrans.heads.bounded`.

    Bounds that are columns are additional last arguments of the function, see `bound_inputs`.

    Raises:
        ValueError: If the head is a distribution, whose bounded mean a file cannot compute.
    """
    names = [*bound_inputs(bounds)]
    if head.has_parameter_axis and not isinstance(head, QuantileHead):
        raise ValueError(
            f"bounds and a {type(head).__name__} cannot be exported together: train with "
            "head='quantiles', or forecast in Python."
        )

    def bounded(*tensors):
        count = len(tensors) - len(names)
        columns = iter(tensors[count:])
        low, high = (next(columns) if isinstance(x, str) else x for x in bounds)
        outputs = function(*tensors[:count])
        for name, x in outputs.items():
            has_last_axis = len(x.shape) > 3
            for bound, limit in ((low, ops.maximum), (high, ops.minimum)):
                if isinstance(bound, float):
                    x = limit(x, bound)
                elif bound is not None:
                    x = limit(x, bound[..., None] if has_last_axis else bound)
            outputs[name] = x
        return outputs

    return bounded
