"""
Title: Classify time series, ported from keras.io
Author: The kerastrans contributors
Date created: 2026/11/29
Last modified: 2026/11/29
Description: keras.io's Transformer for classification beside the same model from our blocks.
Accelerator: None
"""

"""
## Introduction

keras.io's ["Timeseries classification with a Transformer model"](
https://keras.io/examples/timeseries/timeseries_classification_transformer/) stacks encoder blocks
on a series of one channel. Here the series are weeks of departures, every second hour, each scaled
by its own mean and standard deviation, and the class is the airport. A week may begin at any hour,
so that the model has to find the profile of the day itself. The last third of the year is the test
part. The sizes are smaller than those of keras.io, in all models.
"""

import os

import keras
import numpy as np
import pandas as pd

import kerastrans
from kerastrans.data import sliding_windows

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # smaller sizes for the tests
STEPS, WIDTH, EPOCHS = 84, 16, 1 if SMALL else 16
flights = kerastrans.datasets.load("nyc_departures").to_numpy("float32")
split = 2 * len(flights) // 3


def classes_of(rows, stride):
    """Return weeks `(batch, 84, 1)` in random order, and their airports `(batch,)`."""
    weeks = sliding_windows(rows, 2 * STEPS, 1, stride)[0][:, ::2]  # (starts, 84, 3)
    weeks = (weeks - weeks.mean(1, keepdims=True)) / weeks.std(1, keepdims=True)
    labels = np.tile(np.arange(3), len(weeks))
    order = np.random.default_rng(0).permutation(len(labels))
    return weeks.transpose(0, 2, 1).reshape(-1, STEPS, 1)[order], labels[order]


train, test = classes_of(flights[:split], 61 if SMALL else 13), classes_of(flights[split:], 13)
print(f"{len(train[1]):,} weeks to train, {len(test[1]):,} to test")

"""
## By hand

The block of the example in plain Keras: attention, dropout and layer normalisation, added to the
inputs; then two convolutions of one step, the same way. "As published" it reads the series itself,
of width 1. Layer normalisation of a single number is always its bias, so each block adds a
constant, and the mean of the standardised week is 0: the model cannot see the series. "Mended" it
reads 16 learnt features of each step, and the positions.
"""


def block(inputs):
    """Add an encoder block of plain Keras layers."""
    x = keras.layers.MultiHeadAttention(num_heads=4, key_dim=8, dropout=0.1)(inputs, inputs)
    x = keras.layers.Dropout(0.1)(x)
    attended = inputs + keras.layers.LayerNormalization(epsilon=1e-6)(x)
    x = keras.layers.Conv1D(32, kernel_size=1, activation="relu")(attended)
    x = keras.layers.Dropout(0.1)(x)
    x = keras.layers.Conv1D(inputs.shape[-1], kernel_size=1)(x)
    return attended + keras.layers.LayerNormalization(epsilon=1e-6)(x)


def by_hand(history):
    """Project, add positions that are learnt, and stack the blocks."""
    steps = keras.ops.cumsum(keras.ops.ones_like(history[..., 0]), axis=1) - 1
    x = keras.layers.Dense(WIDTH)(history) + keras.layers.Embedding(STEPS, WIDTH)(steps)
    for _ in range(2):
        x = block(x)
    return x


"""
## With kerastrans

One call is the block, and a layer adds the positions.
"""


def ported(history):
    """Project, add positions, and stack the blocks of the package."""
    x = kerastrans.LearntPositionalEncoding(STEPS, WIDTH)(keras.layers.Dense(WIDTH)(history))
    for _ in range(2):
        x = kerastrans.transformer_encoder(x, num_heads=4, key_dim=8, ff_dim=32)
    return x


"""
## Comparison

All models have the same head, batches and epochs: the mean over the steps, a hidden layer, and a
softmax over the airports. A third of the weeks are of each airport.
"""


def as_published(history):
    """Stack the blocks on the series itself."""
    return block(block(history))


rows = []
for name, stack in {"as published": as_published, "by hand": by_hand, "kerastrans": ported}.items():
    for seed in range(1 if SMALL else 2):
        keras.utils.set_random_seed(seed)
        history = keras.Input((STEPS, 1))
        x = keras.layers.GlobalAveragePooling1D()(stack(history))
        x = keras.layers.Dropout(0.4)(keras.layers.Dense(64, activation="relu")(x))
        model = keras.Model(history, keras.layers.Dense(3, activation="softmax")(x))
        model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(*train, batch_size=32, epochs=EPOCHS, verbose=0)
        accuracy = model.evaluate(*test, verbose=0)[1]
        rows.append([name, seed, "accuracy", accuracy, model.count_params()])
scores = pd.DataFrame(rows, columns=["variant", "seed", "metric", "value", "weights"])
print(scores.round(3).to_string(index=False))

"""
## Conclusions

Project a series of one channel before the first block, in plain Keras too. A padded series is
hidden by `padding_mask`, or by `keras.layers.Masking` before the projection.
"""
