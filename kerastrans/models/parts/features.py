"""Models without their top: features in place of a forecast, as in `keras.applications`."""

import math
import re

import keras
from keras import ops

from kerastrans.decoding.graph import history_input
from kerastrans.models.parts.projections import concatenate
from kerastrans.utils.keras_internals import call_arguments, calls, op_name
from kerastrans.utils.validation import check_choice

POOLINGS = {"avg": ops.mean, "max": ops.max, "last": lambda x, axis: ops.take(x, -1, axis)}
RESHAPES = ("Dropout", "GetItem", "Reshape", "Transpose")  # between the tokens and the head


def check_top(name, features, include_top, pooling, head):
    """Raise ValueError for options with which a model has no features, or does not return them.

    Args:
        name: Name of the architecture.
        features: `Architecture.features`, "" for an architecture without features.
        include_top: bool, as in `kerastrans.zoo.build`, as the next two.
        pooling: None or one of `POOLINGS`.
        head: Head of a forecast, or None.
    """
    check_choice("include_top", include_top, (False, True))
    check_choice("pooling", pooling, (None, *POOLINGS))
    if include_top and pooling is not None:
        raise ValueError(f"pooling={pooling!r} requires include_top=False: a forecast has no pool.")
    if not include_top and not features:
        raise ValueError(
            f"{name} has no features: include_top=False requires an architecture that has "
            "zoo.info(name).features, such as 'patchtst'."
        )
    if not include_top and head is not None:
        raise ValueError(f"include_top=False returns features: leave out head={head!r}.")


def remove_top(model, features, pooling=None):
    """Return a model of the features before the head of a model, with the same layers and inputs.

    Args:
        model: Functional Keras model of an architecture.
        features: `Architecture.features` of the architecture.
        pooling: None, "avg", "max" or "last", see `kerastrans.zoo.build`.

    Raises:
        ValueError: If the model has no layer that `features` names.
    """
    check_choice("pooling", pooling, (None, *POOLINGS))
    x = feature_grid(model, features)  # (batch, channels, tokens, features)
    _, channels, tokens, width = x.shape
    if pooling is not None:
        x, shape = POOLINGS[pooling](x, axis=2), (-1, channels * width)
    else:
        shape = -1, channels * tokens, width
    return keras.Model(model.input, ops.reshape(x, shape), name=model.name)


def feature_grid(model, features):
    """Return the features `(batch, channels, tokens, features)` of a model, as in `remove_top`.

    If several layers read features, the tokens of the first layer come first.
    """
    pattern, axes = features.split(": ")
    inputs = head_inputs(model, pattern)
    if not inputs:
        raise ValueError(f"{model.name} has no features with these options or covariates.")
    num_channels = history_input(model).shape[-1]
    makers = {id(x): call for call in calls(model) for x in call.outputs}
    return concatenate([_lay_out(x, axes.split(), num_channels, makers) for x in inputs], axis=2)


def head_inputs(model, pattern):
    """Return the tensors that the layers read whose names match a pattern, in order."""
    heads = [call for call in calls(model) if re.fullmatch(pattern, call.operation.name)]
    return [call_arguments(call)[0][0] for call in heads]


def _lay_out(x, axes, num_channels, makers):
    """Return the input of a head as `(batch, channels, tokens, features)`."""
    width = _token_width(x, x.shape[axes.index("f")], makers)
    if axes[0] == "bc":  # (batch * channels, ...)
        x, axes = ops.reshape(x, (-1, num_channels, *x.shape[1:])), ["b", "c", *axes[1:]]
    elif "c" not in axes:
        x, axes = ops.expand_dims(x, 1), ["b", "c", *axes[1:]]
    x = ops.transpose(x, [axes.index(axis) for axis in "bctf" if axis in axes])
    return ops.reshape(x, (-1, x.shape[1], math.prod(x.shape[2:]) // width, width))


def _token_width(x, width, makers):
    """Return the number of features of a token, whose tokens may be joined in `width` values."""
    while (call := makers.get(id(x))) is not None and op_name(call.operation) in RESHAPES:
        x = call.input_tensors[0]
        if op_name(call.operation) == "Reshape":
            return x.shape[-1] if width % x.shape[-1] == 0 else width
    return width
