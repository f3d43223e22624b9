"""What a forecasting model has to look like from outside, checked before it is used."""

import keras

from kerastrans.data.covariates import KINDS
from kerastrans.decoding.generation import is_autoregressive
from kerastrans.decoding.graph import history_input

KNOWN = ("history", "position", "decoder_inputs", *(f"{kind}_covariates" for kind in KINDS))


def check_contract(model, context_length, prediction_length, kinds=()):
    """Check a Keras model that a user built.

    Args:
        model: Keras model.
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        kinds: iterable of "past", "future", "static": the covariates that there are.

    Raises:
        ValueError: a model that is not functional; inputs or an output of another shape; an input
            that nobody fills, or covariates that no input takes.
    """
    if not isinstance(model, keras.Function):
        raise ValueError(
            f"{type(model).__name__} is no functional Keras model: make one with "
            "keras.Model(inputs, outputs)."
        )
    history = history_input(model)
    if len(history.shape) != 3 or history.shape[1] not in (None, context_length):
        raise ValueError(
            f"the model's input {history.name!r} must be (batch, context_length="
            f"{context_length}, num_channels), it is {history.shape}."
        )
    names = [tensor.name for tensor in model.inputs if tensor is not history]
    unknown = sorted(set(names) - set(KNOWN) - {model.inputs[-1].name * is_autoregressive(model)})
    if unknown:
        raise ValueError(
            f"nothing fills the model's input {unknown[0]!r}: inputs are {', '.join(KNOWN)}."
        )
    missing = sorted({f"{kind}_covariates" for kind in kinds} - set(names))
    if missing:
        raise ValueError(
            f"there are covariates, and the model has no input {missing[0]!r}: give the name of an "
            "architecture, or wrap the model with kerastrans.regress."
        )
    shapes = [output.shape for output in model.outputs]
    steps = (None,) if is_autoregressive(model) else (prediction_length,)
    if len(shapes) != 1 or len(shapes[0]) not in (3, 4) or shapes[0][1:2] != steps:
        found = shapes[0] if len(shapes) == 1 else f"{len(shapes)} outputs"
        if len(shapes) == 1 and len(shapes[0]) in (3, 4) and not is_autoregressive(model):
            raise ValueError(
                f"{model.name} was built for prediction_length={shapes[0][1]}, got "
                f"{prediction_length}."
            )
        raise ValueError(
            f"the model's output must be (batch, prediction_length={prediction_length}, "
            f"num_channels), it is {found}."
        )
    if shapes[0][2] not in (None, history.shape[2]):
        raise ValueError(
            f"the model's output must have the history's {history.shape[2]} channels, it is "
            f"{shapes[0]}."
        )
