"""One accelerator: training, decoding, memory and agreement with the CPU, in each number format.

    python -m benchmarks.speed.gpu            # writes benchmarks/results/gpu-<device>-<backend>.csv
    python -m benchmarks.speed.gpu --quick    # small sizes, printed only: to try it on a CPU

Runs on any backend (KERAS_BACKEND). Every format has a process of its own, so that its peak of
memory is its own. The rate of a training step is counted in the products of its matrices
(3 times those of the forward pass); the share is of what one large product of square matrices
reaches in the same format and process, which is the device's peak in practice.
"""

import argparse
import csv
import json
import subprocess
import sys

import keras
import numpy as np
from keras import ops

import kerastrans
from benchmarks.common import RESULTS, device_name, median_seconds
from kerastrans import precision
from kerastrans.utils.environment import environment

SIZES = {"d_model": 512, "blocks": 4, "context": 512, "steps": 96, "batch": 64, "square": 8192}
QUICK = {"d_model": 32, "blocks": 1, "context": 32, "steps": 8, "batch": 8, "square": 256}
CHANNELS, SEED = 7, 0


def build(size):
    keras.utils.set_random_seed(SEED)
    d_model, blocks = size["d_model"], size["blocks"]
    shape = size["context"], CHANNELS
    return kerastrans.build_transformer_model(
        shape,
        num_heads=8,
        key_dim=d_model // 8,
        ff_dim=4 * d_model,
        num_encoder_blocks=blocks,
        num_decoder_blocks=blocks,
        dropout=0.0,
        d_model=d_model,
    )


def products(size):
    """Multiplications and additions of the matrix products of a forward pass."""
    d, context, steps = size["d_model"], size["context"], size["steps"]
    encoder = context * 12 * d * d + 2 * context * context * d
    decoder = steps * 14 * d * d + context * 2 * d * d + 2 * steps * (steps + context) * d
    return 2 * size["batch"] * size["blocks"] * (encoder + decoder)


def square_rate(side, dtype):
    """Operations a second of one product of square matrices."""
    x = ops.cast(keras.random.normal((side, side), seed=SEED), dtype)
    multiply = kerastrans.utils.compilation.compile_function(ops.matmul, [])
    seconds = median_seconds(lambda: np.asarray(ops.cast(multiply(x, x)[0, 0], "float32")), 20)
    return 2 * side**3 / seconds


def peak_memory():
    """Bytes that the process held at most on the accelerator; None where nothing counts them."""
    if keras.backend.backend() == "jax":
        import jax

        statistics = jax.devices()[0].memory_stats()
        return statistics and statistics["peak_bytes_in_use"]
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        if tf.config.list_physical_devices("GPU"):
            return tf.config.experimental.get_memory_info("GPU:0")["peak"]
        return None
    import torch

    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None


def measure(name, size):
    precision.use(name)
    model = build(size)
    model.compile(keras.optimizers.Adam(1e-4), "mse")
    random = np.random.default_rng(SEED)
    shape = size["batch"], size["context"] + size["steps"], CHANNELS
    series = random.standard_normal(shape).astype("float32")
    context = series[:, : size["context"]]
    inputs = [context, series[:, size["context"] - 1 : -1]]
    targets = series[:, size["context"] :]
    forecast = model.predict_on_batch(inputs)
    weights = model.get_weights()
    step = median_seconds(lambda: float(model.train_on_batch(inputs, targets)), 20)
    model.set_weights(weights)
    decode = median_seconds(lambda: model.generate(context, size["steps"]), 5)
    memory = peak_memory()
    dtype = keras.config.dtype_policy().compute_dtype
    rate, reached = 3 * products(size) / step, square_rate(size["square"], dtype)
    precision.use("float32")
    with keras.device("cpu:0"):
        here = build(size)
        here.set_weights(weights)
        expected = here.predict_on_batch(inputs)
    difference = np.sqrt(np.mean((forecast - expected) ** 2) / np.mean(expected**2))
    return {
        "precision": name,
        "windows_per_second": size["batch"] / step,
        "teraflops": rate / 1e12,
        "share_of_peak": rate / reached,
        "generate_ms": 1e3 * decode,
        "peak_mib": memory and memory / 2**20,
        "difference_from_cpu": float(difference),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--precision", help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = QUICK if options.quick else SIZES
    if options.precision:
        print(json.dumps({"device": device_name(), **measure(options.precision, size)}))
        return
    facts = {"sizes": size, "environment": environment()}
    rows = []
    for name in precision.POLICIES:
        command = [sys.executable, "-m", "benchmarks.speed.gpu", "--precision", name, *sys.argv[1:]]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        row = json.loads(done.stdout.splitlines()[-1])
        # Named by the other process: to ask for it, this one would take memory of the device.
        device = row.pop("device").lower().replace(" ", "-")
        rows.append(row)
        print(row, flush=True)
        if not options.quick:  # what was measured stays if the run is cut off
            path = RESULTS / f"gpu-{device}-{keras.backend.backend()}.csv"
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, rows[0], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
            path.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
