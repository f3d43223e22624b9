"""
Title: The copy task of a Korean lesson, ported
Author: The kerastrans contributors
Date created: 2026/11/29
Last modified: 2026/11/29
Description: A lesson's Transformer, as printed and mended, beside one call.
Accelerator: None
"""

"""
## Introduction

A Korean university lesson builds the Transformer from functions: `transformer_encoder`,
`transformer_decoder`, `build_transformer_model`. It trains the model to copy random sequences of
six steps of twelve numbers, and decodes it with a loop around the model. The names of this package
are those of the lesson. Here is what the functions do, in plain Keras, beside the package.
"""

import os
from collections.abc import Callable
from functools import partial

import keras
import numpy as np
import pandas as pd

import kerastrans
from kerastrans.data import random_sequences, teacher_forcing_pairs

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # smaller sizes for the tests
LENGTH, CHANNELS, EPOCHS = 6, 12, 1 if SMALL else 15
examples = random_sequences(64 if SMALL else 4000, LENGTH, CHANNELS, seed=0)
unseen = random_sequences(8 if SMALL else 256, LENGTH, CHANNELS, seed=1)
decoder_inputs, targets = teacher_forcing_pairs(examples, start_token=0.0, end_token=0.0)

"""
## By hand

The lesson as printed has two faults, which no error reports. Its look-ahead mask is 1 where a step
must not be seen, but Keras's attention takes 1 as "may be attended to": the decoder reads the
answers in training, and has none when it decodes. And the decoder returns what goes into its
feed-forward network, twice, instead of adding what comes out. Mended, it is this.
"""


class Positions(keras.layers.Layer):
    """Adds sines and cosines of the positions."""

    def call(self, x):
        """Return `(batch, time, width)` with the positions."""
        width = x.shape[-1]
        angles = np.arange(LENGTH + 1)[:, None] / 10_000 ** (np.arange(0, width, 2) / width)
        table = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(LENGTH + 1, width)
        steps = keras.ops.arange(keras.ops.shape(x)[1])
        return x + keras.ops.take(keras.ops.cast(table, "float32"), steps, axis=0)


class LookAheadMask(keras.layers.Layer):
    """Tells which steps a step sees: itself and those before it."""

    def call(self, x):
        """Return `(time, time)`."""
        steps = keras.ops.arange(keras.ops.shape(x)[1])
        return steps[:, None] >= steps


def attend(x, memory=None, **options):
    """Add attention to normalised inputs: to themselves, or to the encoder's output."""
    normalised = keras.layers.LayerNormalization(epsilon=1e-6)(x)
    attention = keras.layers.MultiHeadAttention(num_heads=4, key_dim=3, dropout=0.1)
    y = attention(normalised, normalised if memory is None else memory, **options)
    return x + keras.layers.Dropout(0.1)(y)


def feed_forward(x):
    """Add the feed-forward network of the lesson."""
    y = keras.layers.LayerNormalization(epsilon=1e-6)(x)
    y = keras.layers.Dropout(0.1)(keras.layers.Dense(64, activation="relu")(y))
    return x + keras.layers.Dense(x.shape[-1])(y)


def by_hand(printed=False):
    """Return the lesson's model, with its two faults if it is `printed`."""
    history = keras.Input((LENGTH, CHANNELS))
    x = Positions()(history)
    for _ in range(2):
        x = feed_forward(attend(x))
    shifted = keras.Input((None, CHANNELS))
    y = Positions()(shifted)
    mask = LookAheadMask()(y)
    mask = keras.ops.logical_not(mask) if printed else mask
    for _ in range(2):
        y = attend(y, attention_mask=mask)
        attended = attend(y, x)
        y = attended + (attended - y) if printed else feed_forward(attended)
    return keras.Model([history, shifted], keras.layers.Dense(CHANNELS)(y))


def decode_by_hand(model, sequences):
    """Feed each step back, as the lesson does."""
    shifted = np.zeros((len(sequences), 1, CHANNELS), "float32")
    for _ in range(LENGTH):
        outputs = keras.ops.convert_to_numpy(model([sequences, shifted]))
        shifted = np.concatenate([shifted, outputs[:, -1:]], axis=1)
    return shifted[:, 1:]


"""
## With kerastrans

The arguments keep the lesson's names. By default each input is projected to 64 numbers, since
positions that are added to the values themselves spoil what is to be copied; `d_model=None` has
the lesson's width.
"""


def ported(d_model=64):
    """Return the same model."""
    sizes = {"num_heads": 4, "key_dim": 3, "ff_dim": 64, "d_model": d_model}
    blocks = {"num_encoder_blocks": 2, "num_decoder_blocks": 2}
    return kerastrans.build_transformer_model((LENGTH, CHANNELS), **sizes, **blocks)


def decode(model, sequences):
    """Decode with a cache of keys and values."""
    return model.generate(sequences, LENGTH, start_token=0.0)


"""
## Comparison

The error of the decoded sequences; that of a forecast of zeros is 1. All models see the same
sequences in batches of 32, for as many epochs.
"""

variants: dict[str, tuple[Callable, Callable]] = {
    "as printed": (partial(by_hand, printed=True), decode_by_hand),
    "by hand": (by_hand, decode_by_hand),
    "kerastrans": (ported, decode),
    "kerastrans, d_model=None": (partial(ported, d_model=None), decode),
}
rows = []
for name, (build, decoder) in variants.items():
    for seed in range(1 if SMALL else 3):
        keras.utils.set_random_seed(seed)
        model = build()
        model.compile("adam", "mse")
        model.fit([examples, decoder_inputs], targets, batch_size=32, epochs=EPOCHS, verbose=0)
        error = float(np.square(decoder(model, unseen) - unseen).mean())
        rows.append([name, seed, "mse", error, model.count_params()])
scores = pd.DataFrame(rows, columns=["variant", "seed", "metric", "value", "weights"])
print(scores.round(3).to_string(index=False))

"""
## Conclusions

Check a mask by its meaning, with a model of one block: change a later step, and see that earlier
outputs stay. [Lesson 3](../notebooks/03_masks.ipynb) does it.
[Lesson 0](../notebooks/00_ninety_minutes.ipynb) writes the same functions, and forecasts with them.
"""
