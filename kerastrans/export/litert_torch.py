"""Conversion to LiteRT by PyTorch, which needs no TensorFlow."""

import tempfile
from pathlib import Path

import numpy as np
from keras import ops

from kerastrans.export.encodings import LAST_TIME
from kerastrans.export.forecast import forecast_of
from kerastrans.utils.files import first_line
from kerastrans.utils.validation import import_extra


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
