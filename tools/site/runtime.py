"""Files of the explorer from outside of docs/: its runtime, and an example series."""

import logging
import shutil
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "tools/browser/node_modules/onnxruntime-web/dist"
FILES = "ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"
FOLDER = "explorer/runtime"
EXAMPLE = Path(__file__).parents[2] / "kerastrans/datasets/files/air_passengers.csv"


def pages():
    """Dict of a file's place in the site -> its content."""
    return {f"explorer/{EXAMPLE.name}": EXAMPLE.read_text("utf-8")}


def copy(config):
    """Copy the runtime into the site; without the package the page says that it is missing."""
    if not PACKAGE.exists():
        logging.getLogger("mkdocs").info("The explorer has no runtime: run `make browser` first.")
        return
    folder = Path(config.site_dir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(PACKAGE / name, folder)
