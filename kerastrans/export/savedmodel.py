"""A SavedModel: the folder that TensorFlow and TensorFlow Serving load."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from kerastrans.export.forecast import forecast_of
from kerastrans.utils.files import first_line, new_folder
from kerastrans.utils.types import PathLike


def export_savedmodel(
    model: keras.Model,
    path: PathLike,
    *,
    scaler: Any = None,
    fill: str | None = None,
    bounds: Sequence[float | None] | None = None,
    short: str = "refuse",
    prediction_length: int | None = None,
    context_length: int | None = None,
    metadata: dict[str, Any] | None = None,
    encodings: Any = None,
    num_samples: int = 100,
    seed: int = 0,
) -> Path:
    """Export a model as a SavedModel that runs on plain TensorFlow, with no kerastrans installed.

    Its signature `serving_default` takes `history` `(batch, steps, num_channels)` in the units of
    the series, NaN for a missing value, for any batch size, and returns `forecast`
    `(batch, prediction_length, num_channels)` in the same units; scaling is inside. A head adds
    `quantiles`, or the `parameters` of its distribution, with a last axis. A channel without a
    value has the forecast NaN. The cached decoding loop of an autoregressive model is inside too,
    compiled by XLA at the first call of each size; with a head it draws `samples`, whose mean is
    the forecast. Other inputs keep their names. The signature `metadata` has no input and returns
    the metadata as JSON.

    Args:
        model: Autoregressive model as in `kerastrans.generate`, without an encoder or with
            a decoder as wide as its input, or a direct model as `kerastrans.zoo` builds them.
        path: Path of the folder to write, which must not exist.
        scaler: `StandardScaler` or `WindowScaler` that the model was trained with, or None.
        fill: Value that the model was trained to see for a missing value: None for the mean of the
            context, "last" for the last value before it in the context, or "zero".
        bounds: Pair of the smallest and the largest value that the series can have, or None;
            points, quantiles and intervals stay within them.
        short: str, rule for fewer steps than the context: "refuse", or "pad" to put missing values
            before them. If there are more steps, the last ones are read.
        prediction_length: int, number of steps to forecast; by default that of a direct model.
        context_length: int, number of last steps that a decoder-only model reads as its prompt;
            None for other models.
        metadata: Dict of additional metadata, such as channels and frequency.
        encodings: `kerastrans.export.encodings.Encodings` of time stamps, covariates and conformal
            intervals, which `Forecaster.export` passes; by default the inputs are those of the
            model.
        num_samples: int, number of samples of an autoregressive model with a head.
        seed: int, seed of their random numbers, which are in the file and the same for all windows.

    Returns:
        The path.

    Raises:
        FileExistsError: If `path` exists; nothing in it is touched.
        OSError: If the disk is full; nothing is left at `path`.
        RuntimeError: If Keras does not run on TensorFlow.
        ValueError: If the model has tokens or no context length.
        ValueError: If the scaler or the decoder has another width than the model's input, or the
            head has counts, which cannot be scaled.
        ValueError: If `prediction_length` is below 1, or not that of a direct model.

    Example:
        >>> import tempfile
        >>> from kerastrans import zoo
        >>> model = zoo.build("nlinear", 24, 12, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = export_savedmodel(model, Path(folder, "model"))
        ...     run_savedmodel(path, np.zeros((2, 24, 1))).shape  # (batch, steps, channels)
        (2, 12, 1)
    """
    path = Path(path)
    with new_folder(path) as folder:
        write_savedmodel(
            model,
            folder,
            scaler=scaler,
            fill=fill,
            bounds=bounds,
            short=short,
            prediction_length=prediction_length,
            context_length=context_length,
            metadata=metadata,
            encodings=encodings,
            num_samples=num_samples,
            seed=seed,
        )
    return path


def write_savedmodel(model, folder, *, takes_texts=True, **options):
    """Write a SavedModel into a folder.

    Args:
        model: See `export_savedmodel`.
        folder: Path of the folder to write into.
        takes_texts: bool, whether inputs of texts are strings, or their codes.
        **options: Other arguments of `forecast_of`.

    Returns:
        The `Forecast`.

    Raises:
        OSError: If TensorFlow cannot write.
        RuntimeError: See `export_savedmodel`.
        ValueError: See `export_savedmodel`.
    """
    forecast = forecast_of(model, **options)
    import tensorflow as tf

    serve = forecast.function
    if forecast.loops:
        serve = tf.function(serve, jit_compile=True)
    signature = forecast.signature
    if takes_texts and forecast.texts:
        serve, signature = _from_texts(serve, forecast)
    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint("serve", serve, input_signature=signature)
    archive.add_endpoint(
        "metadata",
        lambda: {"json": tf.constant(forecast.description(takes_texts))},
        input_signature=[],
    )
    try:
        archive.write_out(folder, verbose=False)
    except tf.errors.OpError as error:  # TensorFlow's own, of a disk that is full
        why = first_line(error).rpartition("}} ")[2]
        raise OSError(f"cannot write the SavedModel: {why}.") from None
    return forecast


def _from_texts(serve, forecast):
    """Return a function that takes texts in place of their codes, and its signature."""
    import tensorflow as tf

    def code(spec, x):
        if spec.name not in forecast.texts:
            return x
        texts = tf.constant([*forecast.texts[spec.name], ""])[:-1]  # a list may be empty
        codes = tf.range(1, len(forecast.texts[spec.name]) + 1)
        return tf.reduce_max(
            tf.where(x[..., None] == texts, codes, 0), axis=-1, name=f"{spec.name}_codes"
        )

    def serve_texts(*tensors):
        return serve(*map(code, forecast.signature, tensors))

    signature = [
        tf.TensorSpec(x.shape, tf.string, x.name) if x.name in forecast.texts else x
        for x in forecast.signature
    ]
    return serve_texts, signature


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
        path: Path of the folder that `export_savedmodel` wrote.
        history: `(batch, context_length, num_channels)`, in the units of the series.

    Returns:
        `(batch, prediction_length, num_channels)`.

    Raises:
        RuntimeError: If the process fails, or imports kerastrans.

    Example:
        See `export_savedmodel`.
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
