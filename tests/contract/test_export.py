"""Every architecture forecasts the same without kerastrans, as SavedModel, ONNX and LiteRT.

`make runtimes` writes what is measured here to docs/runtimes.md.
"""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest

import kerastrans
from kerastrans.data import StandardScaler
from kerastrans.evaluation.scores.windows import forecast_windows
from kerastrans.export import export_litert, export_onnx, export_savedmodel
from tests.helpers.architectures import (
    CHANNELS,
    CONTEXT,
    HORIZON,
    NAMES,
    all_in_slow_tier,
    build,
    build_shallow,
    encoder_decoder,
    example_inputs,
    moved,
    walks,
)

pytestmark = pytest.mark.tensorflow
SCALER = StandardScaler(np.array([5.0, -2.0, 0.0]), np.array([2.0, 0.5, 1.0]))
RUNTIMES = {"SavedModel": "", "ONNX": ".onnx", "LiteRT": ".tflite"}
EXPORTS = dict(zip(RUNTIMES, (export_savedmodel, export_onnx, export_litert), strict=True))
BATCH = 2

SERVE = """
import json, sys
import numpy as np
import onnxruntime
from ai_edge_litert.interpreter import Interpreter


def onnx(path, given):
    session = onnxruntime.InferenceSession(path)
    return session.run(["forecast"], given)[0]


def litert(path, given):
    return Interpreter(model_path=path).get_signature_runner()(**given)["forecast"]


def savedmodel(path, given):
    import tensorflow as tf

    serve = tf.saved_model.load(path).signatures["serving_default"]
    return serve(**{key: tf.constant(value) for key, value in given.items()})["forecast"].numpy()


found = {}
for run, runtime, suffix in (
    (onnx, "ONNX", ".onnx"), (litert, "LiteRT", ".tflite"), (savedmodel, "SavedModel", "")
):
    assert "tensorflow" not in sys.modules or run is savedmodel
    for name in json.loads(sys.argv[1]):
        given = dict(np.load(f"{name}-inputs.npz"))
        wanted = np.load(f"{name}-forecast.npy")
        difference = np.abs(run(f"{name}{suffix}", given) - wanted).max()
        found[f"{runtime}/{name}"] = float(difference / np.abs(wanted).max())
assert "kerastrans" not in sys.modules
print(json.dumps(found))
"""


def decoder_only():
    """A model inside of a model: its prompt is the history."""
    prompt, state = keras.Input((None, CHANNELS)), keras.Input((None, 12))
    block = kerastrans.transformer_decoder(state, num_heads=2, key_dim=4, ff_dim=16)
    x = kerastrans.PositionalEncoding(None, 12)(keras.layers.Dense(12)(prompt))
    outputs = keras.layers.Dense(CHANNELS)(keras.Model(state, block)(x))
    return keras.Model(prompt, outputs, name="decoder_only")


# Models with their decoding loops.
AUTOREGRESSIVE = {"encoder-decoder": encoder_decoder, "decoder-only": decoder_only}
EXPORTED = (*AUTOREGRESSIVE, *NAMES)


@pytest.fixture(scope="module")
def differences(request, tmp_path_factory):
    """Largest relative difference of each selected export, run in one process."""
    folder = tmp_path_factory.mktemp("exported")
    tests = [x for x in request.session.items if "differences" in getattr(x, "fixturenames", ())]
    exported = list(dict.fromkeys(test.callspec.params["name"] for test in tests))
    for name in exported:
        keras.utils.set_random_seed(1)
        if name in AUTOREGRESSIVE:
            model = AUTOREGRESSIVE[name]()
            inputs = walks(BATCH)
        else:
            model = moved(build_shallow(name))
            inputs = example_inputs(model, walks(BATCH))
        named = inputs if isinstance(inputs, dict) else {"history": inputs}
        np.savez(folder / f"{name}-inputs.npz", **named)
        np.save(folder / f"{name}-forecast.npy", forecast_windows(model, inputs, HORIZON, SCALER))
        options = {"scaler": SCALER, "prediction_length": HORIZON}
        options |= {"context_length": CONTEXT} if name == "decoder-only" else {}
        for runtime, suffix in RUNTIMES.items():
            fixed = {"batch_size": BATCH} if (runtime, name) in ONE_BATCH_SIZE else {}
            EXPORTS[runtime](model, folder / f"{name}{suffix}", **options, **fixed)
    command = [sys.executable, "-c", SERVE, json.dumps(exported)]
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


ONE_BATCH_SIZE = {("LiteRT", name) for name in ("tft", "lstm_seq2seq", "deepar", "xlstm_mixer")}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", all_in_slow_tier(EXPORTED))
def test_it_forecasts_the_same_elsewhere(name, runtime, differences, runtimes_table):
    difference = differences[f"{runtime}/{name}"]
    fixed = "one batch size, " if (runtime, name) in ONE_BATCH_SIZE else ""
    runtimes_table[name, runtime] = f"{fixed}{difference:.0e}"
    assert difference < 1e-5


@pytest.mark.parametrize("name", sorted(name for _, name in ONE_BATCH_SIZE))
def test_litert_says_that_a_recurrent_network_wants_a_batch_size(name, tmp_path):
    with pytest.raises(ValueError, match=f"{name}.* is recurrent .* give batch_size"):
        export_litert(build(name), tmp_path / "model.tflite")
    assert not list(tmp_path.iterdir())


def test_the_context_length_belongs_to_decoder_only_models(tmp_path):
    message = "is for decoder-only models, leave it out"
    with pytest.raises(ValueError, match=message):
        export_savedmodel(build("dlinear"), tmp_path / "sm", context_length=CONTEXT + 1)
    with pytest.raises(ValueError, match="give the context_length of a decoder-only model"):
        export_savedmodel(decoder_only(), tmp_path / "sm", prediction_length=HORIZON)


def test_a_direct_model_forecasts_the_horizon_it_was_built_for(tmp_path):
    model = build("dlinear")
    message = f"was built for prediction_length={HORIZON}, got {HORIZON + 1}"
    with pytest.raises(ValueError, match=message):
        export_savedmodel(model, tmp_path / "sm", prediction_length=HORIZON + 1)
    with pytest.raises(ValueError, match=message):
        forecast_windows(model, walks(2, num_channels=CHANNELS), HORIZON + 1)
    assert not (tmp_path / "sm").exists()
