"""Export in the format that a path names, and the .pt2 file, which PyTorch writes and runs."""

import inspect
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

from kerastrans.export.forecast import forecast_of
from kerastrans.export.litert import export_litert
from kerastrans.export.onnx import export_onnx
from kerastrans.export.savedmodel import export_savedmodel
from kerastrans.utils.files import first_line, new_file
from kerastrans.utils.precision import without_bfloat16
from kerastrans.utils.types import PathLike
from kerastrans.utils.validation import check_new


def export(model, path, **options):
    """Export a model in the format of the path's suffix: `.onnx`, `.tflite`, `.pt2`, or none.

    Args:
        model: Keras model, see `export_savedmodel`.
        path: Path to write, which must not exist; without a suffix, the folder of a SavedModel.
        **options: Arguments of `export_onnx`, `export_litert`, `export_pt2` or `export_savedmodel`.

    Returns:
        The path.

    Raises:
        FileExistsError: If `path` exists.
        RuntimeError: If the backend of Keras does not write this format.
        ValueError: If the suffix is unknown, or the model cannot be exported.

    Example:
        >>> import tempfile
        >>> from kerastrans import zoo
        >>> model = zoo.build("nlinear", 24, 12, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     export(model, Path(folder, "model.tflite")).name
        'model.tflite'
    """
    suffix = Path(path).suffix
    if suffix not in _BY_SUFFIX:
        raise ValueError(
            f"{path} must end in .onnx, .tflite or .pt2, or have no suffix for a SavedModel's "
            "folder."
        )
    return _BY_SUFFIX[suffix](model, path, **options)


def export_pt2(
    model: keras.Model, path: PathLike, *, batch_size: int | None = None, **options: Any
) -> Path:
    """Export a model as a program of PyTorch, which runs without Keras and kerastrans.

    `torch.export.load(path).module()` is a function of the inputs by name, those of
    `export_savedmodel` except that texts are codes, and returns a dict. The program is not trained
    further. The file contains the metadata as "metadata.json", one of the `extra_files` of
    `torch.export.load`. A model in bfloat16 is written in float32.

    Args:
        model: See `export_savedmodel`.
        path: Path of the file to write, which must not exist.
        batch_size: int, number of windows in a call; None for any number.
        **options: Other arguments of `export_savedmodel`.

    Returns:
        The path.

    Raises:
        FileExistsError: If `path` exists.
        OSError: If the disk is full; nothing is left at `path`.
        RuntimeError: If Keras does not run on PyTorch, or PyTorch cannot trace the model.
        ValueError: As `export_savedmodel`.

    Example:
        >>> from kerastrans import zoo
        >>> export_pt2(zoo.build("nlinear", 24, 12, 1), "model.pt2")  # doctest: +SKIP
        PosixPath('model.pt2')
    """
    path = Path(path)
    forecast = forecast_of(
        without_bfloat16(model), batch_size=batch_size, backends=("torch",), **options
    )
    check_new(path)
    import torch

    shapes, example = {}, {}
    for name, x in forecast.inputs.items():
        shapes[name] = {} if batch_size else {0: torch.export.Dim("batch")}
        if x.length is not None:
            shapes[name][1] = torch.export.Dim(f"{name}_steps")
        sizes = (2 * x.length if size is None else size for size in x.shape)
        example[name] = ops.zeros((batch_size or 2, *sizes), x.dtype)
    try:
        with torch.no_grad():
            program = torch.export.export(
                _module_of(forecast), (), example, dynamic_shapes=shapes, strict=False
            )
    except Exception as error:  # of any kind, from an operator that it cannot trace
        advice = "" if batch_size else " for any batch size: give batch_size, such as 1"
        message = f"PyTorch cannot trace {model.name!r}{advice} ({first_line(error)})."
        raise RuntimeError(message) from error
    with new_file(path) as unfinished, unfinished.open("wb") as file:
        facts = {"metadata.json": forecast.description(takes_texts=False)}
        torch.export.save(program, file, extra_files=facts)
    return path


def _module_of(forecast):
    """Return a module of PyTorch whose arguments are the inputs of a forecast by name."""
    import torch

    def last_steps(x, length):
        """Return as many steps as are read, NaN before the first; fewer than `length` fail."""
        if length is None:
            return x
        fill = np.nan if x.is_floating_point() else 0
        before = x.new_full((x.shape[0], padding(length), *x.shape[2:]), fill)
        places = torch.arange(1 - 2 * length, 0, device=x.device)
        x = torch.cat([before, x], dim=1)
        return x.index_select(1, places + x.shape[1])  # a slice would fix the number of steps

    def padding(length):
        return (2 if forecast.metadata["short"] == "pad" else 1) * length - 1

    def forward(**inputs):
        lengths = {name: x.length for name, x in forecast.inputs.items()}
        return forecast.function(*(last_steps(inputs[x], lengths[x]) for x in lengths))

    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, kind) for name in forecast.inputs]
    forward.__signature__ = inspect.Signature(parameters)
    module = torch.nn.Module().eval()
    module.forward = forward
    return module


_BY_SUFFIX = {
    ".onnx": export_onnx,
    ".tflite": export_litert,
    ".pt2": export_pt2,
    "": export_savedmodel,
}
