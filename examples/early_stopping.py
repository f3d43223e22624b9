"""
Title: Stop on the error of forecasts
Author: The kerastrans contributors
Date created: 2026/11/29
Last modified: 2026/11/29
Description: The loss of teacher forcing and the error of forecasts choose different epochs.
Accelerator: None
"""

"""
## Introduction

With teacher forcing the decoder is given the true value before each target, and the loss says how
well it forecasts one step. In use it reads its own forecasts. A model whose steps are short can
have a small loss by repeating the last value almost exactly, and forecast badly: what to watch in
training is the error of forecasts. `kerastrans.ForecastError` adds it to what Keras's callbacks
can monitor.
"""

import os

import keras
import numpy as np
import pandas as pd

import kerastrans
from kerastrans.data import chronological_split, sliding_windows, window_dataset

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # smaller sizes for the tests
CONTEXT, STEPS, EPOCHS = 96, 48, 2 if SMALL else 20

"""
## The series

A made series that is sampled finely: a season of 48 steps, and a wave that comes and goes. One step
is hardly larger than the one before it, so that repeating it has a small error.
"""


def make_series(seed, length=1200):
    """Return `(time, 1)`."""
    shocks = np.random.default_rng(seed).normal(0, 0.015, length)
    wave = np.zeros(length)
    for step in range(2, length):
        wave[step] = 1.9 * wave[step - 1] - 0.91 * wave[step - 2] + shocks[step]
    season = np.sin(2 * np.pi * np.arange(length) / 48)
    return (season + wave).astype("float32")[:, None]


"""
## Training

`ForecastError` comes first in the list of callbacks, since the others read what it adds, and they
need a mode, because Keras does not know whether this number should fall. We keep two epochs: the
one with the smallest loss on the validation windows, and the one whose forecasts of them have the
smallest error.
"""

MONITORS = "val_loss", "val_forecast_mae"


def errors_of(series, patch_length):
    """Return the error of test forecasts by the epoch that each number chooses."""
    parts = chronological_split(series, (0.6, 0.2, 0.2), CONTEXT)
    sizes = {"num_heads": 2, "key_dim": 8, "ff_dim": 32, "d_model": 16, "dropout": 0.0}
    blocks = {"num_encoder_blocks": 1, "num_decoder_blocks": 1, "patch_length": patch_length}
    model = kerastrans.build_transformer_model((CONTEXT, 1), **sizes, **blocks)
    model.compile(keras.optimizers.Adam(2e-3), "mae")
    train, validation = (
        window_dataset(
            part,
            CONTEXT,
            STEPS,
            stride=4,
            batch_size=16,
            shuffle=shuffle,
            teacher_forcing=True,
            patch_length=patch_length,
        )
        for part, shuffle in zip(parts[:2], (True, False), strict=True)
    )
    callbacks = [kerastrans.ForecastError(*sliding_windows(parts[1], CONTEXT, STEPS, stride=3))]
    for monitor in MONITORS:
        callbacks.append(
            keras.callbacks.ModelCheckpoint(
                f"{monitor}.weights.h5",
                monitor,
                mode="min",
                save_best_only=True,
                save_weights_only=True,
            )
        )
    fit = {"epochs": EPOCHS, "shuffle": False, "verbose": 0, "callbacks": callbacks}
    history = model.fit(train, validation_data=validation, **fit).history
    print(pd.DataFrame(history).round(3))
    contexts, targets = sliding_windows(parts[2], CONTEXT, STEPS)
    errors = {"season before": float(np.abs(contexts[:, -STEPS:] - targets).mean())}
    for monitor in MONITORS:
        model.load_weights(f"{monitor}.weights.h5")
        errors[monitor] = float(np.abs(model.generate(contexts, STEPS) - targets).mean())
    return errors, model.count_params()


"""
## Comparison

The error of forecasts of 48 steps on the test part. The last variant decodes a whole season at
once: with one patch a forecast, teacher forcing shows the decoder nothing that it does not have in
use.
"""

rows: list[list] = []
for seed in range(1 if SMALL else 4):
    for patch_length in (1, STEPS):
        keras.utils.set_random_seed(seed)
        errors, weights = errors_of(make_series(seed), patch_length)
        if patch_length == 1:
            rows.extend([name, seed, "mae", error, weights] for name, error in errors.items())
        else:
            error = errors["val_forecast_mae"]
            rows.append([f"patch_length={STEPS}", seed, "mae", error, weights])
scores = pd.DataFrame(rows, columns=["variant", "seed", "metric", "value", "weights"])
print(scores.round(3).to_string(index=False))

"""
## Conclusions

To stop, monitor the error of forecasts, after `ForecastError`:
`keras.callbacks.EarlyStopping("val_forecast_mae", mode="min", restore_best_weights=True)`. Yet the
length of a patch matters more than the choice of the epoch.
"""
