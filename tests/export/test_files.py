"""ONNX and LiteRT files: metadata, precision, bad input. What they forecast: tests/contract."""

import json
import sys
import zipfile

import keras
import numpy as np
import pytest
from keras import layers

from kerastrans import heads, zoo
from kerastrans.data import WindowScaler
from kerastrans.export import export, export_litert, export_onnx
from kerastrans.utils.precision import without_bfloat16
from tests.helpers.runtimes import RUNTIMES, run_litert, run_onnx

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


@pytest.mark.slow
def test_both_say_what_they_are(model, tmp_path):
    import onnxruntime

    session = onnxruntime.InferenceSession(export_onnx(model, tmp_path / "m.onnx", metadata=FACTS))
    described = json.loads(session.get_modelmeta().custom_metadata_map["kerastrans"])
    path = export_litert(model, tmp_path / "m.tflite", metadata=FACTS)
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("metadata.json")) == described
    assert described.items() >= FACTS.items()
    assert described["quantiles"] == [0.1, 0.5, 0.9]
    assert described["inputs"] == {"history": ["float32", None, None, 2]}
    assert described["context_length"] == 48


@pytest.mark.slow
def test_quantized_files_are_smaller_and_near(history, tmp_path):
    model = zoo.build("nhits", 48, 24, 2, hidden_dim=160, downsampling=(4, 2, 1))
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
    with pytest.raises(FileExistsError, match="exists: choose another name"):
        export(model, tmp_path / "old.onnx")
    with pytest.raises(ValueError, match=r"must end in \.onnx, \.tflite or \.pt2"):
        export(model, tmp_path / "model.h5")
    with pytest.raises(ValueError, match="quantize must be one of None, 'float16', 'int8'"):
        export(model, tmp_path / "m.tflite", quantize="int4")
    monkeypatch.setitem(sys.modules, "tf2onnx", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[onnx\]"'):
        export_onnx(model, tmp_path / "m.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["old.onnx"]
    assert (tmp_path / "old.onnx").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tide", "direct_transformer"])
def test_models_in_bfloat16_are_written_in_float32(name, tmp_path):
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = zoo.build(name, 24, 12, 1)
    finally:
        keras.config.set_dtype_policy(policy)
    history = np.random.default_rng(0).normal(size=(2, 24, 1)).astype("float32")
    expected = without_bfloat16(model).predict(history, verbose=0)
    rounded = model.predict(history, verbose=0)
    assert 0 < np.abs(rounded - expected).max() < 0.2 * np.abs(expected).max()
    for run, file in ((run_onnx, "m.onnx"), (run_litert, "m.tflite")):
        found = run(export(model, tmp_path / file), history)["forecast"]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_models_of_other_shapes_are_refused(tmp_path):
    def made(shape, *outputs):
        window = keras.Input(shape)
        x = layers.Flatten()(window)
        found = [layers.Reshape(y)(layers.Dense(int(np.prod(y)))(x)) for y in outputs]
        return keras.Model(window, found[0] if len(found) == 1 else found)

    for model in (made((24, 1), (12,)), made((24,), (12, 1)), made((24, 1), (12, 1), (3, 1))):
        with pytest.raises(ValueError, match=r"only models of a history .* maps \(None, 24"):
            export(model, tmp_path / "m.onnx")
    sequential = [keras.Input((24, 1)), layers.Flatten(), layers.Dense(12), layers.Reshape((12, 1))]
    with pytest.raises(ValueError, match="only functional and built sequential models"):
        export(keras.Sequential(sequential[1:]), tmp_path / "m.onnx")
    model = keras.Sequential(sequential)
    history = np.random.default_rng(0).normal(size=(2, 24, 1)).astype("float32")
    found = run_onnx(export(model, tmp_path / "m.onnx"), history)["forecast"]
    np.testing.assert_allclose(found, model.predict(history, verbose=0), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scaler": "standard"}, "scaler must be a scaler of kerastrans.data.scaling, or None"),
        ({"scaler": WindowScaler("mase", season=48)}, "context_length must be greater, got 48"),
        ({"metadata": {"inputs": "mine"}}, r"metadata must not replace \['inputs'\]"),
    ],
)
def test_bad_options_are_refused(model, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        export(model, tmp_path / "m.onnx", **options)


def test_a_file_that_cannot_be_written_leaves_nothing(model, tmp_path, monkeypatch):
    from pathlib import Path

    def full(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        export_onnx(model, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "runtime",
    [pytest.param(x, marks=pytest.mark.slow if x == "LiteRT" else ()) for x in RUNTIMES],
)
def test_counts_are_exported_as_they_are(runtime, tmp_path):
    suffix, run = RUNTIMES[runtime]
    model = zoo.build("nlinear", 48, 24, 2, head="negative_binomial")
    history = np.random.default_rng(0).poisson(3.0, (2, 48, 2)).astype("float32")
    expected = heads.of(model).outputs(model.predict_on_batch(history))
    for name, scaler in (("none", None), ("identity", WindowScaler(None))):
        path = export(model, tmp_path / f"{name}{suffix}", scaler=scaler)
        found = run(path, history)
        np.testing.assert_allclose(
            found["parameters"], expected["parameters"], rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("suffix", ["", ".onnx", ".tflite"])
def test_what_cannot_be_exported_is_refused_before_it_is_traced(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(keras.Model, "__call__", None)
    path = tmp_path / f"model{suffix}"
    counts = zoo.build("nlinear", 48, 24, 2, head="negative_binomial")
    with pytest.raises(ValueError, match="counts cannot be rescaled") as caught:
        export(counts, path, scaler=WindowScaler())
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_history_of_any_length_is_refused(tmp_path):
    history = keras.Input((None, 2), name="history")
    model = keras.Model(history, keras.layers.Dense(2)(history[:, -4:]), name="free")
    with pytest.raises(ValueError, match=r"of 'free' has the shape \(None, None, 2\)"):
        export(model, tmp_path / "m.onnx", prediction_length=4)


@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_what_a_converter_refuses_is_one_line(suffix, model, tmp_path, monkeypatch):
    import tensorflow as tf
    import tf2onnx

    def refuse(*args, **kwargs):
        raise Exception("no rule for operator X\nmore\nand more")

    monkeypatch.setattr(tf2onnx.convert, "from_function", refuse)
    monkeypatch.setattr(tf.lite, "TFLiteConverter", Converter(refuse))
    message = r"cannot express 'dlinear\w*': no rule for operator X\.$"
    with pytest.raises(RuntimeError, match=message):
        export(model, tmp_path / f"m{suffix}")
    assert not list(tmp_path.iterdir())


class Converter:
    """In place of `tf.lite.TFLiteConverter`."""

    def __init__(self, convert):
        self.convert = convert

    def from_saved_model(self, *args, **kwargs):
        return self


def test_the_converter_has_the_names_that_the_handlers_use():
    """The canary of tf2onnx's inside: a new version that moves one is noticed here."""
    from tf2onnx.graph import Graph
    from tf2onnx.utils import make_name

    assert make_name("one") != make_name("one")
    names = ("make_const", "make_node", "insert_new_node_on_input", "replace_inputs")
    for name in (*names, "remove_node", "get_shape", "get_dtype"):
        assert callable(getattr(Graph, name)), name
