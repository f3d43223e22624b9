"""A LiteRT (TensorFlow Lite) file, which TensorFlow or PyTorch writes and neither runs."""

import tempfile
import zipfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers, ops

from kerastrans.export.encodings import LAST_TIME
from kerastrans.export.forecast import forecast_of
from kerastrans.export.savedmodel import write_savedmodel
from kerastrans.utils.files import first_line, new_file
from kerastrans.utils.keras_internals import all_layers
from kerastrans.utils.precision import without_bfloat16
from kerastrans.utils.types import PathLike
from kerastrans.utils.validation import check_choice, check_new, import_extra

PRECISIONS = (None, "float16", "int8")


def export_litert(
    model: keras.Model,
    path: PathLike,
    *,
    quantize: str | None = None,
    batch_size: int | None = None,
    **options: Any,
) -> Path:
    """Export a model as a LiteRT file with built-in operators only.

    Inputs and outputs are those of `export_savedmodel`, except that texts are codes; the signature
    runner of the interpreter takes any batch size. The file contains the metadata as
    `metadata.json`, which `zipfile` reads. A model in bfloat16 is written in float32.

    Written on TensorFlow, or on PyTorch with the extra `litert`. PyTorch fixes all shapes: the file
    takes `batch_size` windows, 1 by default, of exactly the context, and is not quantized.

    Args:
        model: See `export_savedmodel`.
        path: Path of the file to write, which must not exist.
        quantize: None; "float16" for weights of half the size, or "int8" for large matrices of a
            quarter of it. Inputs, outputs and activations stay float32.
        batch_size: int, number of windows in a call; None for any number. Networks with a recurrent
            sequence (`tft`, `lstm_seq2seq`, `deepar`) require one.
        **options: Other arguments of `export_savedmodel`.

    Returns:
        The path.

    Raises:
        FileExistsError: If `path` exists.
        OSError: If the disk is full; nothing is left at `path`.
        ImportError: If Keras runs on PyTorch and the extra is missing.
        RuntimeError: If Keras runs on JAX, or the converter refuses the model.
        ValueError: As `export_savedmodel`; if `quantize` is unknown, or a recurrent network has no
            batch size.

    Example:
        >>> import tempfile
        >>> from kerastrans import zoo
        >>> model = zoo.build("nlinear", 24, 12, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = export_litert(model, Path(folder, "model.tflite"), quantize="float16")
        ...     with zipfile.ZipFile(path) as file:
        ...         file.namelist()
        ['metadata.json']
    """
    check_choice("quantize", quantize, PRECISIONS)
    path = Path(path)
    check_new(path)
    model = without_bfloat16(model)
    if keras.backend.backend() == "torch":
        forecast, content = convert_by_torch(model, quantize, batch_size, **options)
    else:
        forecast, content = _convert_by_tensorflow(model, quantize, batch_size, **options)
    with new_file(path) as unfinished:
        unfinished.write_bytes(content)
        with zipfile.ZipFile(unfinished, "a") as archive:  # after the model, as its format allows
            archive.writestr("metadata.json", forecast.description(takes_texts=False))
    return path


def _convert_by_tensorflow(model, quantize, batch_size, **options):
    """Return the `Forecast` of a model and the content of its LiteRT file."""
    _check_recurrent(model, batch_size)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "savedmodel")
        forecast = write_savedmodel(
            model, folder, takes_texts=False, batch_size=batch_size, **options
        )
        return forecast, _convert(model.name, folder, quantize)


def _check_recurrent(model, batch_size):
    """Raise ValueError for a recurrent network without a batch size."""
    recurrent = [
        layer.name
        for layer in all_layers(model)
        if isinstance(layer, layers.RNN) and layer.return_sequences
    ]
    if recurrent and batch_size is None:
        raise ValueError(
            f"{model.name!r} is recurrent ({recurrent[0]!r}), which LiteRT runs for one batch size "
            "only: give batch_size, such as 1."
        )


def _convert(name, folder, quantize):
    """Return the content of a LiteRT file, from the folder of a SavedModel."""
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_saved_model(
        str(folder), signature_keys=["serving_default"]
    )
    if quantize is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if quantize == "float16":
        converter.target_spec.supported_types = [tf.float16]
    try:
        return converter.convert()
    except Exception as error:  # its own is in a module that TensorFlow does not publish
        message = f"LiteRT cannot express {name!r}: {first_line(error)}."
        raise RuntimeError(message) from error


def convert_by_torch(model, quantize, batch_size, **options):
    """Return the `Forecast` of a model and the content of its LiteRT file.

    Args:
        model: See `export_litert`.
        quantize: Must be None.
        batch_size: int, number of windows in a call; None for 1.
        **options: Other arguments of `forecast_of`.

    Raises:
        ImportError: If the extra `litert` is missing.
        RuntimeError: If the model decodes step by step or reads time stamps, or the converter
            refuses it.
        ValueError: If `quantize` is not None; see `forecast_of`.
    """
    if quantize is not None:
        raise ValueError(
            f"quantize={quantize!r} requires TensorFlow: export with KERAS_BACKEND=tensorflow."
        )
    litert_torch = import_extra("litert_torch", "a LiteRT file from PyTorch", "litert")
    import torch

    forecast = forecast_of(model, batch_size=batch_size or 1, backends=("torch",), **options)
    if forecast.loops:
        raise RuntimeError(
            f"PyTorch cannot write the decoding loop of {model.name!r}: export with "
            "KERAS_BACKEND=tensorflow."
        )
    if LAST_TIME in forecast.inputs:  # the converter makes 32 bits of 64
        raise RuntimeError(
            f"PyTorch cannot write the calendar of {model.name!r}: export with "
            "KERAS_BACKEND=tensorflow."
        )

    class Module(torch.nn.Module):
        def forward(self, **inputs):
            outputs = forecast.function(*(inputs[name] for name in forecast.inputs))
            fits = _have_lengths(inputs, forecast.inputs)
            return {name: ops.where(fits, x, np.nan) for name, x in outputs.items()}

    shapes = {name: _fixed_shape(x, forecast.batch_size) for name, x in forecast.inputs.items()}
    for name, shape in shapes.items():
        forecast.metadata["inputs"][name][1:] = shape
    example = {
        name: torch.zeros(shape, dtype=getattr(torch, forecast.inputs[name].dtype))
        for name, shape in shapes.items()
    }
    try:
        with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.tflite")
            litert_torch.convert(Module().eval(), sample_kwargs=example).export(str(path))
            return forecast, path.read_bytes()
    except Exception as error:  # of any kind, from an operator that it has no rule for
        message = f"LiteRT cannot express {model.name!r}: {first_line(error)}."
        raise RuntimeError(message) from error


def _have_lengths(tensors, inputs):
    """Return a true tensor that the runtime cannot compute for inputs of other lengths.

    The runtime resizes inputs of fixed shapes, and may answer another length from wrong steps.
    """
    sums = []
    for name, x in inputs.items():
        if x.length is not None:
            missing = ops.cast(ops.isnan(ops.cast(tensors[name], "float32")), "float32")
            ones = ops.ones((ops.shape(missing)[0], x.length, 1))
            sums.append(ops.sum(ops.concatenate([missing, ones], axis=-1)))  # of one length
    return sum(sums) > 0


def _fixed_shape(x, batch_size):
    """Return the shape of an `Input` with as many steps as are read of it."""
    return (batch_size, *(x.length if size is None else size for size in x.shape))
