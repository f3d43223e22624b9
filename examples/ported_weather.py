"""
Title: Forecast the weather, ported from keras.io
Author: The kerastrans contributors
Date created: 2026/11/29
Last modified: 2026/11/29
Description: keras.io's weather script: its windows in one call, and a forecaster for its LSTM.
Accelerator: None
"""

"""
## Introduction

keras.io's ["Timeseries forecasting for weather prediction"](
https://keras.io/examples/timeseries/timeseries_weather_forecasting/) reads 720 rows of seven
columns, every sixth of them, and forecasts the temperature 72 rows later. With
`KERASTRANS_DATA_DIR` this script reads the year 2020 of the same station, in rows of ten minutes.
Without it, it forecasts hourly departures from an airport twelve hours ahead, with the same code.
"""

import os

import keras
import numpy as np
import pandas as pd

import kerastrans
from kerastrans.data import window_dataset

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # smaller sizes for the tests
if "KERASTRANS_DATA_DIR" in os.environ:
    COLUMNS = ["p (mbar)", "T (degC)", "VPmax (mbar)", "VPdef (mbar)", "sh (g/kg)"]
    COLUMNS += ["rho (g/m**3)", "wv (m/s)"]
    series, TARGET, HOUR = kerastrans.datasets.load("weather")[COLUMNS], "T (degC)", 6
    series = series.clip(lower=series.quantile(0.001), axis=1)  # some rows are -9999
else:
    series, TARGET, HOUR = kerastrans.datasets.load("nyc_departures"), "JFK", 1
EPOCHS, BATCH = 1 if SMALL else 6, 256
if SMALL:
    series = series[: 600 * HOUR]
split = int(0.715 * len(series))  # as in the original
series = (series - series[:split].mean()) / series[:split].std()
values, column = series.to_numpy("float32"), series.columns.get_loc(TARGET)

"""
## By hand

`keras.utils.timeseries_dataset_from_array` takes the targets of a window at the window's first row,
so that the script cuts them out of the series, with an offset, and the inputs too.
"""


def windows_by_hand(first, end, shuffle=False):
    """Return batches of 120 hours of all columns, and one column twelve hours after them."""
    past, future = 120 * HOUR, 12 * HOUR
    inputs = values[first : end - past - future]
    targets = values[first + past + future : end, [column]]
    return keras.utils.timeseries_dataset_from_array(
        inputs,
        targets,
        sequence_length=120,
        sampling_rate=HOUR,
        sequence_stride=HOUR,
        batch_size=BATCH,
        shuffle=shuffle,
    )


def by_hand():
    """Return the LSTM of the example."""
    history = keras.Input((120, values.shape[1]))
    x = keras.layers.LSTM(32)(history)
    return keras.Model(history, keras.layers.Dense(1)(x))


"""
## With kerastrans

`window_dataset` takes the series as it is. An architecture of the zoo forecasts all columns and all
hours up to the thirteenth step of the horizon, which is the one that the example forecasts.
"""


def windows(first, end, shuffle=False):
    """Return batches of 120 hours and the 13 hours after them, of all columns."""
    rows = {"sampling_rate": HOUR, "stride": HOUR, "start_index": first, "end_index": end}
    return window_dataset(values, 120, 13, **rows, batch_size=BATCH, shuffle=shuffle)


def ported():
    """Return a TiDE, the zoo's default for series without covariates."""
    return kerastrans.zoo.build("tide", 120, 13, values.shape[1])


"""
## Comparison

The mean squared error of the standardised column, twelve hours ahead, in the last part of the year.
Both models have as many epochs of windows that begin every hour. The last known value is the
forecast to beat.
"""

[(contexts, targets)] = window_dataset(
    values,
    120,
    13,
    sampling_rate=HOUR,
    stride=HOUR,
    start_index=split,
    batch_size=len(values),
)
contexts, targets = np.asarray(contexts), np.asarray(targets)[:, -1, column]
naive = float(np.square(contexts[:, -1, column] - targets).mean())
rows = [["last value", 0, "mse", naive, 0]]
for name, (build, cut) in {
    "by hand": (by_hand, windows_by_hand),
    "kerastrans": (ported, windows),
}.items():
    for seed in range(1 if SMALL else 3):
        keras.utils.set_random_seed(seed)
        model = build()
        model.compile(keras.optimizers.Adam(1e-3), "mse")
        model.fit(cut(0, split, shuffle=True), epochs=EPOCHS, shuffle=False, verbose=0)
        forecasts = model.predict(contexts, batch_size=BATCH, verbose=0)
        forecasts = forecasts[:, -1, column] if forecasts.ndim == 3 else forecasts[:, 0]
        error = float(np.square(forecasts - targets).mean())
        rows.append([name, seed, "mse", error, model.count_params()])
scores = pd.DataFrame(rows, columns=["variant", "seed", "metric", "value", "weights"])
print(scores.round(3).to_string(index=False))

"""
## Conclusions

To keep the LSTM and its single target, use the windows alone:
`window_dataset(values, 120, 1, sampling_rate=6, offset=72, targets=[1])`. With time stamps, missing
values or intervals, use `kerastrans.Forecaster` instead of arrays.
"""
