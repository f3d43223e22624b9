"""Forecast published tasks by their protocols, and score as they do.

    python -m benchmarks.accuracy.tasks --models seasonal_naive,default --tasks ETT_1H,epf_np

A model is trained once, on the rows before the first test window, and forecasts all windows. One
row a task, model and seed is added to results/tasks.csv; what is there is not run again.
`--validation` forecasts the windows before those of the test instead, and trains on what lies
before them: settings are chosen there, and written to results/tasks-validation.csv. `--earlier 2`
takes windows that end twice as many steps before. `--options '{"patch_length": 16}'` gives a model
other arguments than its defaults.
"""

import argparse
import json
import time
import warnings
from dataclasses import replace
from pathlib import Path

import keras
import numpy as np
import pandas as pd

from benchmarks.accuracy.task_list import TASKS, split
from benchmarks.accuracy.task_models import MODELS
from benchmarks.common import RESULTS, append_row, keys_of, names
from kerastrans import backtesting, heads

LEVELS = [20, 40, 60, 80, 95]
KEY = ("task", "model", "seed")
SCORES = ("mase", "sql", "wql", "smape", "mape", "mae", "msis-95", "coverage-80", "coverage-95")
COLUMNS = (*KEY, *SCORES, "settings", "fit_seconds", "forecast_seconds", "backend", "keras")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=names, required=True, help="comma-separated")
    parser.add_argument("--tasks", type=names, default=tuple(TASKS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=900, help="of a training, seconds")
    parser.add_argument("--validation", action="store_true", help="leave the test windows unread")
    parser.add_argument("--earlier", type=int, default=0, help="blocks of windows, for validation")
    parser.add_argument("--options", type=json.loads, default={}, help="of the models, as JSON")
    parser.add_argument("--output", type=Path, help="default: results/tasks[-validation].csv")
    options = parser.parse_args()
    if options.earlier and not options.validation:
        parser.error("--earlier requires --validation")
    file = "tasks-validation.csv" if options.validation else "tasks.csv"
    suffix = f" -{options.earlier}" if options.earlier else ""
    path = options.output or RESULTS / file
    for task in options.tasks:
        for model in options.models:
            variant = " ".join([model, *(f"{k}={v}" for k, v in options.options.items())])
            if (task + suffix, variant, str(options.seed)) in keys_of(path, KEY):
                continue
            blocks = options.earlier + options.validation
            arguments = model, options.seed, options.time_limit, blocks
            row = run(TASKS[task], *arguments, **options.options)
            row |= {"task": task + suffix, "model": variant}
            append_row(path, COLUMNS, row)
            print(*(f"{row[name]}" for name in COLUMNS[:-2]), flush=True)


def run(task, model, seed, time_limit, blocks=0, **options):
    """Train, forecast and score: a row of the table.

    Args:
        task: `Task`.
        model: Name of one of `MODELS`.
        seed: int.
        time_limit: float, seconds of a training.
        blocks: int, number of blocks of windows that are left unread at the end of each series.
        **options: Arguments of the forecaster.
    """
    frame = task.load()
    if blocks:
        frame, _ = split(frame, blocks * task.horizon * task.windows)
        shortest = frame.groupby("unique_id").size().min()
        task = replace(task, windows=min(task.windows, max(1, shortest // (3 * task.horizon))))
    train, _ = split(frame, task.horizon * task.windows)
    start = time.perf_counter()
    forecaster, settings = MODELS[model](task, train, seed, time_limit=time_limit, **options)
    fitted = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        points = isinstance(heads.of(forecaster.model), heads.PointHead)
        levels = None if points else LEVELS
        rows = forecaster.backtest(frame, windows=task.windows, step=task.horizon, levels=levels)
    median = f"{forecaster.alias}-median"
    if median in rows:  # the point of samples is their mean; absolute errors ask for the median
        rows = rows.assign(**{forecaster.alias: rows[median]}).drop(columns=median)
    forecast = time.perf_counter()
    scores = score(rows, frame, task)
    return {
        "task": task.name,
        "model": model,
        "seed": seed,
        **{name: f"{scores[name]:.4f}" if name in scores else "" for name in SCORES},
        "settings": settings,
        "fit_seconds": f"{fitted - start:.1f}",
        "forecast_seconds": f"{forecast - fitted:.1f}",
        "backend": keras.backend.backend(),
        "keras": keras.__version__,
    }


def score(rows, frame, task):
    """Means over the windows of the scores of each, its scale by the rows before its cutoff."""
    order = rows.groupby("unique_id")["cutoff"].rank("dense").astype(int)
    tables = []
    for window in range(1, task.windows + 1):
        part = rows[order == window]
        ends = frame["unique_id"].map(part.groupby("unique_id")["cutoff"].first())
        past = frame.loc[frame["ds"] <= ends, ["unique_id", "ds", "y"]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            tables.append(backtesting.score(part, past, season=task.season))
    table = pd.concat(tables)
    return table.replace([np.inf, -np.inf], np.nan).mean().to_dict()


if __name__ == "__main__":
    main()
