"""The same weights forecast the same on every installed backend, each in a process of its own."""

import importlib.util
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

from tests.helpers.architectures import FAMILIES, NAMES, build, forecast, walks

RUNTIMES = {"jax": "JAX", "torch": "PyTorch"}
SCRIPT = """
import sys
import numpy as np
from tests.helpers.architectures import build, forecast, walks

arrays = np.load(sys.argv[1])
forecasts = {}
for name in sys.argv[3].split():
    model = build(name)
    model.set_weights([arrays[f"{name}/{i}"] for i in range(len(model.weights))])
    forecasts[name] = forecast(model, walks(3))
np.savez(sys.argv[2], **forecasts)
"""


def reference(names, folder):
    """File of all weights, and the present backend's forecasts."""
    keras.utils.set_random_seed(0)
    models = {name: build(name) for name in names}
    path = folder / "weights.npz"
    weights = {
        f"{name}/{i}": weight
        for name, model in models.items()
        for i, weight in enumerate(model.get_weights())
    }
    np.savez(path, **weights)
    return path, {name: forecast(model, walks(3)) for name, model in models.items()}


@pytest.mark.parametrize("backend", RUNTIMES)
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(FAMILIES, id="families", marks=pytest.mark.slow),
        pytest.param(
            [name for name in NAMES if name not in FAMILIES],
            id="others",
            marks=[pytest.mark.slow, pytest.mark.exhaustive],
        ),
    ],
)
def test_backends_agree(names, backend, tmp_path, pytestconfig, runtimes_table):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed (pip install .[{backend}])")
    path, expected = reference(names, tmp_path)
    result = tmp_path / "forecasts.npz"
    command = [sys.executable, "-c", SCRIPT, path, result, " ".join(names)]
    environment = {**os.environ, "KERAS_BACKEND": backend}
    subprocess.run(command, check=True, cwd=pytestconfig.rootpath, env=environment)
    found = np.load(result)
    errors = {name: float(np.abs(found[name] - expected[name]).max()) for name in names}
    runtimes_table |= {
        (name, RUNTIMES[backend]): f"{error / np.abs(expected[name]).max():.0e}"
        for name, error in errors.items()
    }
    assert {name: error for name, error in errors.items() if not error < 1e-4} == {}
