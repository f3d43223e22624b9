"""Export in the format that a path names."""

from pathlib import Path

from kerastrans.export.litert import export_litert
from kerastrans.export.onnx import export_onnx
from kerastrans.export.savedmodel import export_savedmodel

_BY_SUFFIX = {".onnx": export_onnx, ".tflite": export_litert, "": export_savedmodel}


def export(model, path, **options):
    """Export a model in the format of the path's suffix: `.onnx`, `.tflite`, or none: a SavedModel.

    Args:
        model: Keras model, see `export_savedmodel`.
        path: Path to write, which must not exist.
        **options: Arguments of `export_onnx`, `export_litert` or `export_savedmodel`.

    Returns:
        The path.

    Raises:
        FileExistsError: If `path` exists.
        RuntimeError: If Keras does not run on TensorFlow.
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
            f"{path} must end in .onnx or .tflite, or have no suffix for a SavedModel's folder."
        )
    return _BY_SUFFIX[suffix](model, path, **options)
