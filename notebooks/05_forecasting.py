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
# The flights that leave New York's three airports, hour by hour in 2013. We train an
# encoder-decoder Transformer on the first seven tenths of the year and let it continue the series
# one day at a time. It has to be better than repeating the week before, with every seed. The
# lesson takes about a minute and a half on two CPU cores.

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
from kerastrans.data import chronological_split, sliding_windows, window_dataset

series = kerastrans.datasets.load("nyc_departures")
series.tail(3)

# %% [markdown]
# ## Baselines first
#
# A window is a week of history and the day after it. The last fifth of the year is the test set.
# Nothing is chosen on it. Two forecasts need no training: the day before and the week before.
# Fridays resemble Fridays, so the week before has the smaller error.

# %%
DAY, WEEK = 24, 168
train, validation, test = chronological_split(series.to_numpy("float32"), (0.7, 0.1, 0.2), WEEK)
contexts, targets = sliding_windows(test, WEEK, DAY)
forecasts = {
    "the day before": evaluation.seasonal_naive(contexts, DAY, DAY),
    "the week before": evaluation.seasonal_naive(contexts, DAY, WEEK),
}
evaluation.compare(forecasts, targets, train, WEEK).round(2)

# %% [markdown]
# ## Masks: True means "may be attended to"
#
# The decoder must not see what it has to forecast. Row t of the look-ahead mask says which
# positions token t may attend to.

# %%
keras.ops.convert_to_numpy(kerastrans.create_look_ahead_mask(5)).astype(int)

# %% [markdown]
# ## The model
#
# In the earlier lessons a token was one step. Here it is a patch: 24 hours of one airport. A week
# is then seven tokens and not 168, and the decoder returns a whole day at once, so that it reads
# its own output less often. `patch_length` also normalises each window by its mean and standard
# deviation, and lets the three airports share the weights. The rest is the model of lesson 4.


# %%
def build():
    return kerastrans.build_transformer_model(
        (WEEK, 3),
        patch_length=DAY,
        num_heads=4,
        key_dim=16,
        ff_dim=128,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        dropout=0.0,
    )


model = build()
print(f"{model.count_params():,} weights; {WEEK // DAY} tokens in a week")

# %% [markdown]
# ## Training
#
# Under teacher forcing the decoder is given the true values a patch before its targets. For a
# horizon of one day these are the last day of the history. The model is trained with three seeds,
# because one run can be lucky.

# %%
EPOCHS = 6
forecasts_of_seeds = {}
for seed in range(3):
    keras.utils.set_random_seed(seed)
    windows = window_dataset(
        train, WEEK, DAY, shuffle=True, seed=seed, teacher_forcing=True, patch_length=DAY
    )
    model = build()
    rate = keras.optimizers.schedules.CosineDecay(3e-3, EPOCHS * len(windows))
    model.compile(keras.optimizers.Adam(rate), "mae")
    history = model.fit(windows, epochs=EPOCHS, shuffle=False, verbose=0)
    losses = history.history["loss"]
    print(f"seed {seed}, training error: {losses[0]:.2f} -> {losses[-1]:.2f} flights")
    forecasts_of_seeds[f"Transformer, seed {seed}"] = model.generate(contexts, DAY)

# %% [markdown]
# ## Is it better than the week before?
#
# These are all windows of the test set, in flights per hour.

# %%
scores = evaluation.compare(forecasts_of_seeds | forecasts, targets, train, WEEK)
errors = scores["mae"].filter(like="Transformer")
if EPOCHS > 2:
    assert errors.max() < scores["mae"]["the week before"] - 3 * errors.std()
scores.round(2)

# %% [markdown]
# ## One day, and every hour of it
#
# `generate` feeds each patch back as the next input. The whole loop is compiled, with a cache of
# keys and values, and can continue beyond the day that was trained: below, three days after the
# end of a week in the test set.

# %%
start = 20 * DAY
week, days = test[start : start + WEEK], test[start + WEEK : start + WEEK + 3 * DAY]
forecast = model.generate(week[None], 3 * DAY)[0]
times = pd.date_range("2013-11-08", periods=WEEK + 3 * DAY, freq="h")
airports = series.columns
plotting.plot_forecast(
    pd.DataFrame(week, times[:WEEK], airports),
    {"Transformer": pd.DataFrame(forecast, times[WEEK:], airports)},
    pd.DataFrame(days, times[WEEK:], airports),
    title="Departures, three days ahead",
    unit="flights an hour",
)

# %% [markdown]
# How much worse does it get, the further we look? The line is the mean absolute error of each hour
# over all windows, the band holds the middle 80 % of the errors.

# %%
figure, panel = plt.subplots(figsize=(8, 3.6), layout="constrained")
shown = {"Transformer": forecasts_of_seeds["Transformer, seed 0"]} | forecasts
for (name, values), colour in zip(shown.items(), plotting.COLOURS, strict=False):
    distances = np.abs(values - targets)  # (windows, hours, airports)
    hours = np.arange(1, DAY + 1)
    panel.plot(hours, distances.mean(axis=(0, 2)), "o-", color=colour, label=name)
    panel.fill_between(
        hours, *np.quantile(distances, (0.1, 0.9), axis=(0, 2)), color=colour, alpha=0.12
    )
panel.set_xlabel("hour of the forecast")
panel.set_ylabel("absolute error\n[flights an hour]")
panel.legend(frameon=False, loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.08))
panel.set_title(f"Error per hour, {len(targets)} test windows")
plt.show()

# %% [markdown]
# ## Save it, load it
#
# After `import kerastrans` a saved model reloads in Keras's safe mode, and still generates.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "departures.keras"
    model.save(path)
    reloaded = keras.saving.load_model(path)
np.abs(reloaded.generate(contexts[:8], DAY) - model.generate(contexts[:8], DAY)).max()

# %% [markdown]
# `kerastrans.Forecaster("time_series_transformer", prediction_length=24)` is this model with early
# stopping, covariates, missing values and prediction intervals.
#
# ## Exercises
#
# 1. Train with `dropout=0.2`. What happens to the errors after six epochs?
# 2. Give the decoder the value a week before each target, `lags=(168,)`. Does it help?
# 3. Train a linear model instead: `kerastrans.zoo.build("nlinear", 168, 24, 3)`, without teacher
#    forcing. Is it better?
#
# Answers: [answers.ipynb](answers.ipynb).
