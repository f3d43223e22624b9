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
# one day at a time. <!-- claim: beats --> It is better than repeating the week before, with each of
# three seeds. The lesson takes about two minutes on two CPU cores.

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
# A window is a week of history and the day after it. The year is split in the order of time: seven
# tenths to train, one tenth to validate, two tenths to test. Each part begins with the last week of
# the part before, because its first window needs a history; no target belongs to two parts. Nothing
# is chosen on the test part. Two forecasts need no training: the day before and the week before.
# <!-- claim: week --> Fridays resemble Fridays, so the week before has the smaller error. The
# column MASE divides the mean absolute error by that of the week before on the training rows: a
# value below 1 is better than this baseline was there (exercise 5.2).

# %%
DAY, WEEK = 24, 168
train, validation, test = chronological_split(series.to_numpy("float32"), (0.7, 0.1, 0.2), WEEK)
contexts, targets = sliding_windows(test, WEEK, DAY)
forecasts = {
    "the day before": evaluation.seasonal_naive(contexts, DAY, DAY),
    "the week before": evaluation.seasonal_naive(contexts, DAY, WEEK),
}
baselines = evaluation.compare(forecasts, targets, train, WEEK)
assert baselines["MAE"].idxmin() == "the week before"  # claim: week
baselines.round(2)

# %% [markdown]
# ## Masks: True means "may be attended to"
#
# The decoder must not see what it has to forecast. Row t of the look-ahead mask says which
# positions token t may attend to. The encoder needs no mask: its tokens are the history, and all of
# it is known. If the forecast depended on a later token of the decoder, the training error would be
# small and the forecast useless; in [lesson 3](03_masks.ipynb) this is measured.
#
# ![Decoding at step t: the encoder reads the history once and its keys and values are kept; the
# output of step t - 1 becomes a query over the cache of earlier steps and over the history, and the
# result is the output of step t.](../docs/images/lessons/decoding.svg)

# %%
keras.ops.convert_to_numpy(kerastrans.create_look_ahead_mask(5)).astype(int)

# %% [markdown]
# ## The model
#
# In the earlier lessons a token was one step. Here it is a patch: 24 hours of one airport. A week
# is then seven tokens and not 168, and the decoder returns a whole day at once, so that it reads
# its own output less often. Attention compares all pairs of tokens, 49 for seven tokens and 28,224
# for 168. `patch_length` also normalises each window by its mean and standard deviation, so that a
# busy week and a quiet one look alike to the model, and lets the three airports share the weights:
# each airport is a sequence of its own days. The rest is the model of lesson 4.


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
# horizon of one day these are the last day of the history. The loss is the mean absolute error, the
# measure that we report. The learning rate falls to zero along a cosine, so that the last steps are
# small. The model is trained with three seeds, because one run can be lucky.

# %%
EPOCHS = 6
SEEDS = 3
forecasts_of_seeds, curves = {}, []
validation_windows = window_dataset(
    validation, WEEK, DAY, teacher_forcing=True, patch_length=DAY, batch_size=256
)
for seed in range(SEEDS):
    keras.utils.set_random_seed(seed)
    windows = window_dataset(
        train, WEEK, DAY, shuffle=True, seed=seed, teacher_forcing=True, patch_length=DAY
    )
    model = build()
    rate = keras.optimizers.schedules.CosineDecay(3e-3, EPOCHS * len(windows))
    model.compile(keras.optimizers.Adam(rate), "mae")
    fit = {"epochs": EPOCHS, "shuffle": False, "verbose": 0}
    curves.append(model.fit(windows, validation_data=validation_windows, **fit).history)
    losses = curves[-1]["loss"]
    print(f"seed {seed}, training error: {losses[0]:.2f} -> {losses[-1]:.2f} flights")
    forecasts_of_seeds[f"Transformer, seed {seed}"] = model.generate(contexts, DAY)

# %% [markdown]
# The validation rows, a tenth of the year after the training rows, show when training should stop:
# when their error no longer falls. <!-- claim: curves --> It falls from the first epoch to the last
# with each seed.

# %%
# Alt text: Learning curves of three seeds over six epochs: training and validation error fall
# together.
figure, panel = plt.subplots(figsize=(7, 3.2), layout="constrained")
for seed, curve in enumerate(curves):
    for (part, errors), style in zip(curve.items(), ("o-", "s--"), strict=True):
        label = {"loss": "training", "val_loss": "validation"}[part] if seed == 0 else None
        colour = plotting.COLOURS[0 if part == "loss" else 1]
        panel.plot(np.arange(1, EPOCHS + 1), errors, style, color=colour, alpha=0.7, label=label)
