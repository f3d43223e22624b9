"""Calls of a functional model's graph in order, and the inputs to run it step by step."""

import contextlib

import keras
import numpy as np

from kerastrans.utils.keras_internals import call_arguments, calls, op_name

NO_NUMBERS = "OUScmM"  # kinds of data types: objects, text, complex numbers and times

# Operations (not layers) that pass NaN through.
PASS_ON = ("GetItem", "Reshape", "Transpose", "Tile", "Concatenate", "Add", "Subtract")


def fill_arguments(node, tensors):
    """Return the node's call arguments, with KerasTensors replaced by known tensors.

    Args:
        node: Element of `kerastrans.utils.keras_internals.calls(model)`.
        tensors: Dict from the id of a KerasTensor to its tensor. Other KerasTensors are not
            replaced.
    """

    def fill_in(x):
        return tensors.get(id(x), x) if isinstance(x, keras.KerasTensor) else x

    return keras.tree.map_structure(fill_in, call_arguments(node))


def store_outputs(node, outputs, tensors):
    """Store the outputs of a node's operation in `tensors`, by the ids of the node's outputs."""
    flat = keras.tree.flatten(outputs)
    tensors.update(zip((id(x) for x in node.outputs), flat, strict=True))


def run_calls(nodes, tensors, run=None):
    """Run calls in order and add their outputs to `tensors`.

    Args:
        nodes: Calls, elements of `kerastrans.utils.keras_internals.calls(model)`, in order.
        tensors: Dict from the id of a KerasTensor to its tensor. It has the inputs of the calls.
        run: Function `(operation, args, kwargs) -> outputs` that is used in place of
            `operation(*args, **kwargs)`.
    """
    for node in nodes:
        operation, (args, kwargs) = node.operation, fill_arguments(node, tensors)
        outputs = run(operation, args, kwargs) if run else operation(*args, **kwargs)
        store_outputs(node, outputs, tensors)


def split_calls(model):
    """Split the calls of a model into those that do not depend on its last input, and the rest.

    Both lists are in the order of the graph.
    """
    before, after, reached = [], [], {id(model.inputs[-1])}
    for node in calls(model):
        if any(id(tensor) in reached for tensor in node.input_tensors):
            after.append(node)
            reached.update(id(tensor) for tensor in node.outputs)
        else:
            before.append(node)
    return before, after


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
    return len(model.inputs) > 1 and model.inputs[-1].shape[1:2] == (None,)


def takes_missing(model, symbol=None):
    """Return whether an input may contain NaN for missing values.

    This is the case if every layer that reads the input has a true attribute `takes_missing`.
    Slices, reshapes, copies and sums pass NaN through, and nested models are inspected.

    Args:
        model: Functional Keras model.
        symbol: Input of the model; the history by default.
    """
    reached, consumers = {id(history_input(model) if symbol is None else symbol)}, []
    for node in calls(model):
        if any(id(tensor) in reached for tensor in node.input_tensors):
            is_layer = isinstance(node.operation, keras.layers.Layer)
            if op_name(node.operation) in PASS_ON and not is_layer:
                reached.update(id(tensor) for tensor in node.outputs)
            else:
                consumers.append(node.operation)
    return bool(consumers) and all(
        takes_missing(x) if isinstance(x, keras.Model) else getattr(x, "takes_missing", False)
        for x in consumers
    )


def missing_inputs(model):
    """Return the names of the inputs that may contain NaN for missing values."""
    return frozenset(x.name for x in model.inputs if takes_missing(model, x))


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


def check_start_token(token, symbol, sizes):
    """Return the start token as a NumPy array `(batch, time, width)` for the decoder's input.

    Args:
        token: Number or array.
        symbol: KerasTensor of the decoder's input.
        sizes: `(batch, time)`; the time is 1, or the length of a patch.

    Raises:
        ValueError: If the token cannot be broadcast to this shape, or is not finite.
    """
    shape = (*sizes, symbol.shape[-1])
    token = np.asarray(token, symbol.dtype)
    if not np.isfinite(token).all():
        raise ValueError("start_token must be finite, got NaN or infinite values.")
    try:
        return np.broadcast_to(token, shape)
    except ValueError:
        raise ValueError(
            f"start_token must broadcast to (batch, time, output_dim) = {shape}, "
            f"got shape {token.shape}."
        ) from None


def check_tokens(tokens, vocabulary_size):
    """Raise ValueError if a token is outside a vocabulary of this size."""
    unknown = tokens[(tokens < 0) | (tokens >= vocabulary_size)]
    if unknown.size:
        raise ValueError(
            f"source contains token {unknown[0]}: the model knows 0 to {vocabulary_size - 1}."
        )
