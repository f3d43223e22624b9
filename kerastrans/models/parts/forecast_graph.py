"""The graph around a model, from raw histories to a forecast in the units of the series."""

import keras
from keras import ops

from kerastrans import heads
from kerastrans.data.missing import FILLS
from kerastrans.data.pivot import common_equivariance
from kerastrans.data.scaling import WindowScaler
from kerastrans.decoding.graph import history_input, inputs_of, takes_missing
from kerastrans.layers.forward_fill import forward_fill
from kerastrans.utils.keras_internals import all_layers
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_choice

TYPICAL = "typical_"  # prefix of the names that `typical_name` returns


@keras.saving.register_keras_serializable(package="kerastrans")
class WindowScaling(keras.layers.Layer):
    """Scaling of each window with statistics of its values, see `kerastrans.data.WindowScaler`.

    Args:
        kind: Kind of the scaler.
        season: Season of the scaler.
        fill: Whether missing values become 0, the centre, after the scaling; otherwise they stay
            NaN.
        gaps: Replacement of missing values before the scaling: None, "last" or "zero", see
            `Forecaster`.

    Call arguments:
        inputs: `(batch, time, num_channels)`, NaN for missing values.
        typical: Scale of the whole series, `(batch, 1, num_channels)`, 0 or None if it is not
            known.

    Returns:
        The scaled window, its centre and its scale, the last two `(batch, 1, num_channels)`.

    Example:
        >>> import numpy as np
        >>> scaled, center, scale = WindowScaling("standard")(np.array([[[1.0], [3.0]]]))
        >>> np.asarray(scaled).ravel().tolist(), float(center[0, 0, 0]), float(scale[0, 0, 0])
        ([-1.0, 1.0], 2.0, 1.0)
    """

    takes_missing = True

    def __init__(self, kind, season=1, fill=False, gaps=None, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})
        check_choice("gaps", gaps, FILLS)
        self.scaler = WindowScaler(kind, season)
        self.fill, self.gaps = fill, gaps

    def call(self, inputs, typical=None):
        center, scale = self.scaler.statistics(inputs, ops, 0.0 if typical is None else typical)
        scaled = (self._without_gaps(inputs) - center) / scale
        if self.fill:
            scaled = ops.where(ops.isnan(scaled), ops.zeros_like(scaled), scaled)
        return scaled, center, scale

    def _without_gaps(self, values):
        """Return the values with their gaps filled, as `fill_gaps` does."""
        if self.gaps == "zero":
            return ops.where(ops.isnan(values), ops.zeros_like(values), values)
        if self.gaps is None:
            return values
        return forward_fill(values)

    def compute_output_shape(self, inputs_shape, typical_shape=None):
        batch, _, num_channels = inputs_shape
        return inputs_shape, (batch, 1, num_channels), (batch, 1, num_channels)

    def get_config(self):
        own = {"kind": self.scaler.kind, "season": self.scaler.season, "fill": self.fill}
        return {**super().get_config(), **own, "gaps": self.gaps}


@keras.saving.register_keras_serializable(package="kerastrans")
class Unscaling(keras.layers.Layer):
    """Conversion of a scaled forecast to the units of the history.

    Args:
        head: Head of the model, or its serialized form.

    Call arguments:
        inputs: Parameters `(batch, prediction_length, num_channels[, head.size])`.
        center, scale: Center and scale that `WindowScaling` returned.
    """

    def __init__(self, head, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})
        is_layer = isinstance(head, keras.layers.Layer)
        self.head = head if is_layer else keras.saving.deserialize_keras_object(head)
        self.built = True  # there is nothing to build, and the head belongs to another model

    def call(self, inputs, center, scale):
        return self.head.rescale(inputs, center, scale)

    def compute_output_shape(self, inputs_shape, *_):
        return inputs_shape

    def get_config(self):
        head = type(self.head).from_config(self.head.get_config())
        return {**super().get_config(), "head": keras.saving.serialize_keras_object(head)}


