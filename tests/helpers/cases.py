"""Parity cases: folders with a checkpoint and what the reference package made of it.

Some are in `OWN`. `KERASTRANS_FIXTURES` names the folder of the others; else it lies beside the
checkout. Each has `cases.npz` with arrays `<case>.<input or output>`; `<output>_f64` is the same
output of the reference run in float64, `<case>.inter.<name>` an intermediate tensor.
"""

import os
from pathlib import Path

import numpy as np

BESIDE = Path(__file__).parents[3] / "shared" / "fixtures" / "foundation"
ROOT = Path(os.environ.get("KERASTRANS_FIXTURES", BESIDE))
OWN = Path(__file__).parents[1] / "fixtures" / "foundation"
IN_FLOAT64 = "_f64"


def folders():
    """Folders with cases, by name."""
    return sorted(path.parent for root in (OWN, ROOT) for path in root.glob("*/cases.npz"))


def folder(name):
    """The folder of a name."""
    return next(path for path in folders() if path.name == name)


def read(folder):
    """Dict from each case's name to its arrays by name, without the intermediate ones."""
    cases = {}
    with np.load(folder / "cases.npz", allow_pickle=False) as arrays:
        for key in arrays.files:
            name, _, array = key.partition(".")
            if not array.startswith("inter."):
                cases.setdefault(name, {})[array] = arrays[key]
    return cases


def numbered(arrays, name):
    """The arrays `name_0`, `name_1` ... of a ragged batch."""
    found = []
    while f"{name}_{len(found)}" in arrays:
        found.append(arrays[f"{name}_{len(found)}"])
    return found


def intermediate(folder, case):
    """The intermediate tensors of a case by name: for a porter, to see where a fault begins."""
    start = f"{case}.inter."
    with np.load(folder / "cases.npz", allow_pickle=False) as arrays:
        return {key[len(start) :]: arrays[key] for key in arrays.files if key.startswith(start)}


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
