"""The graph around a model, from raw histories to a forecast in the units of the series."""

from dataclasses import asdict, dataclass

import keras
import numpy as np
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

LEAST = "least_scale"  # name of the input for the least scale of a window, see `WindowScaler`


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
        enough: As in `WindowScaler`, like the following.
        share: See there.
        size: See there.
        still: See there.
        zero: See there.

    Call arguments:
        inputs: `(batch, time, num_channels)`, NaN for missing values.
        least: Least scale of the window, `(batch, 1, num_channels)`, 0 or None if it is not known,
            see `WindowScaler.least_scale`.

    Returns:
        The scaled window, and the centre and the scale of its forecast, the last two
        `(batch, 1, num_channels)`, see `WindowScaler.settled`.

    Example:
        >>> import numpy as np
        >>> scaled, center, scale = WindowScaling("standard")(np.array([[[1.0], [3.0]]]))
        >>> np.asarray(scaled).ravel().tolist(), float(center[0, 0, 0]), float(scale[0, 0, 0])
        ([-1.0, 1.0], 2.0, 1.0)
    """

    takes_missing = True

    def __init__(self, kind, season=1, fill=False, gaps=None, **kwargs):
        learnt = {x: kwargs.pop(x) for x in asdict(WindowScaler()) if x in kwargs}
        super().__init__(**{"dtype": full_precision(), **kwargs})
        check_choice("gaps", gaps, FILLS)
        self.scaler = WindowScaler(kind, season, **learnt)
        self.fill, self.gaps = fill, gaps

    def call(self, inputs, least=None):
        least = ops.zeros_like(inputs[:, :1]) if least is None else least
        center, scale = self.scaler.statistics(inputs, ops, least)
        scaled = (self._without_gaps(inputs) - center) / scale
        if self.fill:
            scaled = ops.where(ops.isnan(scaled), ops.zeros_like(scaled), scaled)
        if self.scaler.is_identity:
            return scaled, center, scale
        return scaled, *self.scaler.settled(inputs, center, scale, ops, least)

    def _without_gaps(self, values):
        """Return the values with their gaps filled, as `fill_gaps` does."""
        if self.gaps == "zero":
            return ops.where(ops.isnan(values), ops.zeros_like(values), values)
        if self.gaps is None:
            return values
        return forward_fill(values)

    def compute_output_shape(self, inputs_shape, least_shape=None):
        batch, _, num_channels = inputs_shape
        return inputs_shape, (batch, 1, num_channels), (batch, 1, num_channels)

    def get_config(self):
        own = {"fill": self.fill, "gaps": self.gaps}
        return {**super().get_config(), **asdict(self.scaler), **own}


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


def least_inputs(model):
    """Return a dict of the names of a model's inputs for least scales -> `LastSteps`."""
    layers = {layer.name: layer for layer in scalings(model)}
    names = [x.name for x in model.inputs if x.name.startswith((LEAST, "typical_"))]
    found = {}
    for name in names if layers else ():
        layer = layers.get(f"{name}_scaling", next(iter(layers.values())))  # in old files the first
        found[name] = LastSteps(layer.scaler, keras.tree.flatten(layer.input)[0].shape[1])
    return found


@dataclass(frozen=True)
class LastSteps:
    """Scaler of the last steps of a window, such as those that a member of an ensemble reads."""

    scaler: WindowScaler
    steps: int

    def least_scale(self, seen, typical=None, xp=np):
        """See `WindowScaler.least_scale`."""
        return self.scaler.least_scale(seen[:, seen.shape[1] - self.steps :], typical, xp)


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
            perhaps `LEAST`, and the model's other inputs by name.
        fill: Replacement of missing values: None to keep them, "last" or "zero".

    Returns:
        The head's parameters in the units of the history.
    """
    symbol = history_input(model)
    history = inputs["history"]
    history = history[:, history.shape[1] - symbol.shape[1] :]
    sees_missing = takes_missing(model)
    if scaler.is_identity and sees_missing and fill is None:
        scaled, center, scale = history, None, None
    else:
        least = inputs.get(LEAST)
        options = {} if least is None else {"name": f"{least.name}_scaling"}
        layer = WindowScaling(**asdict(scaler), fill=not sees_missing, gaps=fill, **options)
        scaled, center, scale = layer(history) if least is None else layer(history, least)
    own = {symbol.name: scaled}
    own |= {x.name: inputs[x.name] for x in inputs_of(model)[1:]}
    parameters = model(own if len(own) > 1 else scaled)
    if scaler.is_identity:
        return parameters
    return Unscaling(heads.of(model))(parameters, center, scale)


def build_forecast_graph(model, scaler, fill=None):
    """Build a functional model from raw histories to forecasts in the units of the series.

    Args:
        model: Functional Keras model of scaled windows that forecasts at once, with any head.
        scaler: `WindowScaler` that it was trained with.
        fill: Replacement of missing values: None to keep them, "last" or "zero".

    Returns:
        A Keras model of a dict of inputs: "history" `(batch, context_length, num_channels)`, NaN
        for missing values; `LEAST` `(batch, 1, num_channels)` if windows are scaled;
        and the other inputs of the model. Its output is the head's parameters.
    """
    inputs = {
        "history" if x is history_input(model) else x.name: keras.Input(
            x.shape[1:], dtype=x.dtype, name="history" if x is history_input(model) else x.name
        )
        for x in inputs_of(model)
    }
    if not scaler.is_identity:
        inputs[LEAST] = keras.Input((1, inputs["history"].shape[-1]), name=LEAST)
    parameters = forecast_tensors(model, scaler, inputs, fill)
    inputs = inputs if len(inputs) > 1 else inputs["history"]
    return keras.Model(inputs, parameters, name=f"{model.name}_forecast")