def typical_name(scaler):
    """Return the name of the input for the typical scale of the series, as a scaler measures it.

    Example:
        >>> typical_name(WindowScaler("mase", 24))
        'typical_mase_24'
    """
    season = f"_{scaler.season}" if scaler.kind == "mase" else ""
    return f"{TYPICAL}{scaler.kind}{season}"


def typical_inputs(model):
    """Return a dict of the names of a model's inputs for typical scales -> their `WindowScaler`."""
    scalers = {typical_name(x.scaler): x.scaler for x in scalings(model)}
    return {x.name: scalers[x.name] for x in model.inputs if x.name in scalers}


def scalings(model):
    """Return the `WindowScaling` layers of a model, those of models within it too."""
    return [layer for layer in all_layers(model) if isinstance(layer, WindowScaling)]


def equivariance_of(model, scaler, fill=None):
    """Return the changes of a history that change the forecast in the same way.

    Args:
        model: Keras model of scaled windows.
        scaler: `WindowScaler` that scales them.
        fill: Replacement of missing values; a 0 does not shift with the level.

    Returns:
        "affine", "scale" or "", see `kerastrans.data.pivot`.
    """
    found = scaler.equivariance or heads.of(model).equivariance
    return common_equivariance([found, "scale"]) if fill == "zero" else found


def forecast_tensors(model, scaler, inputs, fill=None):
    """Add a model to a functional graph of raw histories and return its forecast.

    Args:
        model: Functional Keras model of scaled windows.
        scaler: `WindowScaler` that it was trained with.
        inputs: Dict of tensors: "history" `(batch, time, num_channels)`, whose last steps are read,
            perhaps `typical_name(scaler)`, and the model's other inputs by name.
        fill: Replacement of missing values: None to keep them, "last" or "zero".

    Returns:
        The head's parameters in the units of the history, and the scale of each window
        `(batch, 1, num_channels)`, None if windows are not scaled.
    """
    symbol = history_input(model)
    history = inputs["history"]
    history = history[:, history.shape[1] - symbol.shape[1] :]
    sees_missing = takes_missing(model)
    if scaler.is_identity and sees_missing and fill is None:
        scaled, center, scale = history, None, None
    else:
        layer = WindowScaling(scaler.kind, scaler.season, not sees_missing, fill)
        typical = inputs.get(typical_name(scaler))
        scaled, center, scale = layer(history) if typical is None else layer(history, typical)
    own = {symbol.name: scaled}
    own |= {x.name: inputs[x.name] for x in inputs_of(model)[1:]}
    parameters = model(own if len(own) > 1 else scaled)
    if scaler.is_identity:
        return parameters, None
    return Unscaling(heads.of(model))(parameters, center, scale), scale


def build_forecast_graph(model, scaler, fill=None):
    """Build a functional model from raw histories to forecasts in the units of the series.

    Args:
        model: Functional Keras model of scaled windows that forecasts at once, with any head.
        scaler: `WindowScaler` that it was trained with.
        fill: Replacement of missing values: None to keep them, "last" or "zero".

    Returns:
        A Keras model of a dict of inputs: "history" `(batch, context_length, num_channels)`, NaN
        for missing values; `typical_name(scaler)` `(batch, 1, num_channels)` if windows are scaled;
        and the other inputs of the model. Its outputs are the head's parameters and the scale of
        each window, 1 if windows are not scaled.
    """
    inputs = {
        "history" if x is history_input(model) else x.name: keras.Input(
            x.shape[1:], dtype=x.dtype, name="history" if x is history_input(model) else x.name
        )
        for x in inputs_of(model)
    }
    num_channels = inputs["history"].shape[-1]
    if not scaler.is_identity:
        name = typical_name(scaler)
        inputs[name] = keras.Input((1, num_channels), name=name)
    parameters, scale = forecast_tensors(model, scaler, inputs, fill)
    if scale is None:
        scale = ops.ones_like(inputs["history"][:, :1])
    inputs = inputs if len(inputs) > 1 else inputs["history"]
    return keras.Model(inputs, [parameters, scale], name=f"{model.name}_forecast")
