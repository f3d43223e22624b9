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
# # 5. A Transformer that forecasts
#
# Twelve years of airline passengers, one month a row. We train an encoder-decoder Transformer on
# the first seven tenths, choose nothing on the last two, and let it write the future one month at
# a time. It runs in about a minute on two CPU cores.

# %%
# %matplotlib inline
import os
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import kerastrans
from kerastrans import evaluation, plotting
from kerastrans.data import (
    StandardScaler,
    chronological_split,
    sliding_windows,
    window_dataset,
)

keras.utils.set_random_seed(0)
series = kerastrans.datasets.load("air_passengers")
series.tail(3)

# %% [markdown]
# ## The data: growth first, then seasons
#
# The passengers grow by a factor, and the last years lie above everything the training part holds.
# A network cannot forecast values it has never seen the like of, so we let it see what repeats:
# the logarithm, less its value a year before. That is the growth over twelve months, and it can be
# undone.

# %%
SEASON, CONTEXT, HORIZON = 12, 24, 12
logs = np.log(series)
growth = logs.diff(SEASON).dropna()
train, validation, test = chronological_split(growth.to_numpy(), (0.7, 0.1, 0.2), CONTEXT)
scaler = StandardScaler.fit(train)  # the training rows alone
len(train), len(validation) - CONTEXT, len(test) - CONTEXT

# %% [markdown]
# ## Masks: True means "may be attended to"
#
# The decoder must not see the months it has to forecast. Row t of the look-ahead mask says which
# positions step t may attend to.

# %%
keras.ops.convert_to_numpy(kerastrans.create_look_ahead_mask(5)).astype(int)

# %% [markdown]
# ## The model
#
# A plain functional Keras model with two inputs: the history for the encoder, and for the decoder
# the values so far. Under teacher forcing these are the true ones, the last observed value first.
# Noise on them keeps the decoder from leaning on the value before.

# %%
model = kerastrans.build_transformer_model(
    (CONTEXT, 1),
    num_heads=2,
    key_dim=8,
    ff_dim=32,
    num_encoder_blocks=1,
    num_decoder_blocks=1,
    dropout=0.1,
    d_model=16,
    decoder_noise=1.0,
)
model.compile(keras.optimizers.Adam(3e-3), "mae")
windows = window_dataset(
    scaler.transform(train),
    CONTEXT,
    HORIZON,
    batch_size=8,
    shuffle=True,
    seed=0,
    teacher_forcing=True,
)
history = model.fit(windows, epochs=30, shuffle=False, verbose=0)
print(f"training error: {history.history['loss'][0]:.2f} -> {history.history['loss'][-1]:.2f}")

# %% [markdown]
# ## The forecast
#
# `generate` feeds each value back as the next input. The whole loop is compiled, with a cache of
# keys and values, so it costs a few milliseconds. We forecast the last year from the months before
# it, and undo scaling, growth and logarithm.

# %%
start = len(growth) - HORIZON
context = scaler.transform(growth.to_numpy()[None, start - CONTEXT : start])
generated = scaler.inverse_transform(model.generate(context, HORIZON))[0]
last_year = logs.iloc[-2 * SEASON : -SEASON].to_numpy()
actual = series.iloc[-HORIZON:]
forecast = pd.DataFrame(np.exp(last_year + generated), actual.index, series.columns)
naive = pd.DataFrame(np.exp(last_year), actual.index, series.columns)
evaluation.compare(
    {"Transformer": forecast.to_numpy()[None], "seasonal naive (12)": naive.to_numpy()[None]},
    actual.to_numpy()[None],
    series.to_numpy()[:101],
    SEASON,
).round(2)

# %%
plotting.plot_forecast(
    series.iloc[-60:-HORIZON],
    {"Transformer": forecast, "seasonal naive (12)": naive},
    actual,
    title="Airline passengers, the last year held out",
    unit="thousands a month",
)

# %% [markdown]
# ## Over every test window
#
# One year is an anecdote. These are all windows of the test part, in growth. Seven years of months
# are little to learn from: the growth of the last month, repeated, is a strong forecast here, and
# the model does not beat it. On a series of thousands of rows it does: that is `make demo`.

# %%
contexts, targets = sliding_windows(test, CONTEXT, HORIZON)
forecasts = {
    "Transformer": evaluation.forecast_windows(model, contexts, HORIZON, scaler),
    "last value": evaluation.last_value(contexts, HORIZON),
    "no growth (seasonal naive)": np.zeros_like(targets),
}
evaluation.compare(forecasts, targets, train, 1).round(4)

# %% [markdown]
# ## Error per step
#
# How much worse does it get, the further we look? The line is the mean absolute error of each step
# over all windows, the band holds the middle 80 % of them.

# %%
figure, panel = plt.subplots(figsize=(8, 3.6), layout="constrained")
steps = np.arange(1, HORIZON + 1)
for (name, forecast), colour in zip(forecasts.items(), plotting.COLOURS, strict=False):
    errors = 100 * np.abs(forecast - targets)[..., 0]  # (windows, steps), in per cent of growth
    panel.plot(steps, errors.mean(axis=0), "o-", color=colour, label=name)
    panel.fill_between(steps, *np.quantile(errors, (0.1, 0.9), axis=0), color=colour, alpha=0.12)
panel.set_xlabel("step of the forecast [months]")
panel.set_ylabel("absolute error\n[percentage points of growth]")
panel.legend(frameon=False, loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.08))
panel.set_title(f"Error per step, {len(targets)} test windows")
plt.show()

# %% [markdown]
# ## Save it, load it
#
# After `import kerastrans` a saved model reloads in Keras's safe mode, and still generates.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "passengers.keras"
    model.save(path)
    reloaded = keras.saving.load_model(path)
np.abs(reloaded.generate(context, HORIZON) - model.generate(context, HORIZON)).max()

# %% [markdown]
# ## Exercises
#
# 1. Train with `decoder_noise=0.0`. What happens to the training error, and to the forecast?
# 2. Forecast the logarithm itself instead of the growth. Why does the model fail on the last years?
# 3. Build a direct model instead: `kerastrans.zoo.build("nlinear", 24, 12, 1)`. Is it better?
#
# Answers: [answers.ipynb](answers.ipynb).
