"""Leave Python: raw history in, forecast out, as a SavedModel, an ONNX or a LiteRT file.

One function (`kerastrans.export.forecast`) is traced for all three. TensorFlow's own names live
in this folder and in `kerastrans/backend.py`.
"""

from pathlib import Path

from kerastrans.export.litert import export_litert
from kerastrans.export.onnx import export_onnx
from kerastrans.export.savedmodel import export_savedmodel, run_savedmodel

_BY_SUFFIX = {".onnx": export_onnx, ".tflite": export_litert, "": export_savedmodel}

__all__ = ["export", "export_litert", "export_onnx", "export_savedmodel", "run_savedmodel"]


def export(model, path, **options):
    """Export a model as what the path's name asks for: `.onnx`, `.tflite`, or a SavedModel folder.

    Args:
        model, path, **options: of `export_onnx`, `export_litert` or `export_savedmodel`.

    Returns:
        The path.

    Raises:
        ValueError: another suffix; see the three.
    """
    suffix = Path(path).suffix
    if suffix not in _BY_SUFFIX:
        raise ValueError(
            f"{path} must end in .onnx or .tflite, or have no suffix for a SavedModel's folder."
        )
    return _BY_SUFFIX[suffix](model, path, **options)
