"""onnxruntime-web in a headless Chromium, as one more runtime of exported files."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tools.checks import chromium
from tools.site.runtime import PACKAGE

RUNTIME = "ort.wasm.min.js", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"
_MISSING = chromium.missing() or (None if PACKAGE.exists() else "run make browser first")
needs_browser = pytest.mark.skipif(_MISSING is not None, reason=str(_MISSING))

PAGE = """<!doctype html><meta charset="utf-8"><script src="ort.wasm.min.js"></script>"""
RUN = """async given => {
  const types = {int64: BigInt64Array, int32: Int32Array, float32: Float32Array};
  const typed = ({dtype, values}) => dtype === "string" ? values
    : types[dtype].from(values, dtype === "int64" ? BigInt : Number);
  const session = await ort.InferenceSession.create("model.onnx");
  const inputs = Object.fromEntries(Object.entries(given).map(
    ([name, x]) => [name, new ort.Tensor(x.dtype, typed(x), x.shape)]));
  const outputs = await session.run(inputs);
  return Object.fromEntries(Object.entries(outputs).map(
    ([name, x]) => [name, {shape: x.dims, values: Array.from(x.data, String)}]));
}"""


def copy_runtime(folder):
    """Copy the files of onnxruntime-web that a page needs into a folder."""
    for name in RUNTIME:
        shutil.copy(PACKAGE / name, folder)


def run_browser(path, history, **others):
    """Run an ONNX file in a page, and return a dict of its outputs."""
    given = {name: _packed(np.asarray(x)) for name, x in {"history": history, **others}.items()}
    with tempfile.TemporaryDirectory() as folder:
        copy_runtime(folder)
        shutil.copy(path, Path(folder, "model.onnx"))
        Path(folder, "index.html").write_text(PAGE)
        with chromium.serve_folder(folder) as address, chromium.open_page(address) as page:
            outputs = page.evaluate(RUN, given)
    return {
        name: np.array(x["values"], "float32").reshape(x["shape"]) for name, x in outputs.items()
    }


def _packed(x):
    """Return an array as JSON holds it, with the name of its type in onnxruntime-web."""
    dtype = "string" if x.dtype.kind in "UO" else x.dtype.name
    # JSON has neither NaN nor integers of 64 bits: numbers are texts.
    return {"dtype": dtype, "shape": list(x.shape), "values": [str(v) for v in x.ravel()]}
