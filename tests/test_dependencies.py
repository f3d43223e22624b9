"""One backend is enough, and a missing one is named."""

import os
import subprocess
import sys

import pytest

BLOCKED = """
import sys


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Blocked())
"""
TRAIN = """
import numpy as np
import kerastrans

frame = kerastrans.datasets.load("air_passengers")
forecaster = kerastrans.Forecaster("nlinear", 24, 12).fit(frame, epochs=1, verbose=0)
forecaster.save("folder")
rows = kerastrans.Forecaster.load("folder").predict(frame)
np.testing.assert_allclose(rows["nlinear"], forecaster.predict(frame)["nlinear"])
print(len(rows))
"""


def run(code, backend, blocked, folder):
    environment = {**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", BLOCKED.format(blocked=blocked) + code],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=folder,
    )


@pytest.mark.slow
def test_jax_needs_no_tensorflow(tmp_path):
    done = run(TRAIN, "jax", ["tensorflow", "torch"], tmp_path)
    assert done.stdout == "12\n", done.stderr


@pytest.mark.parametrize(
    "code",
    [
        "import kerastrans; kerastrans.Forecaster",
        "from kerastrans.cli import startup as s; s.start_keras()",
    ],
)
def test_a_missing_backend_is_named_with_the_others(code, tmp_path):
    done = run(code, "tensorflow", ["tensorflow"], tmp_path)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: Keras is set to run on tensorflow, which is not installed: pip install "
        '".[tensorflow]" in a clone of kerastrans, or set KERAS_BACKEND to the one that is. The '
        "backends are tensorflow, jax and torch."
    )


def test_the_only_installed_backend_is_used_without_being_named(tmp_path):
    code = (
        "import importlib.util; find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda x, *y: None if x in ('tensorflow', 'torch') else "
        "find(x, *y)\n"
        "import kerastrans, keras; print(keras.backend.backend())"
    )
    environment = {k: v for k, v in os.environ.items() if k != "KERAS_BACKEND"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout == "jax\n", found.stderr
