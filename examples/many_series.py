"""
Title: 50,000 series on one machine
Author: The kerastrans contributors
Date created: 2026/11/23
Last modified: 2026/11/23
Description: Train one model on a folder of Parquet files, with one file at a time in memory.
Accelerator: None
"""

"""
## Introduction

A shop has more series than rows in each of them. One model per series would take days to train and
learn little. A single model for all series takes minutes, and can forecast a series that began last
week. This example creates 50,000 daily series of sales, trains one model on them, and forecasts
them all, with one file at a time in memory.

It requires Parquet: `pip install ".[scale]"`. All series are synthetic, so the scores do
not show how accurate the model is on your data.
"""

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans import Forecaster, backtesting

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # smaller sizes for the tests
NUM_FILES, SERIES_PER_FILE = (3, 60) if SMALL else (50, 1000)
DAYS, CONTEXT, STEPS = 120, 56, 14
FOLDER = Path("sales")


def make_sales(number):
    """Return the long frame of one file; each series has a weekly wave, a level and a trend."""
    random = np.random.default_rng(number)
    days = np.arange(DAYS)
    level = random.lognormal(3, 1, (SERIES_PER_FILE, 1))
    week = 1 + 0.4 * np.sin(2 * np.pi * days / 7 + random.uniform(0, 6, (SERIES_PER_FILE, 1)))
    trend = 1 + random.normal(0, 0.002, (SERIES_PER_FILE, 1)) * days
    sales = random.poisson(level * week * trend.clip(0.1))
    names = [f"item-{number * SERIES_PER_FILE + i:05}" for i in range(SERIES_PER_FILE)]
    times = pd.date_range("2026-01-01", periods=DAYS, freq="D")
    columns = {"unique_id": np.repeat(names, DAYS), "ds": np.tile(times, SERIES_PER_FILE)}
    return pd.DataFrame({**columns, "y": sales.ravel().astype("float32")})


"""
## A folder of files

Each file contains complete series. Batches are drawn from one file at a time, so each file should
contain a mixture of series. The last two weeks are held out for the test: the training files end
before them.
"""

train_folder, whole_folder = FOLDER / "train", FOLDER / "whole"
for folder in (train_folder, whole_folder):
    folder.mkdir(parents=True, exist_ok=True)
for number in range(NUM_FILES):
    frame = make_sales(number)
    frame.to_parquet(whole_folder / f"part-{number:03}.parquet")
    cut = frame["ds"].max() - pd.Timedelta(days=STEPS)
    frame[frame["ds"] <= cut].to_parquet(train_folder / f"part-{number:03}.parquet")
print(f"{NUM_FILES * SERIES_PER_FILE:,} series in {NUM_FILES} files")

"""
## One model

`fit` takes the path of the folder. Every window is scaled by its context, so that one network can
learn from an item that sells 3 a day and from one that sells 3,000. Every seventh window is enough,
because neighbouring windows differ by a single day.
"""

started = time.perf_counter()
forecaster = Forecaster("nlinear", CONTEXT, STEPS)
forecaster.fit(train_folder, epochs=1 if SMALL else 3, stride=7, batch_size=256, verbose=0)
print(f"trained in {time.perf_counter() - started:.0f} s")

"""
## All forecasts

The files are forecast one by one, and each forecast is written as soon as it is computed. To use
several machines, or to resume an interrupted run, see `kerastrans.scale.forecast_partitions`, which
uses Ray.
"""

forecast_folder = FOLDER / "forecasts"
forecast_folder.mkdir(exist_ok=True)
started = time.perf_counter()
for path in sorted(whole_folder.glob("*.parquet")):
    forecaster.predict(pd.read_parquet(path)).to_parquet(forecast_folder / path.name)
seconds = time.perf_counter() - started
rate = NUM_FILES * SERIES_PER_FILE / seconds
print(f"forecast in {seconds:.0f} s, {rate:,.0f} series per second")

"""
## How good are the forecasts?

The baseline repeats the same day of the last week. A tenth of the files is enough for the
comparison.
"""

sample = pd.concat(
    map(pd.read_parquet, sorted(whole_folder.glob("*.parquet"))[: max(1, NUM_FILES // 10)])
)
naive = Forecaster("seasonal_naive", CONTEXT, STEPS, season=7, head="point").fit(sample)
for model in (forecaster, naive):
    score = backtesting.score(model.backtest(sample, windows=1)).iloc[0]
    print(f"{model.alias}: MAE {score['mae']:.2f}")

"""
## Conclusions

Training time grows with the number of windows, not of series, and memory with the largest file. For
more than some millions of series see [forecasting with Ray](../docs/scale.md).
"""
