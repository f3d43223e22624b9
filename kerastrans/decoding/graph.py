"""Calls of a functional model's graph in order, and the inputs to run it step by step."""

import contextlib
import functools
import weakref
from dataclasses import dataclass

import keras
import numpy as np

from kerastrans.utils.keras_internals import call_arguments, calls, mask_of, op_name, set_mask

NO_NUMBERS = "OUScmM"  # kinds of data types: objects, text, complex numbers and times

# Operations (not layers) that pass NaN through.
PASS_ON = ("GetItem", "Reshape", "Transpose", "Tile", "Concatenate", "Add", "Subtract")


def once_per_model(function):
    """Decorate a function of a model's graph, which does not change, to read it only once."""
    found = weakref.WeakKeyDictionary()

    @functools.wraps(function)
    def wrapper(model):
        if model not in found:
            found[model] = function(model)
        return found[model]

    return wrapper


@dataclass(frozen=True, eq=False)
class Call:
    """Call of a layer or operation in a model's graph.

    Attributes:
        operation: Layer or operation.
        args: Positional arguments, which contain KerasTensors.
        kwargs: Keyword arguments, which contain KerasTensors.
        outputs: Flat list of KerasTensors.
        owner: Name of the model or layer inside of the model that the call is in; None for none.
    """

    operation: object
    args: tuple
    kwargs: dict
    outputs: list
    owner: str | None

    @property
    def input_tensors(self):
        """The KerasTensors among the arguments."""
        leaves = keras.tree.flatten((self.args, self.kwargs))
        return [x for x in leaves if isinstance(x, keras.KerasTensor)]


def read_calls(model, symbols, is_composed=lambda call: False, owner=None):
    """Yield the `Call`s of a model in order; those inside of sub-models replace theirs.

    Args:
        model: Functional model.
        symbols: Dict from the id of a KerasTensor of the model to the one that replaces it. It has
            the inputs, and afterwards all others.
        is_composed: Function of a `Call` that returns whether the calls inside of its layer replace
            it, if they can be read.
        owner: See `Call`.
    """
    for node in calls(model):
        args, kwargs = fill_in(call_arguments(node), symbols)
        call = Call(node.operation, args, kwargs, [_copy_symbol(x) for x in node.outputs], owner)
        inner, given = _open_model(call)
        if inner is None and is_composed(call):
            inner, given = _open_layer(call)
        if inner is None:
            yield call
            outputs = call.outputs
        else:
            names = {id(x): outer for x, outer in zip(inner.inputs, given, strict=True)}
            yield from read_calls(inner, names, is_composed, node.operation.name)
            outputs = [names[id(x)] for x in inner.outputs]
        symbols.update((id(x), outer) for x, outer in zip(node.outputs, outputs, strict=True))


def _open_model(call):
    """Return the functional model that is called, and its arguments in order, or None twice."""
    model = call.operation
    if isinstance(model, keras.Sequential):
        model = keras.Model(model.inputs, model.outputs)
    if not isinstance(model, keras.Function):
        return None, None
    given = call.args[0] if call.args else next(iter(call.kwargs.values()))
    names = [x.name for x in model.inputs]
    if isinstance(given, dict) and given.keys() >= set(names):
        given = [given[name] for name in names]
    given = keras.tree.flatten(given)
    fits = len(given) == len(model.inputs) and all(
        len(x.shape) == len(symbol.shape) for x, symbol in zip(given, model.inputs, strict=True)
    )
    return (model, given) if fits else (None, None)


def _open_layer(call):
    """Return the graph inside of a layer's call, and its inputs, or None twice if it has none.

    A layer that makes tensors itself, or reads its weights, has none: the graph would fix them.
    """
    given = list({id(x): x for x in call.input_tensors}.values())
    inputs = [keras.Input(batch_shape=x.shape, dtype=x.dtype) for x in given]
    for x, symbol in zip(given, inputs, strict=True):
        set_mask(symbol, mask_of(x))
    names = {id(x): symbol for x, symbol in zip(given, inputs, strict=True)}
    args, kwargs = fill_in((call.args, call.kwargs), names)
    try:
        inner = keras.Function(inputs, call.operation.call(*args, **kwargs))
    except Exception:  # a layer may do anything with its inputs
        return None, None
    arguments = keras.tree.flatten([call_arguments(node) for node in calls(inner)])
    makes_tensors = any(
        hasattr(x, "shape") and not isinstance(x, keras.KerasTensor) for x in arguments
    )
    return (None, None) if makes_tensors else (inner, given)


