"""N-HiTS as its paper trained it: ten settings for each horizon, chosen on validation.

    python -m benchmarks.accuracy.nhits_search --datasets illness,exchange_rate

One row a setting is added to results/nhits_search.csv; those that stand there are not trained
again. The setting with the least validation MAE becomes a row of results/long_horizon.csv. Its
epochs are of 50 steps. benchmarks/README.md says what differs from the authors' code.

Source: Challu et al. (2023), N-HiTS, and nhits_multivariate.py of cchallu/n-hits (d882ee6).
"""

import argparse
import itertools
import random
import time
from pathlib import Path

import keras
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.accuracy import long_horizon
from benchmarks.common import RESULTS, append_row, backend_name, names, read_rows
from kerastrans import zoo
from kerastrans.models.architecture import HORIZONS, HORIZONS_OF

POOL_SIZES = ((1, 1, 1), (2, 2, 2), (4, 4, 4), (8, 8, 8), (8, 4, 1), (16, 8, 1))
DOWNSAMPLING = ((168, 24, 1), (24, 12, 1), (180, 60, 1), (60, 8, 1), (40, 20, 1))
TRIALS = 10
STEPS, BATCH_SIZE, RATE = 1000, 256, 0.001
CONTEXT = 5  # times the horizon
KEY = ("dataset", "horizon", "seed", "trial")
COLUMNS = (
    *KEY,
    "pool_sizes",
    "downsampling",
    "weights_seed",
    "validation_mae",
    "validation_mse",
    "mse",
    "mae",
    "parameters",
    "seconds",
    "backend",
    "keras",
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=names, default=("illness", "exchange_rate"))
    parser.add_argument("--horizons", type=long_horizon.numbers)
    parser.add_argument("--seed", type=int, default=2021, help="of the choice of settings")
    parser.add_argument("--trials", type=Path, default=RESULTS / "nhits_search.csv")
    parser.add_argument("--output", type=Path, default=RESULTS / "long_horizon.csv")
    options = parser.parse_args()

    for dataset in options.datasets:
        for horizon in options.horizons or HORIZONS_OF.get(dataset, HORIZONS):
            search(dataset, horizon, options.seed, options.trials, options.output)


def search(dataset, horizon, seed, trials, output):
    """Train the settings that do not stand in `trials`, and add the best one to `output`."""
    parts = load_parts(dataset, horizon)
    for trial, setting in enumerate(draw_settings(seed)):
        key = (dataset, horizon, seed, trial)
        if not _rows_of(trials, key):
            row = dict(zip(KEY, key, strict=True)) | run(parts, horizon, *setting)
            append_row(trials, COLUMNS, row, line_end="\n")
            print(*row.values(), flush=True)
    key = ("nhits", dataset, horizon, CONTEXT * horizon, seed)
    if tuple(map(str, key)) not in long_horizon.done(output):
        best = choose(_rows_of(trials, (dataset, horizon, seed)))
        row = dict.fromkeys(long_horizon.COLUMNS) | best | {"model": "nhits"}
        row |= {"context_length": CONTEXT * horizon, "best_epoch": STEPS // 50}
        row["epochs"] = row["best_epoch"]
        long_horizon.append(output, {name: row[name] for name in long_horizon.COLUMNS})


def choose(rows):
    """The row with the least validation MAE."""
    return min(rows, key=lambda row: float(row["validation_mae"]))


def draw_settings(seed):
    """Ten settings of the space of the paper: pool sizes, downsampling, seed of the weights."""
    generator = random.Random(seed)
    space = list(itertools.product(POOL_SIZES, DOWNSAMPLING))
    return [(*setting, generator.randint(1, 10)) for setting in generator.sample(space, TRIALS)]


def load_parts(dataset, horizon):
    """Windows of training, validation and test rows `(windows, channels, context + horizon)`."""
    context = CONTEXT * horizon
    return [
        sliding_window_view(part.astype("float32"), context + horizon, axis=0)
        for part in long_horizon.standardised_rows(dataset, context)
    ]


def run(parts, horizon, pool_sizes, downsampling, seed):
    """Train one setting; returns its errors on validation and on test windows."""
    keras.utils.set_random_seed(seed)
    model = zoo.build(
        "nhits",
        CONTEXT * horizon,
        horizon,
        1,  # all channels share the weights, and a batch has one channel
        pool_sizes=pool_sizes,
        downsampling=downsampling,
        hidden_dim=512,
        num_layers=2,
    )
    rate = keras.optimizers.schedules.ExponentialDecay(RATE, STEPS // 3, 0.5, staircase=True)
    model.compile(keras.optimizers.Adam(rate, epsilon=1e-8), "mae")
    start = time.perf_counter()
    train(model, parts[0], horizon, np.random.default_rng(seed))
    seconds = time.perf_counter() - start
    validation, test = (errors(model, part, horizon) for part in parts[1:])
    return {
        "pool_sizes": " ".join(map(str, pool_sizes)),
        "downsampling": " ".join(map(str, downsampling)),
        "weights_seed": seed,
        "validation_mse": f"{validation[0]:.4f}",
        "validation_mae": f"{validation[1]:.4f}",
        "mse": f"{test[0]:.4f}",
        "mae": f"{test[1]:.4f}",
        "parameters": model.count_params(),
        "seconds": f"{seconds:.1f}",
        "backend": backend_name(),
        "keras": keras.__version__,
    }


def train(model, windows, horizon, generator):
    """Train on batches of random windows of one channel; the channels take turns, shuffled."""
    order = []
    for _ in range(STEPS):
        order = order or list(generator.permutation(windows.shape[1]))
        chosen = generator.choice(len(windows), BATCH_SIZE, replace=len(windows) < BATCH_SIZE)
        batch = windows[chosen, order.pop()][..., None]
        model.train_on_batch(batch[:, :-horizon], batch[:, -horizon:])


def errors(model, windows, horizon):
    """MSE and MAE over all windows, steps and channels."""
    starts = range(0, len(windows), BATCH_SIZE)
    batches = (
        windows[start : start + BATCH_SIZE].reshape(-1, windows.shape[-1], 1) for start in starts
    )
    return long_horizon.test_errors(
        model, ((batch[:, :-horizon], batch[:, -horizon:]) for batch in batches)
    )


def _rows_of(path, key):
    """The rows of a table whose first columns are those of the key."""
    key = tuple(map(str, key))
    return [row for row in read_rows(path) if tuple(row.values())[: len(key)] == key]


if __name__ == "__main__":
    main()
