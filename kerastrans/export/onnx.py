"""An ONNX file, for onnxruntime and what else reads the format."""

from pathlib import Path

import numpy as np

from kerastrans.export.forecast import forecast_of
from kerastrans.utils.files import new_file
from kerastrans.utils.validation import check_new, import_extra

OPSET = 18
INT64 = 7  # as onnx.TensorProto numbers it


def export_onnx(model, path, *, scaler=None, prediction_length=None, metadata=None):
    """Export a model as an ONNX file, which runs without TensorFlow, Keras and kerastrans.

    Inputs and outputs are those of `export_savedmodel`, for any batch size. The metadata stand in
    the file's properties, under "kerastrans". Needs the extra `onnx`.

    Args:
        model, scaler, prediction_length, metadata: see `export_savedmodel`.
        path: file to write, which must not exist.

    Returns:
        The path.

    Raises:
        ImportError: the extra is missing. FileExistsError, RuntimeError, ValueError: as
            `export_savedmodel`.
    """
    tf2onnx = import_extra("tf2onnx", "an ONNX file", "onnx")
    path = Path(path)
    check_new(path)
    options = {"scaler": scaler, "prediction_length": prediction_length, "metadata": metadata}
    forecast = forecast_of(model, **options)
    import tensorflow as tf

    function = tf.function(forecast.function, input_signature=forecast.signature)
    proto, _ = tf2onnx.convert.from_function(
        function,
        input_signature=forecast.signature,
        opset=OPSET,
        custom_op_handlers={
            "Erfc": (_erfc, []),
            "SelectV2": (_where, []),
            "XlaDynamicUpdateSlice": (_update_slice, []),
        },
    )
    proto.metadata_props.add(key="kerastrans", value=forecast.description)
    with new_file(path) as unfinished:
        unfinished.write_bytes(proto.SerializeToString())
    return path


def _make_name(stem):
    from tf2onnx.utils import make_name

    return make_name(stem)


def _erfc(context, node, name, args):
    """TensorFlow's GELU asks for 1 - erf, which ONNX has no operator for."""
    erf = context.insert_new_node_on_input(node, "Erf", node.input[0])
    one = context.make_const(_make_name("one"), np.ones((), "float32"))
    node.type = "Sub"
    context.replace_inputs(node, [one.output[0], erf.output[0]])


def _where(context, node, name, args):
    """As it is. The converter multiplies by the condition, and NaN times 0 is no 0."""
    node.type = "Where"


def _update_slice(context, node, name, args):
    """A cache with its newest step put in: what lies before it, the step, what lies behind."""
    cache, update, starts = node.input
    shapes = context.get_shape(cache), context.get_shape(update)
    axis = next(i for i, (old, new) in enumerate(zip(*shapes, strict=True)) if old != new)

    def constant(value):
        return context.make_const(_make_name("constant"), np.array([value], "int64")).output[0]

    def make(operator, *inputs, **attributes):
        return context.make_node(operator, list(inputs), attr=attributes).output[0]

    def part(x, begin, end, axis):
        return make("Slice", x, begin, end, constant(axis))

    starts = make("Cast", starts, to=INT64)
    first = part(starts, constant(axis), constant(axis + 1), 0)
    behind = make("Add", first, constant(1))
    before = part(cache, constant(0), first, axis)
    rest = part(cache, behind, constant(shapes[0][axis]), axis)
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
