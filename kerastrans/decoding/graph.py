"""A functional model's graph, read call by call: to run it in another way, or to look inside."""

import keras


def calls(model):
    """The nodes of a functional model in an order in which they can run, without its inputs.

    A node's `operation` is the layer or op, its `arguments` what that was called with.
    """
    # Keras has no public view of a functional graph's calls; Function.call reads the same.
    return [
        node
        for depth in sorted(model._nodes_by_depth, reverse=True)
        for node in model._nodes_by_depth[depth]
        if not node.is_input
    ]


def arguments(node, tensors):
    """The node's call arguments, its KerasTensors replaced by their tensors (None: not known).

    Args:
        node: one of `calls(model)`.
        tensors: dict from the id of a KerasTensor to its tensor.
    """

    def fill_in(x):
        return tensors.get(id(x)) if isinstance(x, keras.KerasTensor) else x

    return keras.tree.map_structure(fill_in, (node.arguments.args, node.arguments.kwargs))


def store(node, outputs, tensors):
    """Put what the node's operation gave into `tensors`, by the ids of the node's outputs."""
    flat = keras.tree.flatten(outputs)
    tensors.update(zip((id(x) for x in node.outputs), flat, strict=True))


def inputs_of(model):
    """The model's inputs, the history first."""
    history = history_input(model)
    return [history, *(tensor for tensor in model.inputs if tensor is not history)]


def history_input(model):
    """The input that is the history: the one of that name, or the first."""
    named = [tensor for tensor in model.inputs if tensor.name == "history"]
    return named[0] if named else model.inputs[0]
