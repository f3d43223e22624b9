"""
Title: 50,000 series on one machine
Author: The kerastrans contributors
Date created: 2026/11/23
Last modified: 2026/11/23
Description: One model over a folder of Parquet files, of which one at a time is in memory.
Accelerator: None
"""

"""
## Introduction

A shop has more series than rows in each of them. A model for each would take days and learn
little; one model for all takes minutes, and forecasts a series that began last week. This example
makes 50,000 daily series of sales, trains one model on them, and forecasts them all, with memory
for one file at a time.

It needs Parquet: `pip install "kerastrans[scale]"`. All series are made here, and say nothing
about how accurate the model is on yours.
"""

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans import Forecaster, backtesting

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # as the tests run it
FILES, SERIES_A_FILE = (3, 60) if SMALL else (50, 1000)
DAYS, CONTEXT, STEPS = 120, 56, 14
FOLDER = Path("sales")


def made_sales(number):
    """Long frame of one file: a weekly wave, a level and a trend of its own in each series."""
    random = np.random.default_rng(number)
    days = np.arange(DAYS)
    level = random.lognormal(3, 1, (SERIES_A_FILE, 1))
    week = 1 + 0.4 * np.sin(2 * np.pi * days / 7 + random.uniform(0, 6, (SERIES_A_FILE, 1)))
    trend = 1 + random.normal(0, 0.002, (SERIES_A_FILE, 1)) * days
    sales = random.poisson(level * week * trend.clip(0.1))
    names = [f"item-{number * SERIES_A_FILE + i:05}" for i in range(SERIES_A_FILE)]
    times = pd.date_range("2026-01-01", periods=DAYS, freq="D")
    columns = {"unique_id": np.repeat(names, DAYS), "ds": np.tile(times, SERIES_A_FILE)}
    return pd.DataFrame({**columns, "y": sales.ravel().astype("float32")})


"""
## A folder of files

Each file holds whole series, and a mixture of them: batches are drawn file by file. The last two
weeks are held back in a folder of their own for the test.
"""

train_folder, whole_folder = FOLDER / "train", FOLDER / "whole"
for folder in (train_folder, whole_folder):
    folder.mkdir(parents=True, exist_ok=True)
for number in range(FILES):
    frame = made_sales(number)
    frame.to_parquet(whole_folder / f"part-{number:03}.parquet")
    cut = frame["ds"].max() - pd.Timedelta(days=STEPS)
    frame[frame["ds"] <= cut].to_parquet(train_folder / f"part-{number:03}.parquet")
print(f"{FILES * SERIES_A_FILE:,} series in {FILES} files")

"""
## One model

`fit` takes the folder's name. Every window is scaled by its own context, so that the item that
sells 3 a day and the one that sells 3,000 teach the same network. One window in seven is enough:
neighbours differ by a day.
"""

started = time.perf_counter()
forecaster = Forecaster("nlinear", CONTEXT, STEPS)
forecaster.fit(train_folder, epochs=1 if SMALL else 3, stride=7, batch_size=256, verbose=0)
print(f"trained in {time.perf_counter() - started:.0f} s")

"""
## Every forecast

File by file, each written as soon as it is made: what is interrupted goes on where it stopped. On
several machines `kerastrans.scale.forecast_partitions` does the same with Ray.
"""

forecast_folder = FOLDER / "forecasts"
forecast_folder.mkdir(exist_ok=True)
started = time.perf_counter()
for path in sorted(whole_folder.glob("*.parquet")):
    forecaster.predict(pd.read_parquet(path)).to_parquet(forecast_folder / path.name)
seconds = time.perf_counter() - started
print(f"forecast in {seconds:.0f} s, {FILES * SERIES_A_FILE / seconds:,.0f} series a second")

"""
## How good?

The same day of the last week is the yardstick. A tenth of the files says it as well as all of
them.
"""

sample = pd.concat(
    map(pd.read_parquet, sorted(whole_folder.glob("*.parquet"))[: max(1, FILES // 10)])
)
naive = Forecaster("seasonal_naive", CONTEXT, STEPS, season=7, head="point").fit(sample)
for model in (forecaster, naive):
    score = backtesting.score(model.backtest(sample, windows=1)).iloc[0]
    print(f"{model.alias}: MAE {score['mae']:.2f}")

"""
## Conclusions

Training time grows with the windows, not with the series, and memory with the largest file. Past
some millions of series read [how forecasting is shared out](../docs/scale.md).
"""
