"""CPU seconds of this checkout and of another one, by turns.

    git worktree add ../before d1d7315
    KERAS_BACKEND=jax python -m benchmarks.speed.checkouts ../before --rounds 9

Writes benchmarks/results/checkouts.csv: the median of each task, and the ratio of both.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pandas as pd

from benchmarks.common import RESULTS

ROOT = Path(__file__).parents[2]

# Each task prepares `run`, which is called once to compile and then timed.
SETUP = """
import json, sys, time
import numpy as np, pandas as pd

def long_frame(count, length):
    rng = np.random.default_rng(0)
    y = 50 + 10 * np.sin(np.arange(length) / 3) + rng.normal(size=(count, length))
    times = pd.date_range("2024-01-01", periods=length)
    names = np.repeat([f"s{i}" for i in range(count)], length)
    return pd.DataFrame({"unique_id": names, "ds": np.tile(times, count), "y": y.ravel()})

def timed(run, times):
    run()
    begin = time.process_time()
    for _ in range(times):
        run()
    print(json.dumps((time.process_time() - begin) / times))
"""
TASKS = {
    "import": """
begin = time.process_time()
import kerastrans
kerastrans.Forecaster
print(json.dumps(time.process_time() - begin))
""",
    "predict, one series": """
import kerastrans
frame = long_frame(1, 200)
forecaster = kerastrans.Forecaster("nhits", 56, 14).fit(frame, epochs=1, verbose=0)
timed(lambda: forecaster.predict(frame), 30)
""",
    "predict, 50,000 series": """
import kerastrans
frame = long_frame(50_000, 60)
forecaster = kerastrans.Forecaster("rlinear", 28, 7).fit(frame[:6000], epochs=1, verbose=0)
timed(lambda: forecaster.predict(frame), 1)
""",
    "fit, one epoch of 200 series": """
import kerastrans
frame = long_frame(200, 120)
forecaster = kerastrans.Forecaster("nhits", 28, 7).fit(frame, epochs=1, verbose=0)
timed(lambda: forecaster.fit(frame, epochs=1, verbose=0), 1)
""",
    "generate, 96 steps": """
import kerastrans
model = kerastrans.build_transformer_model(
    (48, 1),
    d_model=16,
    num_heads=2,
    key_dim=8,
    ff_dim=32,
    num_encoder_blocks=2,
    num_decoder_blocks=1,
)
history = np.random.default_rng(0).normal(size=(1, 48, 1)).astype("float32")
timed(lambda: kerastrans.generate(model, history, 96), 50)
""",
    "first forecast of kerastrans_zero_2": """
import kerastrans
frame = long_frame(1, 100)
begin = time.process_time()
kerastrans.from_pretrained("kerastrans_zero_2", 12, verbose=False).predict(frame)
print(json.dumps(time.process_time() - begin))
""",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="other checkout")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=TASKS)
    options = parser.parse_args()
    rows = []
    for task in options.tasks:
        seconds = {"before": [], "after": []}
        for number in range(options.rounds):
            turns = [("before", options.before), ("after", ROOT)]
            for name, checkout in turns[:: 1 if number % 2 else -1]:
                seconds[name].append(measure(checkout.resolve(), task))
        medians = {name: statistics.median(values) for name, values in seconds.items()}
        rows.append({"task": task, **medians, "ratio": medians["after"] / medians["before"]})
        print(rows[-1], flush=True)
    table = pd.DataFrame(rows)
    table["backend"] = os.environ.get("KERAS_BACKEND", "")
    table.to_csv(RESULTS / "checkouts.csv", index=False, float_format="%.4g")


def measure(checkout, task):
    """Return the CPU seconds of a task in a new process."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-c", SETUP + TASKS[task]]
    done = subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    main()
