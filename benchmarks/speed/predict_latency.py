"""How long one forecast of one fitted series takes, frame in, frame out, beside neuralforecast.

2,000 hourly rows, context 96, 24 steps, warm; ours and the bare compiled Keras model by turns, then
the peer in a process of its own, then ours again; medians.

    pip install -e ".[jax,benchmarks]"
    python -m benchmarks.speed.predict_latency     # writes results/predict_latency-<backend>.csv
"""

import csv
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import keras
import numpy as np

from benchmarks.accuracy.forecaster import CONTEXT, HORIZON, HYPERPARAMETERS, QUANTILES, load
from benchmarks.common import RESULTS
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.heads import QuantileHead

ROUNDS, WARM = 50, 5
COLUMNS = ["model", "ours_ms", "keras_ms", "overhead_ms", "peer_ms", "ratio"]


def timed(function):
    started = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - started)


def measure(name, frame):
    """Medians in milliseconds, and the ratio of ours to the peer's."""
    head = QuantileHead(QUANTILES)
    ours = Forecaster(name, CONTEXT, HORIZON, head=head, **HYPERPARAMETERS[name])
    ours.fit(frame, epochs=1, steps_per_epoch=2, verbose=0)
    window = np.zeros((1, CONTEXT, 1), "float32")
    whole, bare = [], []

    def turns():
        for i in range(WARM + ROUNDS):
            times = (
                timed(lambda: ours.predict(frame, levels=(50, 80))),
                timed(lambda: ours.model.predict_on_batch(window)),
            )
            if i >= WARM:
                whole.append(times[0])
                bare.append(times[1])

    turns()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "frame.pickle")
        frame.to_pickle(path)
        peer = "benchmarks.accuracy.forecaster_peer"
        done = subprocess.run(
            [sys.executable, "-m", peer, "latency", name, path],
            capture_output=True,
            text=True,
            check=True,
        )
    turns()
    ours_ms, keras_ms = statistics.median(whole), statistics.median(bare)
    peer_ms = json.loads(done.stdout.splitlines()[-1])
    return {
        "model": name,
        "ours_ms": ours_ms,
        "keras_ms": keras_ms,
        "overhead_ms": ours_ms - keras_ms,
        "peer_ms": peer_ms,
        "ratio": ours_ms / peer_ms,
    }


def main():
    frame = load()
    frame = frame[frame["unique_id"] == "OT"].tail(2000).reset_index(drop=True)
    path = RESULTS / f"predict_latency-{keras.backend.backend()}.csv"
    rows = [measure(name, frame) for name in ("patchtst", "nhits")]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in rows:
            print(row)
            writer.writerow({k: f"{v:.3f}" if isinstance(v, float) else v for k, v in row.items()})


if __name__ == "__main__":
    main()
