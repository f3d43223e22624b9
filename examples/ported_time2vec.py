"""
Title: A Transformer with Time2Vec, ported
Author: The kerastrans contributors
Date created: 2026/11/29
Last modified: 2026/11/29
Description: The classes of a much-copied notebook on share prices beside our blocks.
Accelerator: None
"""

"""
## Introduction

A notebook that many have copied forecasts share prices with a Transformer, whose classes it writes
itself, and appends a vector of the time to each step, after Time2Vec (Kazemi et al., 2019). We use
hourly departures from an airport instead, which have something to learn: 128 hours in, the next
hour out.
"""

import os

import keras
import numpy as np
import pandas as pd
from keras import ops

import kerastrans
from kerastrans.data import window_dataset

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # smaller sizes for the tests
STEPS, EPOCHS = 128, 1 if SMALL else 6
series = kerastrans.datasets.load("nyc_departures")[["JFK"]][: 800 if SMALL else None]
split = int(0.8 * len(series))
series = (series - series[:split].mean()) / series[:split].std()
series["day"] = np.arange(len(series)) / 24  # the time of each row
rows_of = {"targets": ["JFK"], "stride": 1 if SMALL else 3}
train = window_dataset(series, STEPS, 1, **rows_of, end_index=split, shuffle=True, seed=0)
test = window_dataset(series, STEPS, 1, **rows_of, start_index=split, batch_size=256)


class Time2Vec(keras.layers.Layer):
    """Times `(batch, time)` become `(batch, time, 1 + number of periods)`."""

    def __init__(self, periods, **kwargs):
        super().__init__(**kwargs)
        self.periods = periods

    def build(self, input_shape):
        """Create the frequencies, which begin at the periods, and the phases."""
        shape, random = (1 + len(self.periods),), keras.initializers.RandomUniform(-np.pi, np.pi)
        self.frequencies = self.add_weight(name="frequencies", shape=shape)
        self.frequencies.assign([1 / 365, *(2 * np.pi / period for period in self.periods)])
        self.phases = self.add_weight(name="phases", shape=shape, initializer=random)

    def call(self, times):
        """Return a linear number and the sines."""
        angles = ops.expand_dims(times, -1) * self.frequencies + self.phases
        return ops.concatenate([angles[..., :1], ops.sin(angles[..., 1:])], axis=-1)


"""
## By hand

The notebook has a class for one head, one for several heads, and one for the block: each normalises
after it adds. The heads are computed one after the other.
"""


class Head(keras.layers.Layer):
    """One head of attention."""

    def __init__(self, key_dim):
        super().__init__()
        self.query, self.key, self.value = (keras.layers.Dense(key_dim) for _ in range(3))

    def call(self, x):
        """Return `(batch, time, key_dim)`."""
        scores = self.query(x) @ ops.swapaxes(self.key(x), 1, 2)
        return ops.softmax(scores / self.query.units**0.5) @ self.value(x)


class Heads(keras.layers.Layer):
    """Several heads, and a linear map of them."""

    def __init__(self, num_heads, key_dim, width):
        super().__init__()
        self.heads = [Head(key_dim) for _ in range(num_heads)]
        self.linear = keras.layers.Dense(width)

    def call(self, x):
        """Return `(batch, time, width)`."""
        return self.linear(ops.concatenate([head(x) for head in self.heads], axis=-1))


class Block(keras.layers.Layer):
    """Attention and a feed-forward network."""

    def __init__(self, num_heads, key_dim, ff_dim, width, dropout):
        super().__init__()
        self.attention = Heads(num_heads, key_dim, width)
        self.hidden = keras.layers.Dense(ff_dim, activation="relu")
        self.outputs = keras.layers.Dense(width)
        self.norms = [keras.layers.LayerNormalization(epsilon=1e-6) for _ in range(2)]
        self.dropouts = [keras.layers.Dropout(dropout) for _ in range(2)]

    def call(self, x, training=None):
        """Return `(batch, time, width)`."""
        y = self.dropouts[0](self.attention(x), training=training)
        x = self.norms[0](x + y)
        y = self.dropouts[1](self.outputs(self.hidden(x)), training=training)
        return self.norms[1](x + y)


def by_hand(x):
    """Stack three blocks."""
    for _ in range(3):
        x = Block(num_heads=4, key_dim=8, ff_dim=32, width=x.shape[-1], dropout=0.1)(x)
    return x


"""
## With kerastrans

The same blocks, `norm="post"` since they normalise after they add.
"""


def ported(x):
    """Stack three blocks."""
    for _ in range(3):
        x = kerastrans.transformer_encoder(x, num_heads=4, key_dim=8, ff_dim=32, norm="post")
    return x


"""
## Comparison

The mean absolute error of the standardised next hour, in the last fifth of the year. The forecast
to beat is the same hour of the day before. All models read the value and the five numbers of
Time2Vec, and end in the mean over the channels and a hidden layer, as in the notebook.
"""

past, targets = (np.concatenate(part) for part in zip(*test, strict=True))
rows = [["day before", 0, "mae", float(np.abs(past[:, -24, :1] - targets[:, 0]).mean()), 0]]
for name, stack in {"by hand": by_hand, "kerastrans": ported}.items():
    for seed in range(1 if SMALL else 2):
        keras.utils.set_random_seed(seed)
        history = keras.Input((STEPS, 2))
        times = Time2Vec([1, 1, 7, 7])(history[..., 1])
        x = stack(keras.layers.Concatenate()([history[..., :1], times]))
        x = keras.layers.GlobalAveragePooling1D(data_format="channels_first")(x)
        x = keras.layers.Dropout(0.1)(keras.layers.Dense(64, activation="relu")(x))
        model = keras.Model(history, keras.layers.Reshape((1, 1))(keras.layers.Dense(1)(x)))
        model.compile("adam", "mae")
        model.fit(train, epochs=EPOCHS, shuffle=False, verbose=0)
        error = model.evaluate(test, verbose=0)
        rows.append([name, seed, "mae", error, model.count_params()])
scores = pd.DataFrame(rows, columns=["variant", "seed", "metric", "value", "weights"])
print(scores.round(3).to_string(index=False))

"""
## Conclusions

[Custom Keras models](../docs/guide/own-model.md#a-custom-layer-time-as-a-learnt-vector) shows the
same layer so that it can be saved. A `Forecaster` needs none of it: `calendar=True` adds the hour
and the weekday.
"""
