"""Several models as one: each scales its own context, and their forecasts are averaged."""

from dataclasses import dataclass

import keras
import numpy as np
from keras import layers, ops

from kerastrans import heads
from kerastrans.data.pivot import common_equivariance
from kerastrans.data.scaling import WindowScaler
from kerastrans.decoding.graph import history_input, inputs_of
from kerastrans.heads.given_quantiles import GivenQuantiles
from kerastrans.layers.median import Median
from kerastrans.models.parts.forecast_graph import (
    TYPICAL,
    equivariance_of,
    forecast_tensors,
    typical_name,
)
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
        fill: what it sees of a missing value: None, "last" or "zero".
    """

    model: keras.Model
    scaler: WindowScaler
    weight: float | None = None
    fill: str | None = None


def build_ensemble(members, levels=None, name="ensemble"):
    """One functional model of the forecasts of several, which are copied.

    The weighted mean of their points, or of their quantiles; the median where they have no weights.

    Args:
        members: list of `Member`, of one prediction length and number of channels.
        levels: the levels of their heads; None for points.
        name: str, name of the model.

    Returns:
        A functional Keras model of the longest history, in the units of the series and NaN where
        missing, of the typical scales by which the members judge it, see `forecast_graph`, and of
        the covariates that a member takes, to `(batch, prediction_length, num_channels)`, and
        `len(levels)` of quantiles.

    Raises:
        ValueError: a member whose head has other levels.

    Example:
        >>> from kerastrans import zoo
        >>> members = [Member(zoo.build("last_value", n, 3, 1), WindowScaler()) for n in (2, 5)]
        >>> model = build_ensemble(members)
        >>> sorted(model.input), model.output_shape
        (['history', 'typical_standard'], (None, 3, 1))

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
    """The forecast of a copy of a member, in the units of the series."""
    # A copy: not compiled, and by a name of its own, of which a model has only one each.
    model = without_optimizer(member.model, f"{member.model.name}_{number}")
    own = {"history": inputs["history"]}
    own |= {name: x for name, x in inputs.items() if name.startswith(TYPICAL)}
    own |= {x.name: _part_of(inputs[x.name], x.shape) for x in inputs_of(model)[1:]}
    return forecast_tensors(model, member.scaler, own, member.fill)[0]


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
    """A model of quantiles as one of quantiles at other levels, read as its head reads them.

    Args:
        model: functional Keras model whose head is a `kerastrans.heads.GivenQuantiles`.
        levels: increasing probabilities.

    Returns:
        A functional Keras model of the same inputs, to
        `(batch, prediction_length, num_channels, len(levels))`.
    """
    head = heads.of(model)
    shares = head.quantile(np.eye(head.size), levels)  # a quantile is a sum of the trained ones
    inputs = model.inputs if len(model.inputs) > 1 else model.inputs[0]
    quantiles = ops.matmul(model.layers[-1].input, shares.astype("float32"))
    outputs = GivenQuantiles(levels, equivariance=head.equivariance)(quantiles)
    return keras.Model(inputs, outputs, name=model.name)


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
    for member in members:
        if not member.scaler.is_identity:
            name = typical_name(member.scaler)
            lengths[name], widths[name] = (1,), widths["history"]
    return {name: (*lengths.get(name, ()), width) for name, width in widths.items()}


def _part_of(tensor, shape):
    """The last steps, as many as `shape` has, and the first of the columns."""
    if len(shape) == 3:
        tensor = tensor[:, tensor.shape[1] - shape[1] :]
    return tensor[..., : shape[-1]]
