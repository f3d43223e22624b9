"""Several models as one: each scales its own context, and their forecasts are averaged."""

from dataclasses import dataclass

import keras
import numpy as np
from keras import layers, ops

from kerastrans import heads
from kerastrans.data.scaling import WindowScaler
from kerastrans.decoding.graph import history_input, inputs_of, takes_missing
from kerastrans.heads.given_quantiles import GivenQuantiles
from kerastrans.layers.median import Median
from kerastrans.models.parts.projections import add
from kerastrans.utils.model_files import without_optimizer


@dataclass(frozen=True)
class Member:
    """One of the models of an ensemble.

    Attributes:
        model: functional Keras model of "history", and perhaps covariates, whose head is
            a `kerastrans.heads.QuantileHead` or a `kerastrans.heads.PointHead`.
        scaler: `WindowScaler` that it was trained with.
        weight: float, its share of a mean; None for a median.
    """

    model: keras.Model
    scaler: WindowScaler
    weight: float | None = None


@keras.saving.register_keras_serializable(package="kerastrans")
class WindowScaling(keras.layers.Layer):
    """Scales each window by its own observed values, as `kerastrans.data.WindowScaler` does.

    Args:
        kind, season: of the scaler.
        fill: bool, whether a missing value becomes 0, the centre; otherwise it stays NaN.

    Call arguments:
        inputs: `(batch, time, num_channels)`, NaN where missing.

    Returns:
        The scaled window, its centre and its scale, each `(batch, 1, num_channels)`.

    Example:
        >>> import numpy as np
        >>> scaled, center, scale = WindowScaling("standard")(np.array([[[1.0], [3.0]]]))
        >>> np.asarray(scaled).ravel().tolist(), float(center[0, 0, 0]), float(scale[0, 0, 0])
        ([-1.0, 1.0], 2.0, 1.0)
    """

    takes_missing = True

    def __init__(self, kind, season=1, fill=False, **kwargs):
        super().__init__(**kwargs)
        self.scaler = WindowScaler(kind, season)
        self.fill = fill

    def call(self, inputs):
        center, scale = self.scaler.statistics(inputs, ops)
        scaled = (inputs - center) / scale
        if self.fill:
            scaled = ops.where(ops.isnan(scaled), ops.zeros_like(scaled), scaled)
        return scaled, center, scale

    def get_config(self):
        own = {"kind": self.scaler.kind, "season": self.scaler.season, "fill": self.fill}
        return {**super().get_config(), **own}


def build_ensemble(members, levels=None, name="ensemble"):
    """One functional model of the forecasts of several, which are copied.

    The weighted mean of their points, or of their quantiles; the median where they have no weights.

    Args:
        members: list of `Member`, of one prediction length and number of channels.
        levels: the levels of their heads; None for points.
        name: str, name of the model.

    Returns:
        A functional Keras model of the longest history, in the units of the series and NaN where
        missing, and of the covariates that a member takes, to
        `(batch, prediction_length, num_channels)`, and `len(levels)` of quantiles.

    Raises:
        ValueError: a member whose head has other levels.

    Source: Vincent (1912), averages of quantiles; Lichtendahl, Grushka-Cockayne, Winkler (2013);
    Oreshkin et al. (2020), section 3.4, the median.
    """
    _check_heads(members, levels)
    inputs = {name: keras.Input(shape, name=name) for name, shape in _shapes(members).items()}
    parts = [_forecast_of(member, number, inputs) for number, member in enumerate(members)]
    if members[0].weight is None:
        combined = Median(dtype="float32")(parts)
    else:
        weighted = zip(parts, members, strict=True)
        combined = add([layers.Rescaling(member.weight)(part) for part, member in weighted])
    outputs = heads.PointHead()(combined) if levels is None else GivenQuantiles(levels)(combined)
    return keras.Model(inputs if len(inputs) > 1 else inputs["history"], outputs, name=name)


