"""Train architectures by one protocol, and keep their errors through the test split.

    KERAS_BACKEND=jax python -m benchmarks.accuracy.fair --models dlinear,patchtst --datasets etth1

Context, batches, epochs and schedule are the same for all architectures; sizes are the defaults.
The learning rate is the better of two on the validation split, with the first seed. One row per run
is added to results/fair.csv; runs that are in the table are not run again. fair_report.py makes the
table of docs/comparison.md; its text has the protocol.
"""

import argparse
import time

import keras
import numpy as np

from benchmarks.accuracy.long_horizon import (
    fit,
    load_parts,
    numbers,
    training_rows,
    window_errors,
)
from benchmarks.common import RESULTS, append_row, backend_name, names, read_rows
from kerastrans import datasets, zoo
from kerastrans.layers.frequency.correlation_basis import adapt_layers

CONTEXT = 96
SETTINGS = {"batch_size": 64, "epochs": 10, "patience": 3, "schedule": "cosine"}
RATES = (0.001, 0.01)
NUM_SEEDS = {"baseline": 5, "linear": 5, "mlp": 5}  # of other families: 3
CHUNK = 24  # successive test windows whose errors are averaged
PATH = RESULTS / "fair.csv"
KEY = ("model", "dataset", "horizon", "seed", "learning_rate")
COLUMNS = (
    *KEY,
    "mse",
    "mae",
    "validation_mse",
    "epochs",
    "parameters",
    "seconds",
    "backend",
    "keras",
    "squared_errors",
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=names, default=zoo.names(), help="comma-separated")
    parser.add_argument("--datasets", type=names, default=("etth1",))
    parser.add_argument("--horizons", type=numbers, default=(96,))
    parser.add_argument("--seeds", type=int, help="at most so many seeds")
    options = parser.parse_args()
    for dataset in options.datasets:
        for horizon in options.horizons:
            for model in options.models:
                compare(model, dataset, horizon, options.seeds)


def compare(model, dataset, horizon, most=None):
    """Run what is not in the table yet: both rates with the first seed, the better with others."""
    family, *tags = zoo.info(model).tags
    if "takes heads" not in tags:  # it has no weights
        run_once(model, dataset, horizon, 0, 0.0)
        return
    runs = {rate: run_once(model, dataset, horizon, 0, rate) for rate in RATES}
    best = min(runs, key=lambda rate: float(runs[rate]["validation_mse"]))
    for seed in range(1, min(NUM_SEEDS.get(family, 3), most or 5)):
        run_once(model, dataset, horizon, seed, best)


def run_once(*key):
    """Return the row of a run from the table, or run it and add its row."""
    text = dict(zip(KEY, map(str, key), strict=True))
    for row in read_rows(PATH):
        if {name: row[name] for name in KEY} == text:
            return row
    row = run(*key)
    append_row(PATH, COLUMNS, row, line_end="\n")
    print(*(row[name] for name in (*KEY, "validation_mse", "seconds")), flush=True)
    return row


def run(name, dataset, horizon, seed, rate):
    """Train, choose the epoch on validation, test once: a row of the table."""
    settings = {**SETTINGS, "learning_rate": rate}
    train, validation, test = load_parts(name, dataset, horizon, CONTEXT, settings, seed)
    keras.utils.set_random_seed(seed)
    model = zoo.build(name, CONTEXT, horizon, datasets.info(dataset).channels)
    adapt_layers(model, lambda: [training_rows(dataset)])
    start = time.perf_counter()
    losses = fit(model, train, validation, settings)
    seconds = time.perf_counter() - start
    squared, absolute = window_errors(model, test)
    starts = np.arange(0, len(squared), CHUNK)
    chunks = np.add.reduceat(squared, starts) / np.diff([*starts, len(squared)])
    return {
        **dict(zip(KEY, (name, dataset, horizon, seed, rate), strict=True)),
        "mse": f"{squared.mean():.4f}",
        "mae": f"{absolute.mean():.4f}",
        "validation_mse": f"{min(losses):.4f}" if losses else "",
        "epochs": len(losses),
        "parameters": model.count_params(),
        "seconds": f"{seconds:.1f}",
        "backend": backend_name(),
        "keras": keras.__version__,
        "squared_errors": " ".join(f"{x:.4g}" for x in chunks),
    }


if __name__ == "__main__":
    main()
