"""LiteRT files that PyTorch writes without TensorFlow, with the extra `litert`."""

import json
import zipfile

import keras
import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import zoo
from kerastrans.data import WindowScaler
from kerastrans.export import export
from tests.helpers.runtimes import run_litert

pytestmark = pytest.mark.skipif(keras.backend.backend() != "torch", reason="PyTorch writes them")


def test_what_pytorch_cannot_write_is_refused(tmp_path):
    model = zoo.build("nlinear", 24, 12, 1)
    with pytest.raises(ValueError, match=r"quantize='int8' requires TensorFlow.*=tensorflow"):
        export(model, tmp_path / "m.tflite", quantize="int8")
    with pytest.raises(RuntimeError, match="KERAS_BACKEND=tensorflow"):
        export(model, tmp_path / "savedmodel")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_forecaster_forecasts_the_same_and_a_calendar_is_refused(tmp_path):
    pytest.importorskip("litert_torch")
    times = pd.date_range("2024-10-01", periods=60)
    frame = pd.DataFrame({"y": 10 + np.sin(np.arange(60.0))}, times)
    forecaster = kerastrans.Forecaster("dlinear", 14, 3, calendar=True)
    with pytest.raises(RuntimeError, match=r"calendar of 'dlinear'.*KERAS_BACKEND=tensorflow"):
        forecaster.fit(frame, epochs=1, verbose=0).export(tmp_path / "calendar.tflite")
    forecaster = kerastrans.Forecaster("dlinear", 14, 3)
    forecaster.fit(frame, epochs=1, verbose=0).calibrate(frame, windows=20, levels=[50])
    path = forecaster.export(tmp_path / "m.tflite")
    history = frame[-14:].to_numpy("float32")[None]
    found, rows = run_litert(path, history), forecaster.predict(frame)
    for name, column in (("forecast", ""), ("lower", "-lo-50"), ("upper", "-hi-50")):
        wanted = rows[f"dlinear{column}"].to_numpy()
        np.testing.assert_allclose(found[name].ravel(), wanted, rtol=1e-4, atol=1e-4)
    with zipfile.ZipFile(path) as archive:
        inputs = json.loads(archive.read("metadata.json"))["inputs"]
    assert inputs == {"history": ["float32", 1, 14, 1]}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nhits", "patchtst", "lstm_seq2seq", "itransformer"])
def test_a_network_forecasts_the_same(name, tmp_path):
    pytest.importorskip("litert_torch")
    model = zoo.build(name, 48, 24, 2, head="quantiles")
    path = export(model, tmp_path / "m.tflite", scaler=WindowScaler(), batch_size=2)
    history = 50 + np.random.default_rng(0).normal(size=(2, 48, 2)).astype("float32")
    center, scale = WindowScaler().statistics(history.astype("float64"))
    scaled = model.predict_on_batch(((history - center) / scale).astype("float32"))
    wanted = kerastrans.heads.of(model).rescale(scaled.astype("float64"), center, scale)
    found = run_litert(path, history)["quantiles"]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    for length in (1, 47, 49, 96):
        with pytest.raises(Exception, match=r"(?i)dimension|shape|prepare|concat"):
            run_litert(path, np.ones((2, length, 2), "float32"))
