"""Several models as one: each scales its own context, and their quantiles are averaged."""

from dataclasses import dataclass

import keras
import numpy as np
from keras import layers, ops

from kerastrans import heads
from kerastrans.data.scaling import WindowScaler
from kerastrans.decoding.graph import history_input, inputs_of, takes_missing
from kerastrans.heads.given_quantiles import GivenQuantiles
from kerastrans.models.projections import add
from kerastrans.utils.model_files import without_optimizer


@dataclass(frozen=True)
class Member:
    """One of the models of an ensemble.

    Attributes:
        model: functional Keras model of "history", and perhaps covariates, whose head is
            a `kerastrans.heads.QuantileHead`.
        scaler: `WindowScaler` that it was trained with.
        weight: float, its share.
    """

    model: keras.Model
    scaler: WindowScaler
    weight: float


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


def build_ensemble(members, levels, name="ensemble"):
    """One functional model of the weighted mean of the quantiles of several, which are copied.

    Args:
        members: list of `Member`, of one prediction length and number of channels.
        levels: the levels of their heads.
        name: str, name of the model.

    Returns:
        A functional Keras model of the longest history, in the units of the series and NaN where
        missing, and of the covariates that a member takes, to
        `(batch, prediction_length, num_channels, len(levels))`.

    Raises:
        ValueError: a member whose head has other levels.

    Source: Vincent (1912), averages of quantiles; Lichtendahl, Grushka-Cockayne, Winkler (2013).
    """
    for member in members:
        head = heads.of(member.model)
        if tuple(getattr(head, "levels", ())) != tuple(levels):
            raise ValueError(f"{member.model.name} forecasts no quantiles at {list(levels)}.")
    inputs = {
        tensor.name: keras.Input(tensor.shape[1:], name=tensor.name)
        for tensor in map(_largest, _by_name(members).values())
    }
    context_length = inputs["history"].shape[1]
    parts = []
    for number, member in enumerate(members):
        # A copy: not compiled, and by a name of its own, of which a model has only one each.
        model = without_optimizer(member.model, f"{member.model.name}_{number}")
        length = history_input(member.model).shape[1]
        scaling = WindowScaling(
            member.scaler.kind, member.scaler.season, fill=not takes_missing(member.model)
        )
        scaled, center, scale = scaling(inputs["history"][:, context_length - length :])
        own = {history_input(member.model).name: scaled}
        for tensor in inputs_of(member.model)[1:]:
            own[tensor.name] = _part_of(inputs[tensor.name], tensor.shape)
        outputs = model(own if len(own) > 1 else scaled)
        # The centre first: what comes second in a sum, and has one axis above 1, Keras 3.15.1 takes
        # for a bias on TensorFlow where that axis is as long as another one of the first.
        moved = ops.expand_dims(center, -1) + outputs * ops.expand_dims(scale, -1)
        parts.append(layers.Rescaling(member.weight)(moved))
    outputs = GivenQuantiles(levels)(add(parts))
    return keras.Model(inputs if len(inputs) > 1 else inputs["history"], outputs, name=name)


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


def _by_name(members):
    """Dict from the name of an input to the tensors of all members that have it."""
    tensors = {}
    for member in members:
        for number, tensor in enumerate(inputs_of(member.model)):
            tensors.setdefault("history" if number == 0 else tensor.name, []).append(tensor)
    first = tensors.pop("history")
    return {"history": first, **tensors}


def _largest(tensors):
    """Of inputs of one name the longest and widest."""
    return max(tensors, key=lambda tensor: tuple(size or 0 for size in tensor.shape))


def _part_of(tensor, shape):
    """The last steps, as many as `shape` has, and the first of the columns."""
    if len(shape) == 3:
        tensor = tensor[:, tensor.shape[1] - shape[1] :]
    return tensor[..., : shape[-1]]
