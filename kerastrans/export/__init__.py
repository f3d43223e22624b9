"""Forecasts outside of Keras: a SavedModel, an ONNX, LiteRT or .pt2 file from history to forecast.

One function (`kerastrans.export.forecast`) is traced for all of them. Only this folder and
`kerastrans/utils/backend.py` and `compilation.py` use names of TensorFlow.
"""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "files": ("export", "export_pt2"),
        "litert": ("export_litert",),
        "onnx": ("export_onnx",),
        "savedmodel": ("export_savedmodel", "run_savedmodel"),
    },
)
