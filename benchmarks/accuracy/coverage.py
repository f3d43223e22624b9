"""Do the intervals of a default `fit` cover what they say, for few and many, short and long series?

60 named cells: a made process, a number of hourly series and rows, and a model that is fitted with
nothing but a `prediction_length` of 12. After each fit, the intervals meet 400 futures that the
process draws after the last row, so that a replicate measures the coverage of its fit without the
noise of a single future; replicates differ in the history and the seed. A cell is replicated until
the standard error of its coverage of 80 % is at most 3 points. kerastrans_zero_2, without training,
is beside each of the processes and sizes.

    python -m benchmarks.accuracy.coverage           # adds to benchmarks/results/coverage.csv
    python -m benchmarks.accuracy.coverage_report    # the table and the picture of docs/coverage.md
"""

import argparse
import time
import warnings
from pathlib import Path

import keras
import numpy as np
import pandas as pd

from benchmarks.common import RESULTS, append_row, names, read_rows
from kerastrans import Forecaster, from_pretrained, heads
from kerastrans.forecasting.training.spread import UnmeasuredSpreadWarning
from kerastrans.models.pretrained.shipped import DEFAULT as ZERO

OUTPUT = RESULTS / "coverage.csv"
HORIZON, SEASON, NUM_FUTURES = 12, 24, 400
STANDARD_ERROR, FEWEST, MOST = 0.03, 5, 60
LEVELS = (80, 95)
COLUMNS = ("process", "series", "rows", "model", "seed", "chosen", "covers-80", "covers-95")
COLUMNS += ("first-80", "last-80", "width", "warned", "spread", "seconds")

PROCESSES = ("ar", "walk", "season", "heavy", "hours", "break", "intermittent", "shocks")
SMALL = {"auto": ((1, 22), (1, 300), (10, 60), (200, 40))}
LARGE = ((1, 300), (1, 1000), (10, 300), (200, 40))
CELLS = [(p, *size, "auto") for p in PROCESSES for size in SMALL["auto"]]
CELLS += [(p, *size, "nlinear") for p in ("ar", "walk", "season", "shocks") for size in LARGE]
CELLS += [(p, *size, "nhits") for p in ("ar", "walk", "hours") for size in LARGE]
BESIDE = sorted({(*cell[:3], ZERO) for cell in CELLS})


def make(process, num_series, rows, rng, num_futures=NUM_FUTURES):
    """Return a history `(rows, num_series)` and futures `(num_futures, HORIZON, num_series)`.

    - "ar": an autoregression of .8 with normal shocks.
    - "walk": a random walk.
    - "season": a sine of 24 hours with an amplitude of 2, and standard normal noise.
    - "heavy": an autoregression of .5 with shocks of Student's t with 3 degrees of freedom.
    - "hours": noise whose standard deviation is 2 by day and .5 by night.
    - "break": an autoregression of .5, six standard deviations higher after 70 % of the history.
    - "intermittent": 1 + Poisson(4) in three of ten hours, otherwise 0.
    - "shocks": random walks whose steps have a correlation of .8 between the series.
    """
    count, steps = 1 + num_futures, rows + HORIZON
    shape = count, steps, num_series  # the history is the same in all draws
    time_of = np.arange(steps)[:, None]
    shocks = rng.standard_normal(shape)
    if process == "heavy":
        shocks = rng.standard_t(3, shape)
    elif process == "shocks":
        shocks = np.sqrt(0.8) * rng.standard_normal((count, steps, 1)) + np.sqrt(0.2) * shocks
    shocks[:, :rows] = shocks[:1, :rows]
    if process in ("walk", "shocks"):
        values = 100 + np.cumsum(shocks, axis=1)
    elif process in ("ar", "heavy", "break"):
        memory = 0.8 if process == "ar" else 0.5
        values = shocks
        values[:, 0] /= np.sqrt(1 - memory**2)
        for step in range(1, steps):
            values[:, step] += memory * values[:, step - 1]
        spread = 1 / np.sqrt(1 - memory**2)
        values = 20 + values + 6 * spread * (process == "break") * (time_of >= 0.7 * rows)
    elif process == "season":
        phases = rng.uniform(0, 2 * np.pi, num_series)
        values = 10 + 2 * np.sin(2 * np.pi * time_of / SEASON + phases) + shocks
    elif process == "hours":
        values = 10 + np.where((time_of % SEASON >= 8) & (time_of % SEASON < 20), 2, 0.5) * shocks
    else:
        values = np.where(rng.random(shape) < 0.3, 1 + rng.poisson(4, shape), 0).astype("float64")
        values[:, :rows] = values[:1, :rows]
    return values[0, :rows], values[1:, rows:]