panel.set_xlabel("epoch")
panel.set_ylabel("mean absolute error\n[flights per hour]")
panel.legend(frameon=False)
panel.set_title("Learning curves, three seeds")
plt.show()
if EPOCHS > 2:
    assert all(x["val_loss"][-1] < x["val_loss"][0] for x in curves)  # claim: curves

# %% [markdown]
# ## Is it better than the week before?
#
# These are all windows of the test set, in flights per hour. The windows overlap, so that their
# errors are not independent of each other; [lesson 5d](05d_honest_evaluation.ipynb) compares
# forecasts on separate days, with an interval.

# %%
scores = evaluation.compare(forecasts_of_seeds | forecasts, targets, train, WEEK)
errors = scores["MAE"].filter(like="Transformer")
if EPOCHS > 2:  # trained in full
    assert errors.max() < scores["MAE"]["the week before"] - 3 * errors.std()  # claim: beats
scores.round(2)

# %% [markdown]
# ## One day, and every hour of it
#
# `generate` feeds each patch back as the next input. The whole loop is compiled, with a cache of
# keys and values, and can continue beyond the day that was trained. Below it continues a week of
# the test set for three days. From the second day on it reads its own forecasts, at positions that
# training did not have. <!-- claim: days --> Over all windows, the second day has a larger error
# than the first.

# %%
start = 20 * DAY
week, days = test[start : start + WEEK], test[start + WEEK : start + WEEK + 3 * DAY]
forecast = model.generate(week[None], 3 * DAY)[0]
times = series.index[-len(test) :][start : start + WEEK + 3 * DAY]
airports = series.columns
# Alt text: Departures of three airports: a week of history, three days of forecast and the observed
# values, with a daily rhythm that the forecast follows.
plotting.plot_forecast(
    pd.DataFrame(week, times[:WEEK], airports),
    {"Transformer": pd.DataFrame(forecast, times[WEEK:], airports)},
    pd.DataFrame(days, times[WEEK:], airports),
    title="Departures, three days ahead",
    unit="flights per hour",
)

# %%
histories, days = sliding_windows(test, WEEK, 3 * DAY)
distances = np.abs(evaluation.forecast_windows(model, histories, 3 * DAY) - days)
by_day = distances.mean(axis=(0, 2)).reshape(3, DAY).mean(axis=1)
print("mean absolute error on each day:", by_day.round(2))
if EPOCHS > 2:
    assert by_day[1] > by_day[0]  # claim: days

# %% [markdown]
# How much worse does it get, the further we look? The line is the mean absolute error of each hour
# over all windows, the band holds the middle 80 % of the errors.

# %%
# Alt text: Mean absolute error of each hour of the forecast, with bands of the middle 80 % of the
# errors: three nearly level lines, the Transformer lowest at every hour, then the week before, then
# the day before.
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
panel.set_ylabel("absolute error\n[flights per hour]")
panel.legend(frameon=False, loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1.08))
panel.set_title(f"Error per hour, {len(targets)} test windows")
plt.show()

# %% [markdown]
# ## Save it, load it
#
# A `.keras` file holds the graph, its settings and the weights, but no code. After
# `import kerastrans` a saved model reloads in Keras's safe mode. <!-- claim: reloads --> It
# generates the same forecasts.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "departures.keras"
    model.save(path)
    reloaded = keras.saving.load_model(path)
difference = np.abs(reloaded.generate(contexts[:8], DAY) - model.generate(contexts[:8], DAY)).max()
assert difference < 1e-3  # claim: reloads
print(f"largest difference {difference:.1e}")

# %% [markdown]
# `kerastrans.Forecaster("time_series_transformer", prediction_length=24)` is this model with early
# stopping, covariates, missing values and prediction intervals.
#
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("5.1")` helps, in three
# steps. Solutions: [answers.ipynb](answers.ipynb).

# %% [markdown]
# **5.1** Return all windows of a series: contexts, and the targets that follow them.


# %%
def windows(series, context_length, prediction_length):
    return ...


kerastrans.lessons.check("5.1", windows)

# %% [markdown]
# **5.2** Return the mean absolute scaled error (MASE) of forecasts of one series.


# %%
def mase(targets, forecasts, train, season):
    return ...


kerastrans.lessons.check("5.2", mase)

# %% [markdown]
# **5.3** Predict the error after six epochs with dropout=0.2, compared with the lesson's.

# %%
prediction = ...  # "larger", "smaller", "the same"
kerastrans.lessons.check("5.3", prediction)

# %% [markdown]
# **5.4** Predict the error if the decoder also sees the week before, lags=(168,).

# %%
prediction = ...  # "larger", "smaller", "the same"
kerastrans.lessons.check("5.4", prediction)

# %% [markdown]
# **5.5** Predict the error of NLinear compared with that of the Transformer.

# %%
prediction = ...  # "much larger", "slightly larger", "smaller"
kerastrans.lessons.check("5.5", prediction)
