"""Written by tools/checks/stubs.py from kerastrans/export/__init__.py."""

from kerastrans.export import files as files
from kerastrans.export.files import export as export, export_pt2 as export_pt2
from kerastrans.export import litert as litert
from kerastrans.export.litert import export_litert as export_litert
from kerastrans.export import onnx as onnx
from kerastrans.export.onnx import export_onnx as export_onnx
from kerastrans.export import savedmodel as savedmodel
from kerastrans.export.savedmodel import export_savedmodel as export_savedmodel, run_savedmodel as run_savedmodel
