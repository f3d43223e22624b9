"""Parity cases: folders with a checkpoint and what the reference package made of it.

Each has `cases.npz.xz` with arrays `<case>.<input or output>`; `<output>_f64` is the same output of
the reference run in float64. tests/fixtures/README.md describes the files.
"""

import io
import lzma
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1] / "fixtures" / "foundation"
IN_FLOAT64 = "_f64"


def folders():
    """Folders with cases, by name."""
    return sorted(path.parent for path in ROOT.glob("*/cases.npz.xz"))


def load(path):
    """The arrays of a file .npz.xz, by name."""
    return np.load(io.BytesIO(lzma.decompress(path.read_bytes())), allow_pickle=False)


def read(folder):
    """Dict from each case's name to its arrays by name."""
    cases = {}
    for key, value in load(folder / "cases.npz.xz").items():
        name, _, array = key.partition(".")
        cases.setdefault(name, {})[array] = value
    return cases


def numbered(arrays, name):
    """The arrays `name_0`, `name_1` ... of a ragged batch."""
    found = []
    while f"{name}_{len(found)}" in arrays:
        found.append(arrays[f"{name}_{len(found)}"])
    return found


def row_error(found, wanted):
    """The largest error in units of the largest absolute value of its row: the first axis."""
    if found.shape != wanted.shape:
        raise AssertionError(f"shape {found.shape}, wanted {wanted.shape}")
    if not np.isfinite(found).all():
        raise AssertionError("not finite")
    axes = tuple(range(1, wanted.ndim))
    largest = np.maximum(np.abs(wanted).max(axis=axes, keepdims=True), 1e-30)
    return float((np.abs(found.astype("float64") - wanted) / largest).max())


def levels(inputs):
    """The `quantile_levels` of a case as they were written before they became float32, or None."""
    given = inputs.get("quantile_levels")
    return None if given is None else [round(float(level), 6) for level in given]
