"""ONNX and LiteRT files: metadata, precision, bad input. What they forecast: tests/contract."""

import json
import sys
import zipfile

import numpy as np
import pytest

from kerastrans import heads, zoo
from kerastrans.data import WindowScaler
from kerastrans.export import export, export_litert, export_onnx

pytestmark = pytest.mark.tensorflow
FACTS = {"channels": ["a", "b"], "frequency": "h"}


@pytest.fixture
def model():
    return zoo.build("dlinear", 48, 24, 2, head=heads.QuantileHead((0.1, 0.5, 0.9)))


@pytest.fixture
def history():
    random = np.random.default_rng(0)
    history = 50 + 10 * random.standard_normal((5, 48, 2)).astype("float32").cumsum(axis=1)
    history[1, :20] = np.nan  # a short series
    return history


def forecast(model, history):
    """What the model forecasts, each window scaled by its own context."""
    center, scale = WindowScaler().statistics(history.astype("float64"))
    parameters = model.predict_on_batch(np.nan_to_num((history - center) / scale))
    return heads.of(model).rescale(parameters, center, scale)


def run_litert(path, history):
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(model_path=str(path)).get_signature_runner()(history=history)


def run_onnx(path, history):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path))
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"history": history}), strict=True))


@pytest.mark.parametrize(("suffix", "run"), [(".onnx", run_onnx), (".tflite", run_litert)])
def test_raw_history_with_gaps_gives_quantiles_in_its_units(suffix, run, model, history, tmp_path):
    path = export(model, tmp_path / f"model{suffix}", scaler=WindowScaler())
    found = run(path, history)
    expected = forecast(model, history)
    np.testing.assert_allclose(found["quantiles"], expected, rtol=2e-5, atol=1e-3)
    np.testing.assert_array_equal(found["forecast"], found["quantiles"][..., 1])
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(
        run(path, history[:1])["quantiles"], expected[:1], rtol=2e-5, atol=1e-3
    )


def test_both_say_what_they_are(model, tmp_path):
    import onnxruntime

    session = onnxruntime.InferenceSession(export_onnx(model, tmp_path / "m.onnx", metadata=FACTS))
    described = json.loads(session.get_modelmeta().custom_metadata_map["kerastrans"])
    path = export_litert(model, tmp_path / "m.tflite", metadata=FACTS)
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("metadata.json")) == described
    assert described.items() >= FACTS.items()
    assert described["quantiles"] == [0.1, 0.5, 0.9]
    assert described["inputs"] == {"history": ["float32", None, 48, 2]}


def test_quantized_files_are_smaller_and_near(history, tmp_path):
    model = zoo.build("nhits", 48, 24, 2, hidden_dim=128, downsampling=(4, 2, 1))
    expected = forecast(model, history)
    sizes = {}
    for quantize, share in ((None, 1e-5), ("float16", 2e-3), ("int8", 5e-2)):
        path = tmp_path / f"{quantize}.tflite"
        export_litert(model, path, scaler=WindowScaler(), quantize=quantize)
        difference = np.abs(run_litert(path, history)["forecast"] - expected).max()
        assert difference < share * np.ptp(expected)
        sizes[quantize] = path.stat().st_size
    assert sizes["float16"] < 0.6 * sizes[None]
    assert sizes["int8"] < 0.4 * sizes[None]


def test_bad_input_is_refused_before_anything_is_written(model, tmp_path, monkeypatch):
    (tmp_path / "old.onnx").write_text("mine")
    with pytest.raises(FileExistsError, match="exists: name a new one"):
        export(model, tmp_path / "old.onnx")
    with pytest.raises(ValueError, match=r"must end in \.onnx or \.tflite"):
        export(model, tmp_path / "model.h5")
    with pytest.raises(ValueError, match="quantize must be one of None, 'float16', 'int8'"):
        export(model, tmp_path / "m.tflite", quantize="int4")
    monkeypatch.setitem(sys.modules, "tf2onnx", None)
    with pytest.raises(ImportError, match=r'pip install "kerastrans\[onnx\]"'):
        export_onnx(model, tmp_path / "m.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["old.onnx"]
    assert (tmp_path / "old.onnx").read_text() == "mine"


def test_a_file_that_cannot_be_written_leaves_nothing(model, tmp_path, monkeypatch):
    from pathlib import Path

    def full(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        export_onnx(model, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())
