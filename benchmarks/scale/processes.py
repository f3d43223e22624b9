"""One and two processes on this machine: forecasting partitions on Ray, and training together.

    python -m benchmarks.scale.processes    # writes benchmarks/results/scale.json

Ray: 24 files of 250 hourly series of 500 steps, forecast 24 ahead by the preset of N-HiTS's size
trained on single series; rates count whole files, reading and writing included, after a first run
that loads the workers. Training: one step of PatchTST at batch 128 on JAX, the batch cut over the
processes, medians.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.common import RESULTS

FILES, SERIES, LENGTH, WORKERS = 24, 250, 500, (1, 2)
STEPS, BATCH = 12, 128


def write_source(folder, files, seed=0):
    folder.mkdir()
    times = np.tile(pd.date_range("2022-01-01", periods=LENGTH, freq="h"), SERIES)
    random = np.random.default_rng(seed)
    for number in range(files):
        names = np.repeat([f"s{number}-{i}" for i in range(SERIES)], LENGTH)
        values = 50 + 10 * random.standard_normal(SERIES * LENGTH).astype("float32")
        frame = pd.DataFrame({"unique_id": names, "ds": times, "y": values})
        frame.to_parquet(folder / f"{number}.parquet")


def forecast_rates():
    import ray

    from kerastrans import Forecaster
    from kerastrans.forecasting.partitions import forecast_partitions

    rates = {}
    with tempfile.TemporaryDirectory() as parent:
        parent = Path(parent)
        write_source(parent / "source", FILES)
        write_source(parent / "first", 2 * max(WORKERS))
        frame = pd.read_parquet(parent / "source" / "0.parquet")
        forecaster = Forecaster("nhits", 168, 24, hidden_dim=96)
        forecaster.fit(frame, epochs=1, steps_per_epoch=5, verbose=0).save(parent / "trained")
        for workers in WORKERS:
            ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
            arguments = parent / "trained", parent / "first", parent / f"first-{workers}"
            forecast_partitions(*arguments, num_workers=workers)
            started = time.perf_counter()
            arguments = parent / "trained", parent / "source", parent / f"out-{workers}"
            found = forecast_partitions(*arguments, num_workers=workers)
            rates[workers] = found["series"] / (time.perf_counter() - started)
            ray.shutdown()
            print(workers, "workers:", rates[workers], "series a second", flush=True)
    return rates


def train(count, number, address):
    """Milliseconds of a training step, in one of `count` processes."""
    import jax
    import keras

    if count > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        keras.distribution.initialize(address, count, number)
    from kerastrans import zoo
    from kerastrans.data import window_dataset
    from kerastrans.utils.distribution import distribute

    values = np.random.default_rng(0).standard_normal((BATCH * STEPS + 431, 7))
    batches = window_dataset(values, 336, 96, batch_size=BATCH, shuffle=True, seed=0)
    times = []

    class Clock(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            times.append(time.perf_counter())

    with distribute("data"):
        model = zoo.build("patchtst", 336, 96, 7)
        model.compile("adam", "mse")
        model.fit(batches, epochs=2, shuffle=False, verbose=0, callbacks=[Clock()])
    return 1e3 * float(np.median(np.diff(times[STEPS:])))


def train_together(count):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "benchmarks.scale.processes", "train", str(count)]
    # One core each: a process alone would take both.
    starts = [
        subprocess.Popen(
            ["taskset", "-c", str(i), *command, str(i), address],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "KERAS_BACKEND": "jax"},
        )
        for i in range(count)
    ]
    found = [float(process.communicate()[0].splitlines()[-1]) for process in starts]
    print(count, "processes:", found, "ms a step", flush=True)
    return found[0]


def main():
    if sys.argv[1:2] == ["train"]:
        count, number, address = sys.argv[2:]
        print(train(int(count), int(number), address))
        return
    from kerastrans.utils.environment import environment

    training = {count: train_together(count) for count in (1, 2)}
    found = {
        "forecast_series_per_second": forecast_rates(),
        "training_step_ms": training,
        "environment": environment(),
    }
    (RESULTS / "scale.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
