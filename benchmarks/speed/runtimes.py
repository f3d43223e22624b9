"""Each runtime on three trained models, five new ones and the cached Transformer.

    python -m benchmarks.speed.runtimes    # on TensorFlow; writes benchmarks/results/runtimes.csv

All in one process, batch 1 and 256, medians. `keras` is the model in this process:
`predict_on_batch` behind the scaling of its windows, or the compiled loop of `generate`. `error`
is the mean absolute error over the first 256 windows of the test part, standardised by the training
rows; new models, of the default size and with start weights, have none.
"""

import csv
import tempfile
from pathlib import Path

import keras
import numpy as np
import onnxruntime
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

import kerastrans
from benchmarks.common import RESULTS, median_seconds
from kerastrans import datasets, presets
from kerastrans.data import chronological_split, sliding_windows
from kerastrans.export import export
from kerastrans.utils.environment import environment

PRESETS = ("dlinear_etth1_96", "nhits_nyc_departures_24", "patchtst_etth1_96")
NEW = ("nlinear", "tide", "itransformer", "timemixer", "tsmixer")
BATCHES = (1, 256)
FILES = {"savedmodel": "", "onnx": ".onnx", "litert": ".tflite"}
COLUMNS = ("model", "runtime", "batch", "milliseconds", "times_keras", "kib", "error", "difference")


def runners(folder, write, quantized):
    """Dict of runtime -> (function from histories to the forecast, bytes on disk)."""
    found = {}
    for runtime, suffix in FILES.items():
        path = write(folder / f"model{suffix}")
        found[runtime] = load(runtime, path), size(path)
    for precision in ("float16", "int8") if quantized else ():
        path = write(folder / f"{precision}.tflite", quantize=precision)
        found[f"litert {precision}"] = load("litert", path), size(path)
    return found


def load(runtime, path):
    if runtime == "onnx":
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(path, options)
        return lambda history: session.run(["forecast"], {"history": history})[0]
    if runtime == "litert":
        run = Interpreter(model_path=str(path), num_threads=2).get_signature_runner()
        return lambda history: run(history=history)["forecast"]
    loaded = tf.saved_model.load(str(path))
    serve = loaded.signatures["serving_default"]

    def forecast(history, loaded=loaded):  # its variables live as long as it does
        return serve(history=tf.constant(history))["forecast"].numpy()

    return forecast


def size(path):
    files = [path] if path.is_file() else [x for x in path.rglob("*") if x.is_file()]
    return sum(file.stat().st_size for file in files)


def test_windows(name, context, steps):
    """The first 256 windows of the test part, their targets, and the training rows' deviation."""
    frame = datasets.load(name)
    splits = datasets.info(name).splits
    train, _, test = chronological_split(frame.to_numpy("float32"), splits, context_length=context)
    contexts, targets = sliding_windows(test, context, steps)
    return contexts[:256], targets[:256], train.std(axis=0)


def write_and_measure(forecaster, name, folder, windows, quantized):
    """Return the rows of a forecaster: of Keras in this process, and of its exports."""

    def here(history):
        return forecaster.forecast_histories({"history": history})["forecast"]

    exports = runners(folder, forecaster.export, quantized)
    return measure(name, here, exports, *windows)


def measure(name, here, exports, histories, targets=None, scale=1.0):
    rows, expected = [], here(histories)
    for runtime, (run, num_bytes) in {"keras": (here, None), **exports}.items():
        found = run(histories)
        error = None if targets is None else np.abs((found - targets) / scale).mean()
        for batch in BATCHES:
            x = histories[:batch]
            seconds = median_seconds(lambda run=run, x=x: run(x), 50)
            row = {"model": name, "runtime": runtime, "batch": batch, "milliseconds": 1e3 * seconds}
            row |= {"kib": num_bytes and num_bytes / 1024, "error": error}
            row["difference"] = np.abs(found - expected).max() / np.ptp(expected)
            rows.append(row)
            same = next(r for r in rows if r["runtime"] == "keras" and r["batch"] == batch)
            row["times_keras"] = row["milliseconds"] / same["milliseconds"]
            print(*(f"{v:.4g}" if isinstance(v, float) else v for v in row.values()), flush=True)
    return rows


def main():
    rows = []
    with tempfile.TemporaryDirectory() as parent:
        for name in PRESETS:
            forecaster = presets.load(name)
            size = forecaster.context_length, forecaster.prediction_length
            windows = test_windows(presets.card(name)["data"]["name"], *size)
            folder = Path(parent, name)
            rows += write_and_measure(forecaster, name, folder, windows, quantized=True)
        frame = datasets.load("etth1").iloc[:1000]
        for name in NEW:
            forecaster = kerastrans.Forecaster(name, 96, 96).fit(frame, epochs=0, verbose=0)
            windows = test_windows("etth1", 96, 96)[:1]
            folder = Path(parent, name)
            rows += write_and_measure(forecaster, name, folder, windows, quantized=False)
        keras.utils.set_random_seed(0)
        model = kerastrans.build_transformer_model(
            (96, 7),
            num_heads=4,
            key_dim=16,
            ff_dim=128,
            num_encoder_blocks=2,
            num_decoder_blocks=2,
            d_model=64,
        )
        histories = np.random.default_rng(0).standard_normal((256, 96, 7), "float32")

        def write(path):
            return export(model, path, prediction_length=96)

        exports = runners(Path(parent, "loop"), write, quantized=False)
        name = "encoder-decoder, 96 steps"
        rows += measure(name, lambda x: model.generate(x, 96), exports, histories)
    with (RESULTS / "runtimes.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in rows:
            text = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}
            writer.writerow(text)
    print(environment())


if __name__ == "__main__":
    main()
