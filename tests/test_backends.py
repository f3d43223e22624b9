"""The same weights and inputs on every installed backend, each in a process of its own."""

import importlib.util
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

import kerastrans
from kerastrans.data import random_sequences

SCRIPT = """
import sys
import keras, kerastrans
import numpy as np

model = keras.saving.load_model(sys.argv[1])
inputs = np.load(sys.argv[2])
np.savez(
    sys.argv[3],
    forced=model.predict([inputs, inputs], verbose=0),
    generated=model.generate(inputs, 20),
    backend=keras.backend.backend(),
)
"""
MODULES = {"tensorflow": "tensorflow", "jax": "jax", "torch": "torch"}


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """Model file, inputs, and what the present backend makes of them."""
    folder = tmp_path_factory.mktemp("parity")
    keras.utils.set_random_seed(0)
    model = kerastrans.build_transformer_model(
        (12, 3),
        num_heads=2,
        key_dim=8,
        ff_dim=32,
        num_encoder_blocks=2,
        num_decoder_blocks=2,
        d_model=16,
    )
    inputs = random_sequences(4, 12, 3, seed=0)
    model.save(folder / "model.keras")
    np.save(folder / "inputs.npy", inputs)
    return folder, model.predict([inputs, inputs], verbose=0), model.generate(inputs, 20)


@pytest.mark.parametrize("backend", MODULES)
@pytest.mark.slow
def test_backends_agree(backend, reference):
    if importlib.util.find_spec(MODULES[backend]) is None:
        pytest.skip(f"{backend} is not installed (pip install .[{backend}])")
    folder, forced, generated = reference
    result = folder / f"{backend}.npz"
    command = [sys.executable, "-c", SCRIPT, folder / "model.keras", folder / "inputs.npy", result]
    subprocess.run(command, check=True, env={**os.environ, "KERAS_BACKEND": backend})
    found = np.load(result)
    assert found["backend"] == backend
    np.testing.assert_allclose(found["forced"], forced, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found["generated"], generated, rtol=0, atol=1e-4)