def long_frame(history):
    """Return a history `(rows, num_series)` as a long frame of hourly series."""
    rows, num_series = history.shape
    return pd.DataFrame(
        {
            "unique_id": np.repeat([f"s{i:03}" for i in range(num_series)], rows),
            "ds": np.tile(pd.date_range("2024-01-01", periods=rows, freq="h"), num_series),
            "y": history.T.ravel(),
        }
    )


def fit(model, frame, seed):
    """Return a forecaster, and whether `fit` warned that its intervals are not measured."""
    if model == ZERO:
        return from_pretrained(ZERO, HORIZON, freq="h"), False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forecaster = Forecaster(model, prediction_length=HORIZON, seed=seed)
        forecaster.fit(frame, verbose=0)
    return forecaster, any(issubclass(x.category, UnmeasuredSpreadWarning) for x in caught)


def measure(process, num_series, rows, model, seed):
    """Return the row of one replicate."""
    rng = np.random.default_rng([PROCESSES.index(process), num_series, rows, seed])
    history, futures = make(process, num_series, rows, rng)
    frame = long_frame(history)
    started = time.perf_counter()
    forecaster, warned = fit(model, frame, seed)
    seconds = time.perf_counter() - started
    forecast = forecaster.predict(frame, levels=LEVELS)
    row = {"process": process, "series": num_series, "rows": rows, "model": model, "seed": seed}
    row |= {"chosen": forecaster.fitted.config.name, "warned": int(warned)}
    for level in LEVELS:
        ends = [
            forecast[f"{forecaster.alias}-{end}-{level}"].to_numpy().reshape(num_series, HORIZON).T
            for end in ("lo", "hi")
        ]
        covered = ((futures >= ends[0]) & (futures <= ends[1])).mean(axis=(0, 2))
        row[f"covers-{level}"] = round(covered.mean(), 4)
        if level == 80:
            row |= {"first-80": round(covered[0], 4), "last-80": round(covered[-1], 4)}
            ideal = np.diff(np.quantile(futures, (0.1, 0.9), axis=0), axis=0)[0]
            row["width"] = round((ends[1] - ends[0]).mean() / ideal.mean(), 4)
    spread = np.mean(heads.of(forecaster.model).spread)
    return row | {"spread": round(spread, 4), "seconds": round(seconds, 2)}


def is_enough(values):
    """Return whether these shares of replicates have a standard error of at most 3 points."""
    if len(values) < FEWEST:
        return False
    return len(values) >= MOST or np.std(values, ddof=1) / len(values) ** 0.5 <= STANDARD_ERROR


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=names, default=("auto", "nlinear", "nhits", ZERO))
    parser.add_argument("--processes", type=names, default=PROCESSES)
    parser.add_argument("--sizes", type=names, help="such as 1x22,10x60; by default all")
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    chosen = [
        cell
        for cell in CELLS + BESIDE
        if cell[3] in options.models
        and cell[0] in options.processes
        and (options.sizes is None or f"{cell[1]}x{cell[2]}" in options.sizes)
    ]
    for seed in range(options.most):
        for cell in chosen:
            key = tuple(map(str, cell))
            done = [x for x in read_rows(options.output) if tuple(x.values())[:4] == key]
            is_done = any(row["seed"] == str(seed) for row in done)
            if is_done or is_enough([float(row["covers-80"]) for row in done]):
                continue
            keras.utils.clear_session()
            row = measure(*cell, seed)
            append_row(options.output, COLUMNS, row, line_end="\n")
            print(*(f"{row[name]}" for name in COLUMNS), flush=True)


if __name__ == "__main__":
    main()
