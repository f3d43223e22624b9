"""Checks of a model in use: training, step-by-step decoding and export."""

import tempfile
from pathlib import Path

import keras
import numpy as np

from kerastrans import heads
from kerastrans.decoding.cached_decoder import cached_decoder
from kerastrans.decoding.contract import patch_length_of
from kerastrans.decoding.generation import generate, generate_tokens
from kerastrans.decoding.samplers import AncestralSampler
from kerastrans.export.savedmodel import export_savedmodel
from kerastrans.testing.cases import arrange_inputs, assert_close
from kerastrans.testing.reports import NotApplicable
from kerastrans.text.tokens import END, PAD, START

WINDOWS, STEPS = 16, 8  # size of a batch, and steps of training
SAMPLES = 10
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
    is_open = np.cumsum(decoder_inputs == END, axis=1) == 0  # the sequence has not ended
    scores = np.take_along_axis(outputs, values[..., None], axis=-1)[..., 0]
    possible = np.delete(outputs, [PAD, START], axis=-1)  # what decoding may choose
    # Rounding decides between two tokens with nearly the same score.
    is_lower = possible.max(axis=-1) - scores > TOLERANCE * np.abs(outputs).max()
    if is_lower[is_open].any():
        raise AssertionError("the decoded tokens are not the most probable of the whole sequence")


def check_export(case):
    """Check that a SavedModel, which does not need kerastrans, returns the same forecast."""
    if keras.backend.backend() != "tensorflow":
        raise NotApplicable("export needs Keras to run on TensorFlow")
    case.require_numbers()
    import tensorflow as tf

    inputs, num_steps = case.inputs(), case.sizes["prediction_length"]
    if case.is_autoregressive:
        *symbols, _ = case.model.inputs
        inputs = {x.name: inputs[x.name] for x in symbols}
        arrays = list(inputs.values())
        if hasattr(heads.of(case.model), "draw"):
            expected = samples_of_file(case.model, arrays, num_steps, SAMPLES).mean(axis=-1)
        else:
            expected = generate(case.model, arrays, num_steps)
        inputs["history"] = inputs.pop(case.history_name)
    else:
        expected = case.forecast(inputs)
    options = {"prediction_length": num_steps, "num_samples": SAMPLES}
    with tempfile.TemporaryDirectory() as folder:
        path = export_savedmodel(case.model, Path(folder) / "model", **options)
        serve = tf.saved_model.load(path).signatures["serving_default"]
        actual = serve(**{name: tf.constant(array) for name, array in inputs.items()})
    assert_close(actual["forecast"].numpy(), expected, 1e-5, "the exported forecast")


def samples_of_file(model, arrays, num_steps, num_samples, seed=0):
    """Return the samples of an exported file, which uses the same random numbers for all windows.

    Args:
        model: Autoregressive Keras model with a head.
        arrays: List of the arrays of its inputs, except the decoder's.
        num_steps: int.
        num_samples: int.
        seed: int.

    Returns:
        NumPy array `(windows, num_steps, num_channels, num_samples)`.
    """
    decoder, drawn = cached_decoder(model), []
    sampler = AncestralSampler.of(model, seed)
    for window in zip(*arrays, strict=True):
        window = [x[None].astype("float32") for x in window]
        inputs, prompt = decoder.split_inputs(window)
        drawn.append(decoder.run(inputs, prompt, num_steps, sampler, copies=num_samples))
    return np.stack(drawn).transpose(0, 2, 3, 1)
