"""Checks of a model in use: training, step-by-step decoding and export."""

import tempfile
from pathlib import Path

import keras
import numpy as np

from kerastrans import heads
from kerastrans.decoding.contract import patch_length_of
from kerastrans.decoding.generation import generate, generate_tokens
from kerastrans.export.savedmodel import export_savedmodel
from kerastrans.testing.cases import arrange_inputs, assert_close
from kerastrans.testing.reports import NotApplicable
from kerastrans.text.tokens import END, START

WINDOWS, STEPS = 16, 8  # size of a batch, and steps of training
TOLERANCE = 1e-4  # for decoding, where rounding errors of float32 accumulate


def check_training(case):
    """Check that some steps of Adam reduce the loss, and that every weight has a gradient."""
    model, losses = _train(case, STEPS)
    if not min(losses[1:]) < losses[0]:
        raise AssertionError(
            f"after {STEPS} steps the loss is {losses[-1]:.3g}, it was {losses[0]:.3g} at first"
        )
    for before, after in zip(case.model.trainable_weights, model.trainable_weights, strict=True):
        if np.array_equal(before.numpy(), after.numpy()):
            raise AssertionError(f"no gradient reaches {before.path}")


def check_same_training(case):
    """Check that two trainings with one seed have the same losses."""
    (_, first), (_, second) = _train(case, 2), _train(case, 2)
    assert_close(second, first, 1e-5, "the loss of a second training")


def _train(case, steps):
    """Return a trained copy of the model, and its loss at each step."""
    if not case.model.trainable_weights:
        raise NotApplicable("the model has no trainable weights")
    case.require_numbers()
    model = case.copy()
    inputs = case.inputs(WINDOWS)
    shape = WINDOWS, case.sizes["prediction_length"], case.sizes["num_channels"]
    phase = np.linspace(0, 6, WINDOWS)[:, None, None]
    targets = np.broadcast_to(np.sin(np.arange(shape[1])[:, None] + phase), shape).astype("float32")
    # Eager steps save the compilation. JAX is too slow without one.
    eager = keras.backend.backend() == "tensorflow"
    loss = heads.of(model).loss()
    model.compile(keras.optimizers.Adam(0.003), loss, run_eagerly=eager)
    batch = arrange_inputs(model, inputs)
    return model, [float(model.train_on_batch(batch, targets)) for _ in range(steps)]


def check_decoding(case):
    """Check that decoding with caches returns the same forecast as the whole sequence."""
    if not case.is_autoregressive:
        raise NotApplicable("the model returns the whole horizon at once")
    *encoder, decoder = case.model.inputs
    inputs, num_steps = case.inputs(), case.sizes["prediction_length"]
    arrays = [inputs[symbol.name] for symbol in encoder]
    if "int" in decoder.dtype:
        values = generate_tokens(case.model, *arrays, num_steps)
        first = np.full((len(values), 1), START, "int32")
    elif case.model.output_shape != decoder.shape:
        raise NotApplicable("the model decodes samples of a distribution")
    else:
        first = arrays[0][:, -patch_length_of(case.model) :]
        values = generate(case.model, arrays, num_steps, start_token=first)
    decoder_inputs = np.concatenate([first, values], axis=1)[:, :num_steps]
    # By induction over the steps, equality here means equality to feeding the growing sequence.
    outputs = case.outputs({**inputs, decoder.name: decoder_inputs})
    if "int" not in decoder.dtype:
        assert_close(values, outputs, TOLERANCE, "the decoded forecast")
        return
    most_probable = outputs.argmax(axis=-1)
    is_open = np.cumsum(decoder_inputs == END, axis=1) == 0  # the sequence has not ended
    if not np.array_equal(values[is_open], most_probable[is_open]):
        raise AssertionError("the decoded tokens are not the most probable of the whole sequence")


def check_export(case):
    """Check that a SavedModel, which does not need kerastrans, returns the same forecast."""
    if keras.backend.backend() != "tensorflow":
        raise NotApplicable("export needs Keras to run on TensorFlow")
    case.require_numbers()
    if heads.of(case.model).size > 1 and case.is_autoregressive:
        raise NotApplicable("samples are not exported")
    import tensorflow as tf

    inputs, num_steps = case.inputs(), case.sizes["prediction_length"]
    if case.is_autoregressive:
        inputs = {"history": inputs[case.history_name]}
        expected = generate(case.model, inputs["history"], num_steps)
    else:
        expected = case.forecast(inputs)
    with tempfile.TemporaryDirectory() as folder:
        path = export_savedmodel(case.model, Path(folder) / "model", prediction_length=num_steps)
        serve = tf.saved_model.load(path).signatures["serving_default"]
        actual = serve(**{name: tf.constant(array) for name, array in inputs.items()})
    assert_close(actual["forecast"].numpy(), expected, 1e-5, "the exported forecast")