def _check_heads(members, levels):
    for member in members:
        head = heads.of(member.model)
        if levels is None and not isinstance(head, heads.PointHead):
            raise ValueError(f"{member.model.name} forecasts no points.")
        if levels is not None and tuple(getattr(head, "levels", ())) != tuple(levels):
            raise ValueError(f"{member.model.name} forecasts no quantiles at {list(levels)}.")


def _forecast_of(member, number, inputs):
    """The forecast of a copy of a member, in the units of the series."""
    # A copy: not compiled, and by a name of its own, of which a model has only one each.
    model = without_optimizer(member.model, f"{member.model.name}_{number}")
    length, context_length = history_input(member.model).shape[1], inputs["history"].shape[1]
    scaling = WindowScaling(
        member.scaler.kind, member.scaler.season, fill=not takes_missing(member.model)
    )
    scaled, center, scale = scaling(inputs["history"][:, context_length - length :])
    own = {history_input(member.model).name: scaled}
    for tensor in inputs_of(member.model)[1:]:
        own[tensor.name] = _part_of(inputs[tensor.name], tensor.shape)
    outputs = model(own if len(own) > 1 else scaled)
    if len(outputs.shape) == 4:
        center, scale = ops.expand_dims(center, -1), ops.expand_dims(scale, -1)
    # The centre first: what comes second in a sum, and has one axis above 1, Keras 3.15.1 takes
    # for a bias on TensorFlow where that axis is as long as another one of the first.
    return center + outputs * scale


def with_residuals(model, residuals, levels):
    """A model of points as one of quantiles: residuals at each level are added to the points.

    Args:
        model: functional Keras model of points.
        residuals: `(prediction_length, len(levels))`, in the units of the model's history.
        levels: probabilities.

    Returns:
        A functional Keras model of the same inputs, to
        `(batch, prediction_length, num_channels, len(levels))`.
    """
    residuals = np.asarray(residuals, "float32")[None, :, None]
    quantiles = ops.expand_dims(model.outputs[0], -1) + residuals
    inputs = model.inputs if len(model.inputs) > 1 else model.inputs[0]
    return keras.Model(inputs, GivenQuantiles(levels)(quantiles), name=model.name)


def at_levels(model, levels):
    """A model of quantiles as one of quantiles at other levels, linear between its own.

    Args:
        model: functional Keras model whose head is a `kerastrans.heads.GivenQuantiles`.
        levels: increasing probabilities; beyond the outermost of the model the outermost is taken.

    Returns:
        A functional Keras model of the same inputs, to
        `(batch, prediction_length, num_channels, len(levels))`.
    """
    own = heads.of(model).levels
    shares = np.stack([np.interp(levels, own, row) for row in np.eye(len(own), dtype="float32")])
    inputs = model.inputs if len(model.inputs) > 1 else model.inputs[0]
    quantiles = ops.matmul(model.layers[-1].input, shares.astype("float32"))
    return keras.Model(inputs, GivenQuantiles(levels)(quantiles), name=model.name)


def _shapes(members):
    """Dict from the name of an input to its shape: of the longest history, and the most columns."""
    steps, widths = 0, {}
    for member in members:
        steps = max(steps, history_input(member.model).shape[1])
        for number, tensor in enumerate(inputs_of(member.model)):
            name = tensor.name if number else "history"
            widths[name] = max(tensor.shape[-1], widths.get(name, 0))
    lengths = dict.fromkeys(("history", "past_covariates"), (steps,))
    lengths["future_covariates"] = (steps + members[0].model.output_shape[1],)
    return {name: (*lengths.get(name, ()), width) for name, width in widths.items()}


def _part_of(tensor, shape):
    """The last steps, as many as `shape` has, and the first of the columns."""
    if len(shape) == 3:
        tensor = tensor[:, tensor.shape[1] - shape[1] :]
    return tensor[..., : shape[-1]]
