"""Every port computes what its reference computes, see `cases` for where that comes from.

How a case is called is decided by the arrays that it has: `call(model, inputs)` of
tests/helpers/calls/<port>.py returns the outputs by name, and raises `LookupError` for arrays that
it does not know.
"""

import importlib

import keras
import numpy as np
import pytest

from kerastrans.models import pretrained
from tests.helpers import cases
from tests.helpers.weights import FRACAST_0

# In units of each row's largest absolute value, by the name of the file of a port.
TOLERANCE = {
    "float32": {},
    # Its reference rounds the normalised window to float32, and each block of a rollout.
    "float64": {"fracast": 1e-6},
}
DEFAULT = {"float32": 1e-4, "float64": 1e-9}
OWN = 4  # times what the reference run in float32 is off the one in float64
# These packages round what they interpolate to the float32 of a series, also in float64.
MISSING = {"float32": {}, "float64": {"timesfm": 1e-6, "reverso": 1e-6, "tinycast": 1e-7}}
# What a port leaves out: (folder, case) -> why.
LEFT_OUT = {
    ("flowstate", "median"): "asks for another point forecast, in no array that it has",
    ("fracast-0", "int8"): "asks for rounded weights that are not read, in no array that it has",
}
# Weights that are not beside their cases: they come with the package.
SHIPPED = {"fracast-0": FRACAST_0}

DECODED = ("chronos-t5",)  # in a loop, which takes longer without a graph
QUICK = ("patchtst-fm",)  # of the others the cases take 3 to 30 s each folder
EXHAUSTIVE = [pytest.mark.slow, pytest.mark.exhaustive]
# The same model and numbers as timesfm-2.5-transformers, in other files.
OTHER_FILES = ("timesfm-2.5-original",)


def folders():
    """The folders with cases, by name; all but the quick ones are slow."""
    for folder in cases.folders():
        marks = () if folder.name in QUICK else [pytest.mark.slow]
        marks = EXHAUSTIVE if folder.name in OTHER_FILES else marks
        yield pytest.param(folder, id=folder.name, marks=marks)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=EXHAUSTIVE)])
@pytest.mark.parametrize("folder", list(folders()))
def test_outputs_are_those_of_the_reference(folder, dtype, request):
    if folder.name not in DECODED:
        request.getfixturevalue("eagerly")  # each case has another shape
    if dtype == "float64" and keras.backend.backend() == "jax":
        pytest.skip("JAX computes in float32 unless its whole process is told otherwise")
    keras.config.set_floatx(dtype)
    keras.config.set_dtype_policy(dtype)
    model = pretrained.load(SHIPPED.get(folder.name, folder))
    port = pretrained.port_of(model)
    call = importlib.import_module(f"tests.helpers.calls.{port}").call
    whole = TOLERANCE[dtype].get(port, DEFAULT[dtype])
    with_gaps = MISSING[dtype].get(port, whole)
    suffix = cases.IN_FLOAT64 if dtype == "float64" else ""
    faults = {}
    for name, arrays in cases.read(folder).items():
        if (folder.name, name) in LEFT_OUT:
            continue
        outputs = {key for key in arrays if f"{key}{cases.IN_FLOAT64}" in arrays}
        inputs = {
            key: value
            for key, value in arrays.items()
            if key not in outputs and not key.endswith(cases.IN_FLOAT64)
        }
        has_gaps = any(np.isnan(array).any() for array in inputs.values())
        tolerance = with_gaps if has_gaps else whole
        found = call(model, inputs)
        for key in outputs:
            error = cases.row_error(np.asarray(found[key]), arrays[f"{key}{suffix}"])
            # What the reference itself loses to float32 is nobody's fault, in a mean of 1e4 say.
            lost = cases.row_error(arrays[key], arrays[f"{key}{cases.IN_FLOAT64}"])
            if error > (max(tolerance, OWN * lost) if dtype == "float32" else tolerance):
                faults[f"{name}.{key}"] = error
    assert not faults