def _copy_symbol(x):
    """Return a KerasTensor like `x`, since a sub-model may be called more than once."""
    copy = keras.KerasTensor(x.shape, x.dtype)
    set_mask(copy, mask_of(x))
    return copy


def fill_in(arguments, tensors):
    """Return nested arguments with KerasTensors replaced by the tensors of their ids, if known."""

    def replace(x):
        return tensors.get(id(x), x) if isinstance(x, keras.KerasTensor) else x

    return keras.tree.map_structure(replace, arguments)


def fill_arguments(call, tensors):
    """Return `(args, kwargs)` of a `Call`, see `fill_in`."""
    return fill_in((call.args, call.kwargs), tensors)


def store_outputs(call, outputs, tensors):
    """Store the outputs of a call's operation in `tensors`, by the ids of the call's outputs."""
    flat = keras.tree.flatten(outputs)
    tensors.update(zip((id(x) for x in call.outputs), flat, strict=True))


def run_calls(calls, tensors, run=None):
    """Run calls in order and add their outputs to `tensors`.

    Args:
        calls: List of `Call`, in order.
        tensors: Dict from the id of a KerasTensor to its tensor. It has the inputs of the calls.
        run: Function `(operation, args, kwargs) -> outputs` that is used in place of
            `operation(*args, **kwargs)`.
    """
    for call in calls:
        operation, (args, kwargs) = call.operation, fill_arguments(call, tensors)
        outputs = run(operation, args, kwargs) if run else operation(*args, **kwargs)
        store_outputs(call, outputs, tensors)


def split_calls(model):
    """Split the calls of a model into those that do not depend on its last input, and the rest.

    Returns:
        The lists of both, in the order of the graph, and the KerasTensor of the first output.
    """
    before, after, reached = [], [], {id(model.inputs[-1])}

    def depends(call):
        return any(id(tensor) in reached for tensor in call.input_tensors)

    def is_composed(call):
        # Layers of Keras are judged as they are.
        layer = call.operation
        is_own = not type(layer).__module__.startswith("keras.") and not hasattr(layer, "decode")
        return is_own and isinstance(layer, keras.layers.Layer) and depends(call)

    symbols = {id(x): x for x in model.inputs}
    for call in read_calls(model, symbols, is_composed):
        if depends(call):
            after.append(call)
            reached.update(id(tensor) for tensor in call.outputs)
        else:
            before.append(call)
    return before, after, symbols[id(model.outputs[0])]


def inputs_of(model):
    """Return the model's inputs, the history first."""
    history = history_input(model)
    return [history, *(tensor for tensor in model.inputs if tensor is not history)]


def history_input(model):
    """Return the input named "history", or the first input if there is none."""
    named = [tensor for tensor in model.inputs if tensor.name == "history"]
    return named[0] if named else model.inputs[0]


def is_autoregressive(model):
    """Return whether a model decodes step by step: its last input has a variable length."""
    return model.inputs[-1].shape[1:2] == (None,)


def is_direct(model):
    """Return whether a model of one input returns another number of steps: all at once."""
    shapes = model.inputs[-1].shape, model.outputs[0].shape
    return len(model.inputs) == 1 and shapes[0][1:2] != shapes[1][1:2]


def takes_missing(model, symbol=None):
    """Return whether an input may contain NaN for missing values.

    This is the case if every layer that reads the input has a true attribute `takes_missing`.
    Slices, reshapes, copies and sums pass NaN through. A nested model answers for those of its
    inputs that are reached.

    Args:
        model: Functional Keras model.
        symbol: Input of the model; the history by default.
    """
    return (history_input(model) if symbol is None else symbol).name in missing_inputs(model)


@once_per_model
def missing_inputs(model):
    """Return the names of the inputs that may contain NaN for missing values."""
    calls = list(read_calls(model, {id(x): x for x in model.inputs}))
    return frozenset(x.name for x in model.inputs if _is_read_with_missing(x, calls))


def _is_read_with_missing(symbol, calls):
    """Return whether all layers that read an input take missing values, see `takes_missing`."""
    reached, answers = {id(symbol)}, []
    for call in calls:
        if any(id(tensor) in reached for tensor in call.input_tensors):
            is_layer = isinstance(call.operation, keras.layers.Layer)
            if op_name(call.operation) in PASS_ON and not is_layer:
                reached.update(id(tensor) for tensor in call.outputs)
            else:
                answers.append(_takes_missing(call, reached))
    return bool(answers) and all(answers)


