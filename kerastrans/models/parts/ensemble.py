"""Ensembles: several models in one graph, whose forecasts are averaged."""

from dataclasses import dataclass

import keras
import numpy as np
from keras import layers, ops

from kerastrans import heads
from kerastrans.data.pivot import common_equivariance
from kerastrans.data.scaling import WindowScaler
from kerastrans.decoding.graph import history_input, inputs_of, takes_missing
from kerastrans.heads.quantile import GivenQuantiles
from kerastrans.layers.normalization.observed_values import ObservedValues
from kerastrans.models.parts.forecast_graph import LEAST, equivariance_of, forecast_tensors
from kerastrans.models.parts.projections import add
from kerastrans.utils.model_files import without_optimizer


@dataclass(frozen=True)
class Member:
    """One of the models of an ensemble.

    Attributes:
        model: Functional Keras model of the history and perhaps covariates, whose head is a
            `kerastrans.heads.QuantileHead` or a `kerastrans.heads.PointHead`.
        scaler: `WindowScaler` that it was trained with.
        weight: float, weight of the member in a mean; None for a median.
        fill: Replacement of missing values: None to keep them, "last" or "zero".
    """

    model: keras.Model
    scaler: WindowScaler
    weight: float | None = None
    fill: str | None = None


def build_ensemble(members, levels=None, name="ensemble"):
    """Combine copies of several models in one functional model.

    It forecasts the weighted mean of the members' points or quantiles, or the median if they have
    no weights.

    Args:
        members: List of `Member` with the same prediction length and number of channels.
        levels: Quantiles of the members' heads; None for points.
        name: str, name of the model.

    Returns:
        A functional Keras model. Its inputs are the longest history of the members, in the units of
        the series with NaN for missing values; the least scale of the window, see
        `forecast_graph`; and the covariates of all members. Its output is
        `(batch, prediction_length, num_channels)`, with a last axis `len(levels)` for quantiles.

    Raises:
        ValueError: If the head of a member has other levels.

    Example:
        >>> from kerastrans import zoo
        >>> members = [Member(zoo.build("last_value", n, 3, 1), WindowScaler()) for n in (2, 5)]
        >>> model = build_ensemble(members)
        >>> sorted(model.input), model.output_shape
        (['history', 'least_scale_0', 'least_scale_1'], (None, 3, 1))

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
    known = {
        "equivariance": common_equivariance(
            equivariance_of(x.model, x.scaler, x.fill) for x in members
        )
    }
    head = heads.PointHead(**known) if levels is None else GivenQuantiles(levels, **known)
    outputs = head(combined)
    return keras.Model(inputs if len(inputs) > 1 else inputs["history"], outputs, name=name)


def _check_heads(members, levels):
    for member in members:
        head = heads.of(member.model)
        if levels is None and not isinstance(head, heads.PointHead):
            raise ValueError(f"{member.model.name} forecasts no points.")
        if levels is not None and tuple(getattr(head, "levels", ())) != tuple(levels):
            raise ValueError(f"{member.model.name} forecasts no quantiles at {list(levels)}.")


def _forecast_of(member, number, inputs):
    """Return the forecast of a copy of a member, in the units of the series."""
    # A copy that is not compiled and has its own name: names are unique within a model.
    model = without_optimizer(member.model, f"{member.model.name}_{number}")
    own = {"history": inputs["history"]}
    if (least := f"{LEAST}_{number}") in inputs:
        own[LEAST] = inputs[least]
    for x in inputs_of(model)[1:]:
        part = _part_of(inputs[x.name], x.shape)
        # Others may take what is missing; this one reads 0, as it does by itself.
        own[x.name] = part if takes_missing(model, x) else ObservedValues()(part)[0]
    return forecast_tensors(model, member.scaler, own, member.fill)


def with_residuals(model, residuals, levels):
    """Return a model of quantiles that adds residuals at each level to a model's points.

    Args:
        model: Functional Keras model of points.
        residuals: `(prediction_length, len(levels))`, in the units of the model's history.
        levels: Probabilities of the quantiles.

    Returns:
        A functional Keras model with the same inputs and the output
        `(batch, prediction_length, num_channels, len(levels))`.
    """
    residuals = np.asarray(residuals, "float32")[None, :, None]
    quantiles = ops.expand_dims(model.outputs[0], -1) + residuals
    inputs = model.inputs if len(model.inputs) > 1 else model.inputs[0]
    return keras.Model(inputs, GivenQuantiles(levels)(quantiles), name=model.name)


def at_levels(model, levels):
    """Return a model of quantiles at other levels, computed by the rule of the model's head.

    Args:
        model: Functional Keras model whose head is a `kerastrans.heads.GivenQuantiles`.
        levels: Increasing probabilities.

    Returns:
        A functional Keras model with the same inputs and the output
        `(batch, prediction_length, num_channels, len(levels))`.
    """
    head = heads.of(model)
    shares = head.quantile(np.eye(head.size), levels)  # a quantile is a sum of the trained ones
    inputs = model.inputs if len(model.inputs) > 1 else model.inputs[0]
    quantiles = ops.matmul(model.layers[-1].input, shares.astype("float32"))
    outputs = GivenQuantiles(levels, equivariance=head.equivariance)(quantiles)
    return keras.Model(inputs, outputs, name=model.name)


def _shapes(members):
    """Return the shape of each input by name: the longest history and the most columns."""
    steps, widths = 0, {}
    for member in members:
        steps = max(steps, history_input(member.model).shape[1])
        for number, tensor in enumerate(inputs_of(member.model)):
            name = tensor.name if number else "history"
            widths[name] = max(tensor.shape[-1], widths.get(name, 0))
    lengths = dict.fromkeys(("history", "past_covariates"), (steps,))
    lengths["future_covariates"] = (steps + members[0].model.output_shape[1],)
    for number, member in enumerate(members):
        if not member.scaler.is_identity:
            least = f"{LEAST}_{number}"
            lengths[least], widths[least] = (1,), widths["history"]
    return {name: (*lengths.get(name, ()), width) for name, width in widths.items()}


def _part_of(tensor, shape):
    """Return the last steps and first columns of a tensor, as many as `shape` has."""
    if len(shape) == 3:
        tensor = tensor[:, tensor.shape[1] - shape[1] :]
    return tensor[..., : shape[-1]]


@keras.saving.register_keras_serializable(package="kerastrans")
class Median(keras.layers.Layer):
    """Element-wise median of several tensors.

    For an even number of tensors it is the mean of the two middle values.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: List of tensors of the same shape.

    Returns:
        A tensor of that shape.

    Example:
        >>> import numpy as np
        >>> np.asarray(Median()([np.array([1.0, 9.0]), np.array([3.0, 2.0])])).tolist()
        [2.0, 5.5]
    """

    def call(self, inputs):
        ordered = ops.sort(ops.stack(inputs, axis=-1), axis=-1)
        low, high = (len(inputs) - 1) // 2, len(inputs) // 2
        return ordered[..., low] / 2 + ordered[..., high] / 2  # a sum can overflow in float16

    def compute_output_shape(self, inputs_shape):
        return inputs_shape[0]
