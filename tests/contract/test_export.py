"""Every architecture leaves as a SavedModel and forecasts the same without kerastrans."""

import json
import subprocess
import sys

import numpy as np
import pytest

from kerastrans.data import StandardScaler
from kerastrans.evaluation import forecast_windows
from kerastrans.export import export_savedmodel

from .conftest import CHANNELS, HORIZON, NAMES, build, example_inputs, walks

pytestmark = pytest.mark.tensorflow
SCALER = StandardScaler(np.array([5.0, -2.0, 0.0]), np.array([2.0, 0.5, 1.0]))

SERVE = """
import json, sys
import numpy as np
import tensorflow as tf

errors = {}
for name in json.loads(sys.argv[1]):
    given = dict(np.load(f"{name}-inputs.npz"))
    serve = tf.saved_model.load(name).signatures["serving_default"]
    outputs = serve(**{key: tf.constant(value) for key, value in given.items()})["forecast"]
    errors[name] = float(np.abs(outputs.numpy() - np.load(f"{name}-forecast.npy")).max())
assert "kerastrans" not in sys.modules
print(json.dumps(errors))
"""


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """Largest difference of each exported model, served in one process without kerastrans."""
    folder = tmp_path_factory.mktemp("exports")
    for name in NAMES:
        model = build(name)
        inputs = example_inputs(model, walks(2))
        inputs = inputs if isinstance(inputs, dict) else {"history": inputs}
        np.savez(folder / f"{name}-inputs.npz", **inputs)
        np.save(folder / f"{name}-forecast.npy", forecast_windows(model, inputs, HORIZON, SCALER))
        export_savedmodel(model, folder / name, scaler=SCALER)
    command = [sys.executable, "-c", SERVE, json.dumps(NAMES)]
    done = subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_savedmodel_forecasts_the_same_without_kerastrans(name, errors):
    assert errors[name] < 1e-4


def test_a_direct_model_forecasts_the_horizon_it_was_built_for(tmp_path):
    model = build("dlinear")
    message = f"was built for prediction_length={HORIZON}, got {HORIZON + 1}"
    with pytest.raises(ValueError, match=message):
        export_savedmodel(model, tmp_path / "sm", prediction_length=HORIZON + 1)
    with pytest.raises(ValueError, match=message):
        forecast_windows(model, walks(2, num_channels=CHANNELS), HORIZON + 1)
    assert not (tmp_path / "sm").exists()
