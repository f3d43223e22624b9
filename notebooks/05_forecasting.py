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
# its own output less often. <!-- claim: pairs --> Attention compares all pairs of tokens, 49 for
# seven tokens and 28,224 for 168. `patch_length` also normalises each window by its mean and
# standard deviation, so that a busy week and a quiet one look alike to the model, and lets the
# three airports share the weights: each airport is a sequence of its own days. The rest is the
# model of lesson 4.


# %%
def build(channels=3):
    return kerastrans.build_transformer_model(
        (WEEK, channels),
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
assert ((WEEK // DAY) ** 2, WEEK**2) == (49, 28_224)  # claim: pairs

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
forecasts_of_seeds, curves, models = {}, [], []
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
    models.append(model)

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
# training did not have.

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

# %% [markdown]
# How much worse does it get, the further we look? Each line is the mean absolute error over all
# windows and airports. The windows begin at every hour of the day, so that a line has no rhythm of
# its own; it rises only with the distance. <!-- claim: days --> The second day has a larger error
# than the first one, and a larger one than the week before, by more than three standard deviations
# of the seeds: a model that was trained for one day is good for one day. For three days, train it
# with windows of three days.

# %%
histories, days = sliding_windows(test, WEEK, 3 * DAY)
shown = {
    f"Transformer, seed {seed}": evaluation.forecast_windows(model, histories, 3 * DAY)
    for seed, model in enumerate(models)
}
shown |= {
    "the day before": evaluation.seasonal_naive(histories, 3 * DAY, DAY),
    "the week before": evaluation.seasonal_naive(histories, 3 * DAY, WEEK),
}
by_hour = {name: np.abs(x - days).mean(axis=(0, 2)) for name, x in shown.items()}
by_day = pd.DataFrame({name: x.reshape(3, DAY).mean(axis=1) for name, x in by_hour.items()}).T
by_day.columns = ["day 1", "day 2", "day 3"]
print(by_day.round(2))
first, second = (by_day[day].filter(like="Transformer") for day in ("day 1", "day 2"))
if EPOCHS > 2:
    assert second.mean() - first.mean() > 3 * max(first.std(), second.std())  # claim: days
    assert second.mean() - 3 * second.std() > by_day["day 2"]["the week before"]  # claim: days

# Alt text: Mean absolute error of each hour of a forecast of three days: the lines of the
# Transformer are lowest on the first day, rise by steps from day to day and cross the level line of
# the week before after the first day; that of the day before is highest.
figure, panel = plt.subplots(figsize=(8, 3.4), layout="constrained")
for name, errors in by_hour.items():
    kind = name.partition(",")[0]
    colour = plotting.COLOURS[["Transformer", "the day before", "the week before"].index(kind)]
    label = None if name.endswith(("1", "2")) else kind
    panel.plot(np.arange(1, 3 * DAY + 1), errors, color=colour, alpha=0.8, label=label)
for day in (1, 2):
    panel.axvline(day * DAY + 0.5, color="#bbbbbb", lw=0.8, ls=":")
panel.set_ylim(bottom=0)
panel.set_xlabel("hour of the forecast")
panel.set_ylabel("mean absolute error\n[flights per hour]")
panel.legend(frameon=False, loc="lower center", ncols=3, bbox_to_anchor=(0.5, 1))
plt.show()

# %% [markdown]
# ## Where it looks
#
# The model has three attentions, as in [lesson 4](04_copy_task.ipynb), and now a token is a day.
# Which days do its heads read? `attention_scores` takes one sequence at a time. Our model reads
# each airport as a sequence of its own, so we put the same weights into a model of one airport. One
# window can be an exception: the maps are means over all airports and every fifth day of the test
# part.


# %%
def mean_maps(model):
    """Attention weights (blocks, heads, queries, keys) of each kind, over many windows."""
    single = build(channels=1)
    single.set_weights(model.get_weights())
    found = {}
    for start in range(0, len(test) - WEEK - 3 * DAY, 5 * DAY):
        for airport in range(3):
            history = test[start : start + WEEK, [airport]][None]
            generated = single.generate(history, 3 * DAY)
            seen = np.concatenate([history[:, -DAY:], generated[:, :-DAY]], axis=1)
            for kind, weights in kerastrans.attention_scores(single, [history, seen]).items():
                found.setdefault(kind, []).append(weights)
    return {kind: np.mean(weights, axis=0) for kind, weights in found.items()}


maps = [mean_maps(model) for model in models]
PAST, FUTURE = [f"{k} days before" for k in range(7, 0, -1)], ["day 1", "day 2", "day 3"]
PAST[-1] = "1 day before"
# Alt text: Four heat maps of encoder self-attention, days of the history by days of the history: in
# several heads the column of the first day is bright for the later days.
plotting.attention_heatmaps(
    maps[0]["encoder_self"], PAST, PAST, title="Encoder", query_axis="token", key_axis="reads"
)

# %%
# Alt text: Four heat maps of decoder self-attention for three days: cells above the diagonal are
# empty, and the visible days have similar weights.
plotting.attention_heatmaps(
    maps[0]["decoder_self"], FUTURE, FUTURE, title="Decoder", query_axis="token", key_axis="reads"
)

# %%
# Alt text: Four heat maps of cross-attention, three days of the forecast by seven days of the
# history: the last day before the forecast is dark in all of them.
plotting.attention_heatmaps(
    maps[0]["cross"], FUTURE, PAST, title="Cross", query_axis="forecast", key_axis="reads"
)

# %% [markdown]
# <!-- claim: first day --> In the encoder, the first day of the history has the largest mean weight
# with each of three seeds, more than its share of one seventh: it is the same day of the week as
# the day to forecast. The model is not given the weekday; it learnt the position. How the
# heads divide the work differs from seed to seed. <!-- claim: last day --> Cross-attention gives
# the last day less than its share with each seed. Is the last day unimportant then?
#
# A weight says what a layer reads, not what the forecast depends on. That can be measured: exchange
# one day of the history with that of other windows, and see how much the error grows.
# <!-- claim: exchanged --> The last day matters: without its own value there, the error grows by
# more than 40 % with each seed. The decoder does not have to look for that day, because it is its
# first input. On average over the seeds, the first and the last day matter more than each day
# between them.
#
# The seeds differ a lot, as the printed lines show. <!-- claim: first day --> Only the weight of
# the first day exceeds its share by more than three standard deviations of the seeds; take the rest
# as three observations.

# %%
by_seed = np.array([x["encoder_self"].mean(axis=(0, 1, 2)) for x in maps])  # (seeds, days)
crossed = np.array([x["cross"].mean(axis=(0, 1, 2)) for x in maps])
some, answers = contexts[::7], targets[::7]
grows = np.zeros((len(models), 7))
for model, row in zip(models, grows, strict=True):
    before = np.abs(model.generate(some, DAY) - answers).mean()
    for day in range(7):
        mixed, rows = some.copy(), slice(day * DAY, (day + 1) * DAY)
        mixed[:, rows] = some[np.random.default_rng(0).permutation(len(some)), rows]
        row[day] = np.abs(model.generate(mixed, DAY) - answers).mean() / before - 1
names = pd.Index(PAST, name="day of the history")
columns = {"weight, encoder": by_seed, "weight, cross": crossed, "error grows by": grows}
for name, values in columns.items():
    first, last = values[:, 0].round(2), values[:, -1].round(2)
    print(f"{name}, each seed: first day {first}, last day {last}")
if EPOCHS > 2:
    first = by_seed[:, 0]
    assert (by_seed.argmax(axis=1) == 0).all()  # claim: first day
    assert first.mean() - 3 * first.std(ddof=1) > 1 / 7  # claim: first day
    assert crossed[:, -1].max() < 1 / 7  # claim: last day
    assert grows[:, -1].min() > 0.4  # claim: exchanged
    between = grows.mean(axis=0)[1:-1].max()
    assert grows.mean(axis=0)[[0, -1]].min() > between  # claim: exchanged
pd.DataFrame({name: x.mean(axis=0) for name, x in columns.items()}, names).round(2)

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
# stopping, covariates, missing values and prediction intervals. `examples/training_script.py` is a
# script for your own model: it stops when the validation error stops falling, keeps the best
# weights, writes its curves, and continues where it was interrupted.
#
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("5.1")` helps, in three
# steps. Solutions: [answers_forecasting.ipynb](answers_forecasting.ipynb).

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
# **5.5** Predict the error of NLinear, a linear map of the differences from the last value,
# compared with that of the Transformer.

# %%
prediction = ...  # "much larger", "slightly larger", "smaller"
kerastrans.lessons.check("5.5", prediction)
