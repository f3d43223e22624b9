"""How long a training step of every architecture takes by default, and how it grows.

    KERAS_BACKEND=jax python -m benchmarks.speed.default_sizes  # writes results/default_sizes.csv
    KERAS_BACKEND=jax python -m benchmarks.speed.default_sizes --size paper --steps 1

Each cell is a process of its own with a limit of two minutes (`--limit`): builds the model,
compiles the step and takes the median of the next five, batch 32, 96 steps ahead. Cells that stand
in the table are not measured again. With `--size paper`, those are measured whose paper has another
size than the defaults, in results/paper_sizes.csv; with `--steps 1`, only the first step and its
memory.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.common import RESULTS, append_row, keys_of
from kerastrans import zoo

PATH = RESULTS / "default_sizes.csv"
PAPER_PATH = RESULTS / "paper_sizes.csv"
SIZES = ((96, 7), (336, 7), (1440, 7), (96, 100))
KEY = ("model", "context_length", "num_channels")
COLUMNS = (*KEY, "step_ms", "first_step_s", "peak_mb", "weights")
LIMIT = 120  # seconds of a cell
BATCH, HORIZON = 32, 96


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", help="comma-separated; all with weights by default")
    parser.add_argument("--size", default="laptop", help="laptop (the default) or paper")
    parser.add_argument("--steps", type=int, default=6, help="training steps, the first compiles")
    parser.add_argument("--limit", type=int, default=LIMIT, help="seconds of a cell")
    parser.add_argument("--cell", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.cell:
        name, *lengths = options.cell
        print(",".join(map(str, measure(name, *map(int, lengths), options.size, options.steps))))
        return
    path = options.output or (PATH if options.size == "laptop" else PAPER_PATH)
    names = options.models.split(",") if options.models else zoo.names()
    for lengths in SIZES:
        for name in names:
            if zoo.info(name).tags[0] == "baseline":
                continue
            if options.size == "paper" and not zoo.info(name).paper:
                continue
            key = (name, *map(str, lengths))
            if key not in keys_of(path, KEY):
                row = [*key, *cell(key, options)]
                append_row(path, COLUMNS, dict(zip(COLUMNS, row, strict=True)))
                print(*row, flush=True)


def cell(key, options):
    """Figures of one cell, measured in a process of its own; empty where they take too long."""
    module = "benchmarks.speed.default_sizes"
    more = ["--size", options.size, "--steps", str(options.steps)]
    command = [sys.executable, "-m", module, *more, "--cell", *key]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        return [f"over {options.limit} s", "", "", ""]
    if result.returncode:
        return [(result.stderr.strip().splitlines() or ["killed"])[-1][:80], "", "", ""]
    return result.stdout.strip().splitlines()[-1].split(",")


def measure(name, context_length, num_channels, size="laptop", steps=6):
    """Median step in ms, first step in s, peak memory in MB, number of weights."""
    import numpy as np

    options = {"head": "student_t"} if name in zoo.names("autoregressive") else {}
    model = zoo.build(name, context_length, HORIZON, num_channels, size=size, **options)
    from kerastrans import heads

    model.compile("adam", heads.of(model).loss() if options else "mse")
    rng = np.random.default_rng(0)
    shapes = {x.name: (BATCH, *(size or HORIZON for size in x.shape[1:])) for x in model.inputs}
    inputs = {
        key: np.arange(BATCH) if key == "position" else rng.normal(size=shape).astype("float32")
        for key, shape in shapes.items()
    }
    inputs = inputs if len(inputs) > 1 else next(iter(inputs.values()))
    targets = rng.normal(size=(BATCH, HORIZON, num_channels)).astype("float32")
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        model.train_on_batch(inputs, targets)
        times.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    step = f"{1000 * statistics.median(times[1:]):.1f}" if steps > 1 else ""
    return step, f"{times[0]:.1f}", peak, model.count_params()


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    main()
