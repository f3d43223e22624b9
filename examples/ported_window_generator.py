"""
Title: TensorFlow's time series tutorial, ported
Author: The kerastrans contributors
Date created: 2026/11/29
Last modified: 2026/11/29
Description: The WindowGenerator and the autoregressive LSTM of the tutorial, in one call each.
Accelerator: None
"""

"""
## Introduction

TensorFlow's tutorial ["Time series forecasting"](
https://www.tensorflow.org/tutorials/structured_data/time_series) cuts windows with a class of its
own, and ends with an LSTM that feeds its forecast back for 24 hours. With `KERASTRANS_DATA_DIR`
this script reads hourly rows of the tutorial's weather station, of 2020; without it, departures.
"""

import os

import keras
import numpy as np
import pandas as pd

import kerastrans
from kerastrans.data import chronological_split, window_dataset

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # smaller sizes for the tests
if "KERASTRANS_DATA_DIR" in os.environ:
    series = kerastrans.datasets.load("weather")[5::6].iloc[:, :11]  # pressure to density
    series = series.clip(lower=series.quantile(0.001), axis=1)  # some rows are -9999
else:
    series = kerastrans.datasets.load("nyc_departures")
series = series[:600] if SMALL else series
split = int(0.7 * len(series))
series = (series - series[:split].mean()) / series[:split].std()
parts = chronological_split(series.to_numpy("float32"), (0.7, 0.2, 0.1))
NUM_CHANNELS, EPOCHS = series.shape[1], 1 if SMALL else 20

"""
## By hand

The tutorial's class holds three frames and the widths, and splits windows into inputs and labels.
The model warms its cell up on the inputs, and then takes its own forecasts as inputs.
"""


class WindowGenerator:
    """Windows of `input_width` steps and the labels that end `shift` steps later."""

    def __init__(self, input_width, label_width, shift, train, validation, test):
        self.input_width, self.label_width = input_width, label_width
        self.total = input_width + shift
        self.parts = {"train": train, "validation": validation, "test": test}

    def split_window(self, window):
        """Return the inputs and the labels of a batch of windows."""
        return window[:, : self.input_width], window[:, self.total - self.label_width :]

    def make(self, part, shuffle):
        """Return the batches of a part."""
        dataset = keras.utils.timeseries_dataset_from_array(
            self.parts[part], None, self.total, batch_size=32, shuffle=shuffle
        )
        return dataset.map(self.split_window)


class FeedBack(keras.Model):
    """An LSTM that forecasts one step after the other."""

    def __init__(self, units, steps):
        super().__init__()
        self.steps = steps
        self.cell = keras.layers.LSTMCell(units)
        self.rnn = keras.layers.RNN(self.cell, return_state=True)
        self.dense = keras.layers.Dense(NUM_CHANNELS)

    def call(self, inputs, training=None):
        """Return `(batch, steps, num_channels)`."""
        x, *state = self.rnn(inputs)
        forecasts = [self.dense(x)]
        for _ in range(self.steps - 1):
            x, state = self.cell(forecasts[-1], state, training=training)
            forecasts.append(self.dense(x))
        return keras.ops.stack(forecasts, axis=1)


def by_hand():
    """Return the model and the batches to train it on."""
    return FeedBack(32, steps=24), WindowGenerator(24, 24, 24, *parts).make("train", shuffle=True)


"""
## With kerastrans

The zoo has the LSTM as an encoder-decoder with attention. `shift` becomes `offset=shift -
label_width`, here 0; `label_columns` would be `targets=`.
"""


def ported():
    """Return the model and the batches to train it on."""
    model = kerastrans.zoo.build("lstm_seq2seq", 24, 24, NUM_CHANNELS, units=32)
    return model, window_dataset(parts[0], 24, 24, shuffle=True)


"""
## Comparison

The mean absolute error of standardised values over 24 hours, in the last tenth of the year. As in
the tutorial, training ends when two epochs bring no smaller validation loss, and after 20 epochs at
most. The forecast to beat repeats the last day.
"""

validation = window_dataset(parts[1], 24, 24, batch_size=256)
[(contexts, targets)] = window_dataset(parts[2], 24, 24, batch_size=len(parts[2]))
contexts, targets = np.asarray(contexts), np.asarray(targets)
naive = float(np.abs(contexts - targets).mean())
rows = [["day before", 0, "mae", naive, 0]]
for name, make in {"by hand": by_hand, "kerastrans": ported}.items():
    for seed in range(1 if SMALL else 3):
        keras.utils.set_random_seed(seed)
        model, batches = make()
        model.compile("adam", "mse")
        stop = keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)
        fit = {"epochs": EPOCHS, "callbacks": [stop], "shuffle": False, "verbose": 0}
        model.fit(batches, validation_data=validation, **fit)
        forecasts = model.predict(contexts, batch_size=256, verbose=0)
        error = float(np.abs(forecasts - targets).mean())
        rows.append([name, seed, "mae", error, model.count_params()])
scores = pd.DataFrame(rows, columns=["variant", "seed", "metric", "value", "weights"])
print(scores.round(3).to_string(index=False))

"""
## Conclusions

[Windows](../docs/how/windows.md) has a table of the tutorial's arguments and ours. Its single-shot
models are `kerastrans.zoo.build` with other names: "linear_regression", "tide", "tcn".
"""
