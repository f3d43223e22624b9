"""The public names, which are imported on first use."""

from . import files as files
from .files import export as export
from . import litert as litert
from .litert import export_litert as export_litert
from . import onnx as onnx
from .onnx import export_onnx as export_onnx
from . import savedmodel as savedmodel
from .savedmodel import export_savedmodel as export_savedmodel, run_savedmodel as run_savedmodel
