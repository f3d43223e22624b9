"""A functional model's graph, read call by call: to run it in another way, or to look inside."""

import keras

from kerastrans.utils.keras_internals import call_arguments, calls, op_name

# Operations, not layers.
PASS_ON = ("GetItem", "Reshape", "Transpose", "Tile", "Concatenate", "Add", "Subtract")


def arguments(node, tensors):
    """The node's call arguments, its KerasTensors replaced by the tensors that are known.

    Args:
        node: one of `kerastrans.utils.keras_internals.calls(model)`.
        tensors: dict from the id of a KerasTensor to its tensor; a KerasTensor that is not in it
            is left as it is.
    """

    def fill_in(x):
        return tensors.get(id(x), x) if isinstance(x, keras.KerasTensor) else x

    return keras.tree.map_structure(fill_in, call_arguments(node))


def store(node, outputs, tensors):
    """Put what the node's operation returned into `tensors`, by the ids of the node's outputs."""
    flat = keras.tree.flatten(outputs)
    tensors.update(zip((id(x) for x in node.outputs), flat, strict=True))


def split(model):
    """The calls of a model in order: those that do not depend on its last input, and the rest."""
    before, after, reached = [], [], {id(model.inputs[-1])}
    for node in calls(model):
        if any(id(tensor) in reached for tensor in node.input_tensors):
            after.append(node)
            reached.update(id(tensor) for tensor in node.outputs)
        else:
            before.append(node)
    return before, after


def inputs_of(model):
    """The model's inputs, the history first."""
    history = history_input(model)
    return [history, *(tensor for tensor in model.inputs if tensor is not history)]


def history_input(model):
    """The input that is the history: the one of that name, or the first."""
    named = [tensor for tensor in model.inputs if tensor.name == "history"]
    return named[0] if named else model.inputs[0]


def takes_missing(model, symbol=None):
    """Whether an input of a model may hold NaN for missing values: all that reads it says so.

    A layer says so by an attribute `takes_missing`. Slices, new shapes, copies and sums pass a NaN
    on, and a model inside the model is looked into.

    Args:
        model: functional Keras model.
        symbol: one of its inputs; the history by default.
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
    """Names of the inputs that may hold NaN for missing values, see `takes_missing`."""
    return frozenset(x.name for x in model.inputs if takes_missing(model, x))