def _takes_missing(call, reached):
    """Return whether a layer, or the model that it holds, takes NaN in those arguments."""
    model = getattr(call.operation, "model", None)
    if model is None:
        return getattr(call.operation, "takes_missing", False)
    given = call.args[0]
    if isinstance(given, dict):
        pairs = [(x, given[x.name]) for x in model.inputs]
    else:  # the layer feeds the input of a decoder by itself
        pairs = zip(inputs_of(model), keras.tree.flatten(given), strict=False)
    return all(takes_missing(model, x) for x, tensor in pairs if id(tensor) in reached)


def check_arrays(arrays, symbols, caller, kind, with_missing=None):
    """Return one validated NumPy array for each of a model's inputs.

    Args:
        arrays: Array, or list of arrays.
        symbols: KerasTensors of the inputs.
        caller: str, name of the function that received the arrays.
        kind: str, description of the arrays.
        with_missing: KerasTensor of the input that may contain NaN; None for none.

    Raises:
        ValueError: If the number of arrays or a shape is wrong, an array is empty or has another
            number of windows than the first, a model input of integers receives another type, or a
            value is NaN or infinite.
    """
    arrays = arrays if isinstance(arrays, list | tuple) else [arrays]
    if len(arrays) != len(symbols):
        raise ValueError(f"{caller} requires {len(symbols)} {kind}, got {len(arrays)}.")
    found = [
        _check_array(array, symbol, symbol is with_missing)
        for array, symbol in zip(arrays, symbols, strict=True)
    ]
    for array, symbol in zip(found, symbols, strict=True):
        if len(array) != len(found[0]):
            raise ValueError(
                f"{symbol.name} must have as many rows as {symbols[0].name}, {len(found[0])}, got "
                f"{len(array)}."
            )
    return found


def _check_array(array, symbol, may_miss):
    """Return the array in the data type of the input; raise ValueError if it is invalid."""
    array = np.asarray(array)
    if array.dtype == object:  # of a frame with columns of several types
        with contextlib.suppress(TypeError, ValueError):
            array = array.astype("float64")
    shape = symbol.shape
    fits = array.ndim == len(shape) and all(
        size in (None, given) for size, given in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{symbol.name} must have shape {shape} (None = any), got {array.shape}.")
    if 0 in array.shape:
        raise ValueError(f"{symbol.name} must not be empty, got shape {array.shape}.")
    if array.dtype.kind in NO_NUMBERS:
        raise ValueError(f"{symbol.name} must hold real numbers, got {array.dtype}.")
    if symbol.dtype.startswith("int") and array.dtype.kind not in "iu":
        raise ValueError(f"{symbol.name} must hold integers, got {array.dtype}.")
    if np.isinf(array).any() or (np.isnan(array).any() and not may_miss):
        raise ValueError(f"{symbol.name} must be finite, got NaN or infinite values.")
    return array.astype(symbol.dtype, copy=False)


def any_length(symbol, steps=None):
    """Return a KerasTensor like the decoder's input, with this number of steps; None for any."""
    shape = (symbol.shape[0], steps, *symbol.shape[2:])
    return keras.KerasTensor(shape, symbol.dtype, name=symbol.name)


def check_start_token(token, symbol, batch_size, patch_length):
    """Return the start token as a NumPy array `(batch, time, ...)` for the decoder's input.

    Args:
        token: Number or array.
        symbol: KerasTensor of the decoder's input.
        batch_size: int.
        patch_length: int, number of steps without an axis of time; the time is a multiple of it.

    Raises:
        ValueError: If the token cannot be broadcast to this shape, or is not finite.
    """
    token, width = np.asarray(token, symbol.dtype), symbol.shape[2:]
    if not np.isfinite(token).all():
        raise ValueError("start_token must be finite, got NaN or infinite values.")
    steps = token.shape[-1 - len(width)] if token.ndim > len(width) else 1
    steps = patch_length if steps == 1 else steps
    shape = (batch_size, steps, *width)
    names = f"(batch, time{', output_dim' * len(width)})"
    if steps == 0 or steps % patch_length:
        raise ValueError(
            f"start_token must be {names} with whole patches of {patch_length} steps, got {steps}."
        )
    try:
        return np.broadcast_to(token, shape)
    except ValueError:
        raise ValueError(
            f"start_token must broadcast to {names} = {shape}, got shape {token.shape}."
        ) from None


def check_tokens(tokens, symbol, vocabulary_size):
    """Raise ValueError if a token of an input is outside a vocabulary of this size."""
    unknown = tokens[(tokens < 0) | (tokens >= vocabulary_size)]
    if unknown.size:
        raise ValueError(
            f"{symbol.name} contains token {unknown[0]}: the model knows 0 to "
            f"{vocabulary_size - 1}."
        )
