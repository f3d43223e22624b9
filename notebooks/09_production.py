# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 9. From the notebook to production
#
# A forecast that lives in a notebook helps nobody. We train a small model, save it in Keras's
# format, export it as a SavedModel that takes raw history and gives raw forecasts, and run that in
# a process that does not know kerastrans. Runs in half a minute.

# %%
# %matplotlib inline
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import pandas as pd

import kerastrans
from kerastrans import plotting
from kerastrans.data import StandardScaler, chronological_split, window_dataset

keras.utils.set_random_seed(0)
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## A model of New York's departures
#
# Flights that leave three airports in each hour; a week of history, a day ahead. NLinear is one
# linear map with the last value taken off, and a hard baseline (Zeng et al., 2023).

# %%
CONTEXT, HORIZON = 168, 24
series = kerastrans.datasets.load("nyc_departures")
train, validation, test = chronological_split(series.to_numpy(), (0.7, 0.1, 0.2), CONTEXT)
scaler = StandardScaler.fit(train)
model = kerastrans.zoo.build("nlinear", CONTEXT, HORIZON, len(series.columns))
model.compile(keras.optimizers.Adam(1e-3), "mse")
options = {"batch_size": 64, "seed": 0}
model.fit(
    window_dataset(scaler.transform(train), CONTEXT, HORIZON, shuffle=True, **options),
    validation_data=window_dataset(scaler.transform(validation), CONTEXT, HORIZON, **options),
    epochs=5,
    shuffle=False,
    verbose=0,
).history["val_loss"]

# %% [markdown]
# ## Save and reload in Keras
#
# A `.keras` file holds weights and configuration and no code: it reloads in safe mode wherever
# kerastrans is installed.

# %%
model.save(folder / "departures.keras")
reloaded = keras.saving.load_model(folder / "departures.keras")
history = series.to_numpy("float32")[None, -CONTEXT - HORIZON : -HORIZON]
scaled = scaler.transform(history).astype("float32")
print("largest difference:", np.abs(reloaded.predict(scaled, verbose=0) - model(scaled)).max())
print((folder / "departures.keras").stat().st_size // 1024, "KB")

# %% [markdown]
# ## Export
#
# The SavedModel takes flights and gives flights: scaling is inside, so nobody can forget it. An
# existing folder is never written over.

# %%
kerastrans.export_savedmodel(model, folder / "export", scaler=scaler)
sorted(str(path.relative_to(folder / "export")) for path in (folder / "export").rglob("*.*"))

# %% [markdown]
# ## Run it on plain TensorFlow
#
# A script of a few lines, in a fresh process. It imports TensorFlow alone, as a service would.

# %%
SERVICE = """
import sys
import numpy as np
import tensorflow as tf

serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
forecast = serve(history=tf.constant(np.load(sys.argv[2])))["forecast"].numpy()
assert "kerastrans" not in sys.modules
np.save(sys.argv[3], forecast)
print("forecast", forecast.shape)
"""
np.save(folder / "history.npy", history)
finished = subprocess.run(
    [sys.executable, "-c", SERVICE, "export", "history.npy", "forecast.npy"],
    cwd=folder,
    capture_output=True,
    text=True,
    check=True,
)
print(finished.stdout)
served = np.load(folder / "forecast.npy")
here = scaler.inverse_transform(model.predict(scaled, verbose=0))
print("largest difference from the notebook:", np.abs(served - here).max(), "flights")

# %%
actual = series.iloc[-HORIZON:]
plotting.plot_forecast(
    series.iloc[-CONTEXT:-HORIZON],
    {"served forecast": pd.DataFrame(served[0], actual.index, series.columns)},
    actual,
    title="Departures of the last day, forecast by the exported model",
    unit="flights an hour",
)

# %% [markdown]
# ## An autoregressive model leaves the same way
#
# The whole cached decoding loop is inside the SavedModel, for a horizon that the export fixes.

# %%
transformer = kerastrans.build_transformer_model(
    (CONTEXT, 3),
    num_heads=2,
    key_dim=8,
    ff_dim=32,
    num_encoder_blocks=1,
    num_decoder_blocks=1,
    d_model=16,
)
kerastrans.export_savedmodel(transformer, folder / "loop", scaler=scaler, prediction_length=HORIZON)
subprocess.run(
    [sys.executable, "-c", SERVICE, "loop", "history.npy", "loop.npy"],
    cwd=folder,
    check=True,
    capture_output=True,
)
here = scaler.inverse_transform(transformer.generate(scaled, HORIZON))
print("largest difference:", np.abs(np.load(folder / "loop.npy") - here).max(), "flights")

# %% [markdown]
# ## Exercises
#
# 1. Give the served model a history of 100 hours. What does it answer?
# 2. Export a second time to the same folder. What happens to the first export?
# 3. Why does the export hold the scaler's numbers and not the training data?
#
# Answers: [answers.ipynb](answers.ipynb).
