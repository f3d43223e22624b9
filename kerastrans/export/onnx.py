"""An ONNX file, for onnxruntime and other runtimes of the format.

Handlers of the converter use undocumented parts of it: `make_const`, `make_node`,
`insert_new_node_on_input`, `replace_inputs`, `remove_node`, `get_shape` and `get_dtype` of its
graph, and `utils.make_name`. Only this file uses them; tests/export/test_files.py has their canary.
"""

from pathlib import Path
from typing import Any

import keras
import numpy as np

from kerastrans.export.forecast import check_backend, forecast_of
from kerastrans.utils.files import first_line, new_file
from kerastrans.utils.precision import without_bfloat16
from kerastrans.utils.types import PathLike
from kerastrans.utils.validation import check_new, import_extra

OPSET = 18
INT64 = 7  # as onnx.TensorProto numbers it


def export_onnx(model: keras.Model, path: PathLike, **options: Any) -> Path:
    """Export a model as an ONNX file, which runs without TensorFlow, Keras and kerastrans.

    Inputs and outputs are those of `export_savedmodel`, for any batch size. The file's properties
    hold the metadata, under "kerastrans". A model in bfloat16 is written in float32. Needs the
    extra `onnx`.

    Args:
        model: See `export_savedmodel`.
        path: Path of the file to write, which must not exist.
        **options: Other arguments of `export_savedmodel`.

    Returns:
        The path.

    Raises:
        ImportError: If the extra is missing.
        FileExistsError: If `path` exists.
        OSError: If the disk is full; nothing is left at `path`.
        RuntimeError: If Keras does not run on TensorFlow, or the converter refuses the model.
        ValueError: As `export_savedmodel`.

    Example:
        >>> import tempfile
        >>> from kerastrans import zoo
        >>> model = zoo.build("nlinear", 24, 12, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     export_onnx(model, Path(folder, "model.onnx")).name  # doctest: +SKIP
        'model.onnx'
    """
    check_backend(("tensorflow",))
    import_extra("tf2onnx", "an ONNX file", "onnx")
    path = Path(path)
    check_new(path)
    forecast = forecast_of(without_bfloat16(model), **options)
    try:
        proto = convert(forecast.function, forecast.signature)
    except Exception as error:  # of any kind, from an operator that it has no rule for
        message = f"ONNX cannot express {model.name!r}: {first_line(error)}."
        raise RuntimeError(message) from error
    for name, texts in forecast.texts.items():
        _take_texts(proto, name, texts)
    proto.metadata_props.add(key="kerastrans", value=forecast.description())
    with new_file(path) as unfinished:
        unfinished.write_bytes(proto.SerializeToString())
    return path


def convert(function, signature):
    """Return a function of tensors as the protocol buffer of an ONNX file.

    Args:
        function: Function from tensors to a dict of tensors, on TensorFlow.
        signature: List of named `tf.TensorSpec`, one per argument.
    """
    import tensorflow as tf
    import tf2onnx

    proto, _ = tf2onnx.convert.from_function(
        tf.function(function, input_signature=signature),
        input_signature=signature,
        opset=OPSET,
        custom_op_handlers={name: (handler, []) for name, handler in _HANDLERS.items()},
    )
    return proto


def _take_texts(proto, name, texts):
    """Give a graph an input of strings in place of their codes, int32."""
    from onnx import TensorProto, helper

    graph, codes = proto.graph, f"{name}_codes"
    for node in graph.node:
        node.input[:] = [codes if x == name else x for x in node.input]
    number = next(x for x in graph.input if x.name == name)
    number.type.tensor_type.elem_type = TensorProto.STRING
    look_up = helper.make_node(
        "LabelEncoder",
        [name],
        [f"{name}_places"],
        domain="ai.onnx.ml",
        keys_strings=[*texts, ""],
        values_int64s=[*range(1, len(texts) + 1), 0],
        default_int64=0,
    )
    cast = helper.make_node("Cast", [f"{name}_places"], [codes], to=TensorProto.INT32)
    for node in (cast, look_up):  # before the nodes that read them
        graph.node.insert(0, node)
    if "ai.onnx.ml" not in {x.domain for x in proto.opset_import}:
        proto.opset_import.append(helper.make_opsetid("ai.onnx.ml", 2))


def _make_name(stem):
    from tf2onnx.utils import make_name

    return make_name(stem)


def _erfc(context, node, name, args):
    """Convert 1 - erf, which TensorFlow's GELU uses; ONNX has only erf."""
    erf = context.insert_new_node_on_input(node, "Erf", node.input[0])
    one = context.make_const(_make_name("one"), np.ones((), "float32"))
    node.type = "Sub"
    context.replace_inputs(node, [one.output[0], erf.output[0]])


def _expm1(context, node, name, args):
    """Convert exp(x) - 1 to 2 exp(x / 2) sinh(x / 2), which is exact near 0 as well."""
    half, two = (
        context.make_const(_make_name("constant"), np.array(x, "float32")).output[0]
        for x in (0.5, 2)
    )

    def make(operator, *inputs):
        return context.make_node(operator, list(inputs)).output[0]

    halved = make("Mul", node.input[0], half)
    node.type = "Mul"
    context.replace_inputs(node, [make("Mul", two, make("Exp", halved)), make("Sinh", halved)])


def _where(context, node, name, args):
    """Keep the operator: the converter multiplies by the condition, but NaN times 0 is NaN."""
    node.type = "Where"


def _update_slice(context, node, name, args):
    """Convert the update of a cache to the part before it, the update and the part after it."""
    cache, update, starts = node.input
    shapes = context.get_shape(cache), context.get_shape(update)
    # The axis of time; of the same size if one update fills the cache.
    axis = next((i for i, (old, new) in enumerate(zip(*shapes, strict=True)) if old != new), 1)

    def constant(value):
        return context.make_const(_make_name("constant"), np.array([value], "int64")).output[0]

    def make(operator, *inputs, **attributes):
        return context.make_node(operator, list(inputs), attr=attributes).output[0]

    def part(x, begin, end, axis):
        return make("Slice", x, begin, end, constant(axis))

    starts = make("Cast", starts, to=INT64)
    first = part(starts, constant(axis), constant(axis + 1), 0)
    after = make("Add", first, constant(shapes[1][axis]))
    before = part(cache, constant(0), first, axis)
    rest = part(cache, after, constant(shapes[0][axis]), axis)
    dtype = context.get_dtype(node.output[0])
    context.remove_node(node.name)
    context.make_node(
        "Concat",
        [before, update, rest],
        attr={"axis": axis},
        outputs=node.output,
        shapes=[shapes[0]],
        dtypes=[dtype],
    )


_HANDLERS = {
    "Erfc": _erfc,
    "Expm1": _expm1,
    "SelectV2": _where,
    "XlaDynamicUpdateSlice": _update_slice,
}
