import json

import keras
import numpy as np
import pytest

import kerastrans
from kerastrans.data import StandardScaler
from kerastrans.evaluation.scores.windows import forecast_windows
from kerastrans.export import export_savedmodel, run_savedmodel

SCALER = StandardScaler(np.array([100.0, -5.0, 0.0]), np.array([20.0, 0.1, 3.0]))


def histories(batch):
    noise = np.random.default_rng(batch).standard_normal((batch, 8, 3))
    return (noise * SCALER.std + SCALER.mean).astype("float32")


@pytest.mark.slow
@pytest.mark.tensorflow
def test_savedmodel_takes_raw_history_and_runs_without_kerastrans(small_model, tmp_path):
    path = export_savedmodel(small_model, tmp_path / "sm", scaler=SCALER, prediction_length=5)
    result = run_savedmodel(path, histories(2))
    expected = forecast_windows(small_model, histories(2), 5, SCALER)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
    assert not list(tmp_path.glob(".sm-*"))  # nothing unfinished is left


@pytest.mark.tensorflow
@pytest.mark.slow
def test_batch_size_is_free_and_names_are_there(small_model, tmp_path):
    import tensorflow as tf

    export_savedmodel(small_model, tmp_path / "sm", prediction_length=4)
    serve = tf.saved_model.load(str(tmp_path / "sm")).signatures["serving_default"]
    assert serve.structured_input_signature[1]["history"].shape.as_list() == [None, None, 3]
    for batch in (1, 3):
        history = histories(batch)
        result = serve(history=tf.constant(history))["forecast"].numpy()
        np.testing.assert_allclose(result, small_model.generate(history, 4), rtol=1e-4, atol=1e-4)


@pytest.mark.tensorflow
@pytest.mark.slow
def test_it_says_what_it_is(small_model, tmp_path):
    import tensorflow as tf

    facts = {"channels": ["EWR", "JFK", "LGA"], "frequency": "h"}
    export_savedmodel(small_model, tmp_path / "sm", prediction_length=4, metadata=facts)
    described = tf.saved_model.load(str(tmp_path / "sm")).signatures["metadata"]()["json"]
    found = json.loads(described.numpy())
    assert found.items() >= facts.items()
    assert found["inputs"] == {"history": ["float32", None, None, 3]}
    assert (found["context_length"], found["prediction_length"]) == (8, 4)


@pytest.mark.tensorflow
@pytest.mark.slow
def test_a_full_disk_leaves_nothing(small_model, tmp_path, monkeypatch):
    import tensorflow as tf

    export_savedmodel(small_model, tmp_path / "old", prediction_length=4)
    before = {path: path.read_bytes() for path in (tmp_path / "old").rglob("*.pb")}

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", full)
    with pytest.raises(OSError, match="No space left"):
        export_savedmodel(small_model, tmp_path / "new", prediction_length=4)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert before == {path: path.read_bytes() for path in (tmp_path / "old").rglob("*.pb")}


@pytest.mark.tensorflow
def test_existing_folder_is_not_touched(small_model, tmp_path):
    (tmp_path / "kept.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="exists: choose another name"):
        export_savedmodel(small_model, tmp_path, prediction_length=4)
    assert [p.name for p in tmp_path.iterdir()] == ["kept.txt"]


@pytest.mark.tensorflow
def test_what_does_not_fit_is_refused(small_model, tmp_path):
    narrow = StandardScaler(np.zeros(2), np.ones(2))
    with pytest.raises(ValueError, match="has 3 channels, the scaler 2"):
        export_savedmodel(small_model, tmp_path / "sm", scaler=narrow, prediction_length=4)
    with pytest.raises(ValueError, match="prediction_length must be"):
        export_savedmodel(small_model, tmp_path / "sm", prediction_length=0)
    tokens = kerastrans.build_seq2seq_transformer(
        9, 9, d_model=8, num_heads=2, ff_dim=16, num_encoder_blocks=1, num_decoder_blocks=1
    )
    with pytest.raises(ValueError, match="only models of numbers are exported"):
        export_savedmodel(tokens, tmp_path / "sm", prediction_length=4)
    assert not (tmp_path / "sm").exists()


@pytest.mark.slow
def test_failed_reload_says_why(tmp_path):
    with pytest.raises(RuntimeError, match=r"reloading .* failed"):
        run_savedmodel(tmp_path / "absent", histories(1))


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="that backend exports")
def test_other_backends_say_what_to_do(small_model, tmp_path):
    with pytest.raises(RuntimeError, match="KERAS_BACKEND=tensorflow"):
        export_savedmodel(small_model, tmp_path / "sm", prediction_length=4)


@pytest.mark.tensorflow
@pytest.mark.slow
def test_it_answers_in_the_shapes_of_tensorflow_serving(small_model, tmp_path):
    """What TensorFlow Serving does with a request, REST or gRPC, to a signature."""
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    export_savedmodel(small_model, tmp_path / "sm", prediction_length=4)
    loaded = tf.saved_model.load(str(tmp_path / "sm"))
    serve = loaded.signatures["serving_default"]
    request = predict_pb2.PredictRequest()
    request.inputs["history"].CopyFrom(tf.make_tensor_proto(histories(2)))
    request = predict_pb2.PredictRequest.FromString(request.SerializeToString())
    inputs = {key: tf.constant(tf.make_ndarray(x)) for key, x in request.inputs.items()}
    response = predict_pb2.PredictResponse()
    for key, value in serve(**inputs).items():
        assert value.shape[0] == 2  # every output has a row an instance, as REST's row format asks
        response.outputs[key].CopyFrom(tf.make_tensor_proto(value.numpy()))
    found = tf.make_ndarray(response.outputs["forecast"])
    np.testing.assert_allclose(found, small_model.generate(histories(2), 4), rtol=1e-4, atol=1e-4)
    instances = json.loads(json.dumps({"instances": histories(2).tolist()}))["instances"]
    rows = serve(history=tf.constant(instances, "float32"))["forecast"].numpy().tolist()
    np.testing.assert_allclose(rows, found, rtol=1e-5, atol=1e-5)
