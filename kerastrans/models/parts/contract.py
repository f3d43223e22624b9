"""The check that a model keeps the contract of the zoo: names and shapes of inputs and output."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras

OPTIONS = ("head", "covariates")  # arguments of builders that are not hyperparameters


def check_contract(
    model: "keras.Model",
    context_length: int,
    prediction_length: int,
    num_channels: int | None = None,
    *,
    covariates: Iterable[str] | None = None,
) -> None:
    """Check that a custom model can forecast as the models of the zoo do.

    The model must be functional. It takes the history `(batch, context_length, num_channels)` and
    returns `(batch, prediction_length, num_channels)`, or `(batch, prediction_length,
    num_channels, parameters)` if it ends in a head. Additional inputs are identified by their
    names:

    - "position" `(batch,)`
    - "past_covariates" `(batch, context_length, columns)`
    - "future_covariates" `(batch, context_length + prediction_length, columns)`
    - "static_covariates" `(batch, columns)`
    - "decoder_inputs" `(batch, time, num_channels)`, for a model that decodes step by step, whose
      output has `time` steps too

    A size of None agrees with every size.

    Args:
        model: The functional `keras.Model` to check.
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step; None if it is not known yet.
        covariates: Kinds of covariates that the model will get: "past", "future" and "static" (a
            calendar counts as "future"); None if they are not known yet.

    Raises:
        ValueError: If `model` is not a functional Keras model.
        ValueError: If an input or the output has a different shape.
        ValueError: If an input has an unknown name.
        ValueError: If an input for covariates is missing, or an input has no covariates.

    Example:
        >>> import keras
        >>> history = keras.Input((24, 3), name="history")
        >>> model = keras.Model(history, keras.layers.Dense(12)(history[:, :, 0]), name="mine")
        >>> check_contract(model, 24, 12)
        Traceback (most recent call last):
            ...
        ValueError: mine: output must have the shape (batch, 12, 3), got (batch, 12).
    """
    _check_functional(model)
    # Imported here because it loads Keras, which listing architectures does not need.
    from kerastrans.decoding.graph import history_input
    from kerastrans.models.parts.forecast_graph import least_inputs

    history = history_input(model)
    channels = history.shape[-1] if num_channels is None else num_channels
    _check_shape(model, "input 'history'", history.shape, (context_length, channels))
    shapes = {
        "history": history.shape[1:],
        "position": (),
        "past_covariates": (context_length, None),
        "future_covariates": (context_length + prediction_length, None),
        "static_covariates": (None,),
        "decoder_inputs": (None, channels),
    }
    shapes |= dict.fromkeys(least_inputs(model), (1, channels))
    inputs = {tensor.name: tensor for tensor in model.inputs if tensor is not history}
    for name, tensor in inputs.items():
        if name not in shapes:
            raise ValueError(f"{model.name}: inputs are named {', '.join(shapes)}, got {name!r}.")
        _check_shape(model, f"input {name!r}", tensor.shape, shapes[name])
    if covariates is not None:
        _check_covariates(model, inputs, covariates)
    if len(model.outputs) != 1:
        raise ValueError(f"{model.name} must have one output, got {len(model.outputs)}.")
    output = model.outputs[0].shape
    steps = None if "decoder_inputs" in inputs else prediction_length
    if steps and len(output) in (3, 4) and output[1] not in (None, steps):
        raise ValueError(f"{model.name} was built for prediction_length={output[1]}, got {steps}.")
    parameters = output[3:] if len(output) == 4 else ()
    _check_shape(model, "output", output, (steps, channels, *parameters))


def _check_functional(model):
    import keras

    if not isinstance(model, keras.Model):
        kind = getattr(model, "__name__", type(model).__name__)
        raise ValueError(f"a model must be a functional keras.Model, got {kind}.")
    if getattr(model, "inputs", None) is None:
        raise ValueError(
            f"{model.name} must be functional, as keras.Model(inputs, outputs) makes it, got the "
            f"subclass {type(model).__name__}: call it on a keras.Input and build a keras.Model "
            "from input and output."
        )


def _check_shape(model, what, shape, expected):
    """Raise ValueError unless a shape is `(batch, *expected)`; None agrees with every size."""
    sizes = tuple(shape[1:])
    agree = len(sizes) == len(expected) and all(
        size is None or other is None or size == other
        for size, other in zip(sizes, expected, strict=True)
    )
    if not agree:
        raise ValueError(
            f"{model.name}: {what} must have the shape {_format_shape(expected)}, got "
            f"{_format_shape(sizes)}."
        )


def _format_shape(sizes):
    return f"({', '.join(['batch', *('any' if size is None else str(size) for size in sizes)])})"


def _check_covariates(model, inputs, kinds):
    from kerastrans.data.covariates import KINDS

    for kind in KINDS:
        name = f"{kind}_covariates"
        if kind in kinds and name not in inputs:
            reason = "future covariates or a calendar" if kind == "future" else f"{kind} covariates"
            raise ValueError(f"{model.name} has no input {name!r}, which {reason} need.")
        if kind not in kinds and name in inputs:
            raise ValueError(
                f"{model.name} has an input {name!r}, but there are no {kind} covariates."
            )
