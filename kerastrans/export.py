"""Leave Python: one SavedModel that takes raw history and returns the whole forecast.

TensorFlow's own names live in this file and in `backend.py`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np

from kerastrans import heads
from kerastrans.data.scaling import StandardScaler, WindowScaler
from kerastrans.files import new_folder
from kerastrans.generation import cached_decoder, is_autoregressive
from kerastrans.graph import history_input
from kerastrans.samplers import FeedBack
from kerastrans.validation import check_new, check_positive_integers, check_prediction_length


def export_savedmodel(model, path, *, scaler=None, prediction_length=None):
    """Export a model as a SavedModel that runs on plain TensorFlow, with no kerastrans installed.

    Its signature `serving_default` takes `history` `(batch, context_length, num_channels)` in
    the units of the series, for any batch size, and returns `forecast`
    `(batch, prediction_length, num_channels)` in the same units; scaling is inside. A head adds
    `quantiles`, or the `parameters` of its distribution, with a last axis. Of an
    autoregressive model the cached decoding loop is inside too, compiled by XLA at the first call
    of each batch size. A direct model's further inputs keep their names.

    Args:
        model: an autoregressive model as in `kerastrans.generate`, its decoder as wide as the
            encoder's input, or a direct one as `kerastrans.zoo` builds them.
        path: folder to write, which must not exist.
        scaler: `StandardScaler` or `WindowScaler` the model was trained behind; None for none.
            A `WindowScaler` takes NaN in the history for a missing value.
        prediction_length: int, steps to forecast. A direct model's is its own, and may be left
            out.

    Returns:
        The path.

    Raises:
        FileExistsError: `path` exists; nothing in it is touched.
        RuntimeError: Keras does not run on TensorFlow.
        ValueError: a model of tokens, a scaler or a decoder of another width than the model's
            input, `prediction_length` below 1, or not a direct model's own.
    """
    path = Path(path)
    check_new(path)
    if prediction_length is None and not is_autoregressive(model):
        prediction_length = model.output_shape[1]
    check_positive_integers(prediction_length=prediction_length)
    if keras.backend.backend() != "tensorflow":
        raise RuntimeError(
            "a SavedModel is written by the TensorFlow backend, Keras runs on "
            f"{keras.backend.backend()}: save the model as .keras and export it in a process with "
            "KERAS_BACKEND=tensorflow."
        )
    if "int" in history_input(model).dtype:
        raise ValueError(f"export_savedmodel wants a model of numbers, {model.name!r} has tokens.")
    num_channels = history_input(model).shape[-1]
    if scaler is None:
        scaler = StandardScaler(np.zeros(num_channels), np.ones(num_channels))
    if isinstance(scaler, StandardScaler) and len(scaler.mean) != num_channels:
        raise ValueError(
            f"the model's input has {num_channels} channels, the scaler {len(scaler.mean)}: they "
            "must agree."
        )
    forecast, signature = _forecast(model, scaler, prediction_length)

    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint("serve", forecast, input_signature=signature)
    with new_folder(path) as folder:
        archive.write_out(folder, verbose=False)
    return path


def _forecast(model, scaler, prediction_length):
    """The function from a model's inputs to its forecast, in units of the series; its signature."""
    import tensorflow as tf

    decodes = is_autoregressive(model)
    predict = (_decoding if decodes else _direct)(model, prediction_length)
    head = heads.of(model)

    def forecast(history, *further):
        center, scale = scaler.statistics(history, keras.ops)
        x = (history - center) / scale
        if isinstance(scaler, WindowScaler):
            x = tf.where(tf.math.is_nan(x), 0.0, x)
        parameters = predict(x, *further)
        if not scaler.is_identity:  # counts stay as they are
            parameters = head.rescale(parameters, center, scale)
        return head.outputs(parameters)

    history = history_input(model)
    further = [tensor for tensor in model.inputs if tensor is not history]
    signature = [tf.TensorSpec(history.shape, "float32", name="history")]
    if decodes:
        return tf.function(forecast, jit_compile=True), signature
    return forecast, signature + [tf.TensorSpec(x.shape, x.dtype, name=x.name) for x in further]


def _decoding(model, prediction_length):
    """From scaled history to a scaled forecast, step by step from the last observed value."""
    decoder = cached_decoder(model)
    decoder.check_length(prediction_length)
    num_channels = model.inputs[0].shape[-1]
    widths = decoder.decoder_input.shape[-1], decoder.output.shape[-1]
    if widths != (num_channels, num_channels):
        raise ValueError(
            "export_savedmodel wants a model whose input, decoder and output have one width, got "
            f"{num_channels}, {widths[0]} and {widths[1]} in {model.name!r}."
        )
    loop = {"num_steps": prediction_length, "sampler": FeedBack()}
    return lambda history: decoder.decode(history, history[:, -1:], **loop)


def _direct(model, prediction_length):
    """From scaled history, and what else the model takes, to its scaled forecast."""
    check_prediction_length(model, prediction_length)
    names = sorted((tensor.name for tensor in model.inputs), key=lambda name: name != "history")

    def predict(*tensors):
        inputs = dict(zip(names, tensors, strict=True)) if len(names) > 1 else tensors[0]
        return model(inputs, training=False)

    return predict


_RELOAD = """
import sys
import numpy as np
import tensorflow as tf

path, history, forecast = sys.argv[1:]
serve = tf.saved_model.load(path).signatures["serving_default"]
np.save(forecast, serve(history=tf.constant(np.load(history)))["forecast"].numpy())
sys.exit("kerastrans was imported" if "kerastrans" in sys.modules else 0)
"""


def run_savedmodel(path, history):
    """Forecast with an exported SavedModel in a fresh process that does not import kerastrans.

    Args:
        path: folder that `export_savedmodel` wrote.
        history: `(batch, context_length, num_channels)`, in the units of the series.

    Returns:
        `(batch, prediction_length, num_channels)`.

    Raises:
        RuntimeError: the process failed, or imported kerastrans.
    """
    with tempfile.TemporaryDirectory() as folder:
        inputs, outputs = Path(folder, "history.npy"), Path(folder, "forecast.npy")
        np.save(inputs, np.asarray(history, "float32"))
        command = [sys.executable, "-c", _RELOAD, str(Path(path).resolve()), inputs, outputs]
        # In another folder, so that a checkout of kerastrans is not on the path either.
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
        if done.returncode:
            raise RuntimeError(f"reloading {path} failed: {done.stderr.strip()[-2000:]}")
        return np.load(outputs)
