"""
Title: A training script to start from
Author: The kerastrans contributors
Date created: 2026/11/25
Last modified: 2026/11/26
Description: Train with model.fit: callbacks, TensorBoard, saving, resuming.
Accelerator: None
"""

"""
## Introduction

A training that takes hours needs more than `fit`: it stops when the validation error stops
falling, keeps the best weights, writes its curves, and continues where it was interrupted. Keras
has a callback for each, and forty lines of code are enough. Replace the data and the model by your
own; start the script a second time, and it resumes at the epoch after the last complete one.
"""

import importlib.util
import os
from pathlib import Path
from typing import Any

import keras
import pandas as pd

import kerastrans
from kerastrans.data import chronological_split, sliding_windows, window_dataset

SMALL = os.environ.get("KERASTRANS_EXAMPLES") == "small"  # smaller sizes for the tests
WEEK, DAY, EPOCHS, ROWS = (168, 24, 2, 2000) if SMALL else (168, 24, 12, None)
folder = Path("training")

"""
## Data and model

The last fifth of the year is for the final test. The rows before it decide when training stops.
`window_dataset` shuffles anew in each epoch; the validation windows keep their order.
"""

series = kerastrans.datasets.load("nyc_departures").to_numpy("float32")[:ROWS]
train, validation, test = chronological_split(series, (0.7, 0.1, 0.2), WEEK)
options = {"teacher_forcing": True, "patch_length": DAY, "batch_size": 64}
train_windows = window_dataset(train, WEEK, DAY, shuffle=True, seed=0, **options)
validation_windows = window_dataset(validation, WEEK, DAY, **options)

keras.utils.set_random_seed(0)
sizes: dict[str, Any] = {"num_heads": 4, "key_dim": 16, "ff_dim": 128, "patch_length": DAY}
sizes |= {"num_encoder_blocks": 1, "num_decoder_blocks": 1, "dropout": 0.0}
model = kerastrans.build_transformer_model((WEEK, 3), **sizes)
model.compile(keras.optimizers.Adam(1e-3), "mae")

"""
## Callbacks

`BackupAndRestore` writes the weights, the state of the optimizer and the number of the epoch after
each epoch, restores them when the script is started again, and deletes them at the end. The other
callbacks start anew: `EarlyStopping` and `ReduceLROnPlateau` count epochs from the start of the
process, and `ModelCheckpoint` has to be given the best error so far, or a resumed run would
overwrite a better model. After a complete run the script starts from the beginning: choose another
folder to keep the model. Look at the curves with `tensorboard --logdir training`.
"""

resumed = (folder / "backup").exists()
best_error = pd.read_csv(folder / "history.csv")["val_loss"].min() if resumed else None
kept = {"save_best_only": True, "initial_value_threshold": best_error}
folder.mkdir(exist_ok=True)
callbacks = [
    keras.callbacks.ModelCheckpoint(folder / "best.keras", **kept),
    keras.callbacks.ReduceLROnPlateau(factor=0.5, patience=2),
    keras.callbacks.EarlyStopping(patience=4),
    keras.callbacks.CSVLogger(folder / "history.csv", append=resumed),
    keras.callbacks.BackupAndRestore(folder / "backup"),  # last: when the others have written
]
if importlib.util.find_spec("tensorboard"):  # pip install tensorboard
    callbacks.append(keras.callbacks.TensorBoard(folder / "logs"))

"""
## Training

`fit` gets all of them. `shuffle=False`, since the windows are shuffled already.
"""

fit = {"epochs": EPOCHS, "callbacks": callbacks, "shuffle": False, "verbose": 2}
model.fit(train_windows, validation_data=validation_windows, **fit)

"""
## Conclusions

The best model is read from its file, measured once on the test part, and ready to forecast:
`best.generate(series[None, -WEEK:], DAY)` is the day after the last row.
"""

best = keras.saving.load_model(folder / "best.keras")
contexts, targets = sliding_windows(test, WEEK, DAY)
error = kerastrans.evaluation.metrics.mae(targets, best.generate(contexts, DAY))
print(f"mean absolute error on the test part: {error:.2f} flights per hour")
