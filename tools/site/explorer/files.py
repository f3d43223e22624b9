"""ONNX files that hold the weights of a model by number, in half precision if that is exact."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from kerastrans.export.onnx import convert

WEIGHT = "weight_"  # and the number of the weight in `model.weights`
SMALLEST = 64  # values; for fewer, half precision is not worth a node


def round_weights(model):
    """Round the weights of a model to numbers that half precision holds."""
    model.set_weights([x.astype("float16").astype(x.dtype) for x in model.get_weights()])


def write_file(path, function, signature, weights):
    """Write a function of tensors as an ONNX file.

    Args:
        path: Path of the file.
        function: Function from tensors to a dict of tensors.
        signature: List of named `tf.TensorSpec`.
        weights: List of arrays, the weights that the function uses.
    """
    proto = convert(function, signature)
    graph = proto.graph
    names = _weight_names(graph, weights)
    names |= _short_names(graph, names)
    for node in graph.node:
        node.name = ""
        node.input[:] = [names.get(x, x) for x in node.input]
        node.output[:] = [names.get(x, x) for x in node.output]
    del graph.value_info[:]
    halved = []
    for constant in graph.initializer:
        constant.name = names.get(constant.name, constant.name)
        values = numpy_helper.to_array(constant)
        if values.dtype == "float32" and values.size >= SMALLEST:
            halves = values.astype("float16")
            if (halves == values).all():
                halved.append(
                    helper.make_node(
                        "Cast", [f"{constant.name}_h"], [constant.name], to=TensorProto.FLOAT
                    )
                )
                constant.CopyFrom(numpy_helper.from_array(halves, f"{constant.name}_h"))
    for node in reversed(halved):
        graph.node.insert(0, node)
    proto.doc_string, graph.doc_string, graph.name = "", "", "explorer"
    proto.producer_name = proto.producer_version = ""
    onnx.checker.check_model(proto)
    path.write_bytes(proto.SerializeToString())


def read_weights(path):
    """Return the weights of a file, in the order of the model's.

    The converter may have added axes of size 1 to a weight.
    """
    proto = onnx.load(path)
    weights = {}
    for constant in proto.graph.initializer:
        if constant.name.startswith(WEIGHT):
            number = int(constant.name.removeprefix(WEIGHT).removesuffix("_h"))
            weights[number] = numpy_helper.to_array(constant).astype("float32")
    return [weights[number] for number in range(len(weights))]


def _weight_names(graph, weights):
    """Return the name of each weight's constant -> the weight's name in the file."""
    constants = {x.name: numpy_helper.to_array(x) for x in graph.initializer}
    found = {}
    for number, weight in enumerate(weights):
        name = next(
            (
                name
                for name, x in constants.items()
                if name not in found and np.array_equal(x.ravel(), weight.ravel())
            ),
            None,
        )
        if name is None:
            raise ValueError(f"weight {number} of shape {weight.shape} is not in the graph.")
        found[name] = f"{WEIGHT}{number}"
    return found


def _short_names(graph, taken):
    """Return names for all tensors that are neither weights, inputs nor outputs."""
    kept = {x.name for x in (*graph.input, *graph.output)} | taken.keys() | {""}
    tensors = [x.name for x in graph.initializer]
    tensors += [name for node in graph.node for name in node.output]
    return {name: f"t{i}" for i, name in enumerate(tensors) if name not in kept}
