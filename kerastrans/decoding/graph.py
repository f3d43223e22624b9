"""Calls of a functional model's graph in order, for running or inspecting the model differently."""

import keras

from kerastrans.utils.keras_internals import call_arguments, calls, op_name

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
