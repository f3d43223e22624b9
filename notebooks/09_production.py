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
# We train a small model, save it in Keras's format, export it as a SavedModel from raw history to
# raw forecasts, and run it in a process that does not import kerastrans. The lesson runs in half a
# minute. It requires TensorFlow, the extra `tensorflow`: `pip install ".[tensorflow]"` in a clone.

# %%
import subprocess
import sys

WHEEL = ""  # in Colab: path or address of a wheel of kerastrans
if WHEEL:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", WHEEL], check=True)
import kerastrans

if tuple(map(int, kerastrans.__version__.split(".")[:2])) < (0, 2):
    print(f"This lesson is for kerastrans 0.2 or later; {kerastrans.__version__} is installed.")

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
# linear map of the differences from the last value, and a hard baseline (Zeng et al., 2023).

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
# A `.keras` file contains weights and configuration but no code: it reloads in safe mode wherever
# kerastrans is installed. <!-- claim: reloads --> The forecast is the same.

# %%
model.save(folder / "departures.keras")
reloaded = keras.saving.load_model(folder / "departures.keras")
history = series.to_numpy("float32")[None, -CONTEXT - HORIZON : -HORIZON]
scaled = scaler.transform(history).astype("float32")
difference = np.abs(reloaded.predict(scaled, verbose=0) - model(scaled)).max()
print("largest difference:", difference)
assert difference < 1e-5  # claim: reloads
print((folder / "departures.keras").stat().st_size // 1024, "KB")

# %% [markdown]
# ## Export
#
# The SavedModel maps flights to flights: scaling is inside, so that nobody can forget it. An
# existing folder is never overwritten. <!-- claim: refused --> A second export to the same folder
# is refused.

# %%
kerastrans.export_savedmodel(model, folder / "export", scaler=scaler)
try:
    kerastrans.export_savedmodel(model, folder / "export", scaler=scaler)
    message = None
except OSError as error:
    message = str(error).replace(str(folder), "FOLDER")
print("second export:", message)
assert message  # claim: refused
sorted(str(path.relative_to(folder / "export")) for path in (folder / "export").rglob("*.*"))

# %% [markdown]
# ## Run it on plain TensorFlow
#
# A script of a few lines, in a fresh process. It imports only TensorFlow, as a service would.
# <!-- claim: served --> Its forecast is that of the notebook. <!-- claim: length --> A history of
# the wrong length is refused.

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
try:
    serve(history=tf.constant(np.load(sys.argv[2])[:, :100]))
except Exception as error:
    print("100 hours:", str(error).strip().splitlines()[0][:200])
else:
    raise AssertionError("a history of 100 hours was accepted")
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
difference = np.abs(served - here).max()
print("largest difference from the notebook:", difference, "flights")
assert difference < 1e-3  # claim: served
assert "100 hours:" in finished.stdout  # claim: length
assert served.min() < 0  # claim: negative

# %%
actual = series.iloc[-HORIZON:]
# Alt text: Departures of three airports: six days of history, and the last day as served and as
# observed.
plotting.plot_forecast(
    series.iloc[-CONTEXT:-HORIZON],
    {"served forecast": pd.DataFrame(served[0], actual.index, series.columns)},
    actual,
    title="Departures of the last day, forecast by the exported model",
    unit="flights an hour",
)

# %% [markdown]
# <!-- claim: negative --> Some forecasts at night are below zero: a linear map does not know that
# flights are counts. `Forecaster(..., bounds=(0, None))` or a head for counts keeps forecasts at or
# above zero.

# %% [markdown]
# ## An autoregressive model is exported in the same way
#
# The SavedModel contains the whole cached decoding loop, for a fixed horizon. <!-- claim: loop -->
# Its forecast is that of `generate`.

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
difference = np.abs(np.load(folder / "loop.npy") - here).max()
print("largest difference:", difference, "flights")
assert difference < 1e-2  # claim: loop

# %% [markdown]
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("9.1")` helps, in three
# steps. Solutions: [answers.ipynb](answers.ipynb).

# %% [markdown]
# **9.1** Return the history if it has context_length rows, otherwise raise an error. ValueError,
# IndexError and a failed assert are accepted.


# %%
def checked_history(history, context_length):
    return ...


kerastrans.lessons.check("9.1", checked_history)

# %% [markdown]
# **9.2** What happens to a second export to the same folder?

# %%
prediction = ...  # "merged", "refused", "replaced"
kerastrans.lessons.check("9.2", prediction)

# %% [markdown]
# **9.3** Forecast raw values with a model of scaled ones: scale, forecast, unscale.


# %%
def forecast_raw(model, history, mean, std):
    return ...


kerastrans.lessons.check("9.3", forecast_raw)
