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
# # 5b. At once or step by step, and how sure?
#
# Two questions come up with every forecaster. Does it return the whole horizon at once, or one step
# at a time, each from the steps before? And how sure is it? The lesson measures both on the flights
# of lesson 5, summed over three hours. It takes about a minute on two CPU cores.

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
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import matplotlib.pyplot as plt
import numpy as np

import kerastrans
from kerastrans import Forecaster, plotting
from kerastrans.data import chronological_split, sliding_windows, window_dataset

WEEK, DAY = 56, 8  # steps of three hours
frame = kerastrans.datasets.load("nyc_departures").resample("3h").sum()
train, validation, test = chronological_split(frame.to_numpy("float32"), (0.7, 0.1, 0.2), WEEK)
contexts, targets = sliding_windows(test, WEEK, DAY)

# %% [markdown]
# ## Step by step: what training shows and what use shows
#
# This is the Transformer of lesson 5 with patches of two steps: a day is four patches, and each is
# forecast from the ones before. In training these are the true values (teacher forcing); in use
# they are its own outputs. The difference between the two errors is called *exposure bias*: the
# model is exposed to inputs that it was not trained on.
#
# The other model is the same with patches of eight steps. It returns the whole day at once,
# directly, and never reads its own outputs.

# %%
EPOCHS = 4
SEEDS = 3


def train_model(patch_length, seed):
    keras.utils.set_random_seed(seed)
    model = kerastrans.build_transformer_model(
        (WEEK, 3),
        patch_length=patch_length,
        num_heads=4,
        key_dim=8,
        ff_dim=64,
        num_encoder_blocks=1,
        num_decoder_blocks=1,
        dropout=0.0,
    )
    options = {"teacher_forcing": True, "patch_length": patch_length, "batch_size": 32}
    windows = window_dataset(train, WEEK, DAY, shuffle=True, seed=seed, **options)
    rate = keras.optimizers.schedules.CosineDecay(5e-3, EPOCHS * len(windows))
    model.compile(keras.optimizers.Adam(rate), "mae", jit_compile=False)
    model.fit(windows, epochs=EPOCHS, shuffle=False, verbose=0)
    return model


def by_step(forecasts):
    return np.abs(forecasts - targets).mean(axis=(0, 2))


curves = {"true values fed back": [], "own outputs fed back": [], "at once": []}
known = np.concatenate([contexts[:, -2:], targets[:, :-2]], axis=1)  # two steps before the targets
for seed in range(SEEDS):
    model = train_model(2, seed)
    forced = keras.ops.convert_to_numpy(model([contexts, known], training=False))
    curves["true values fed back"].append(by_step(forced))
    curves["own outputs fed back"].append(by_step(model.generate(contexts, DAY)))
    curves["at once"].append(by_step(train_model(DAY, seed).generate(contexts, DAY)))
curves = {name: np.array(x) for name, x in curves.items()}  # (seeds, steps)
for name, errors in curves.items():
    print(f"{name:>20}: {errors.mean(axis=1).round(2)} flights per three hours")

# %% [markdown]
# <!-- claim: bias --> With its own outputs, the error over the day is more than 10 % larger than
# with the true values, with each of three seeds. The first patch has no outputs to read, so that
# its error is the same. The size of the bias differs between the seeds by more than its mean, so
# only its sign is a result. An error of the validation with teacher forcing promises too much:
# measure what the model does in use.
#
# <!-- claim: direct --> At once is better here: its error is smaller even than that of the model
# that is given the true values, by more than three standard deviations of the seeds. The reason is
# not only the bias: after the same number of epochs, the model with short patches has learnt less.
# A model that goes step by step is worth its price if the horizon is not fixed, or if sample paths
# are required.

# %%
forced, fed, direct = curves.values()
assert np.allclose(forced[:, :2], fed[:, :2], rtol=1e-3)  # claim: bias
if EPOCHS > 2:  # trained in full
    assert (fed.mean(axis=1) > 1.1 * forced.mean(axis=1)).all()  # claim: bias
    spread = max(x.mean(axis=1).std(ddof=1) for x in (forced, direct))
    assert forced.mean() - direct.mean() > 3 * spread  # claim: direct

# Alt text: Mean absolute error of eight steps for three ways of forecasting, with the range of
# three seeds: at once is lowest, own outputs fed back highest.
figure, panel = plt.subplots(figsize=(8, 3.6), layout="constrained")
steps = np.arange(1, DAY + 1)
for (name, errors), colour in zip(curves.items(), plotting.COLOURS, strict=False):
    panel.plot(steps, errors.mean(axis=0), "o-", color=colour, label=name)
    panel.fill_between(steps, errors.min(axis=0), errors.max(axis=0), color=colour, alpha=0.15)
panel.set_xlabel("step of three hours")
panel.set_ylabel("mean absolute error\n[flights per three hours]")
panel.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
plt.show()

# %% [markdown]
# ## How sure? Quantiles
#
# A point says nothing about its error. A quantile forecast of 0.9 is a value that the series stays
# below with a probability of 0.9. It is trained with the *pinball loss*: a value above the forecast
# costs 0.9 of the distance, a value below it costs 0.1. <!-- claim: pinball --> The number with the
# smallest mean pinball loss is the quantile of the data; for 0.5 it is the median.

# %%
values = np.sort(np.random.default_rng(0).gamma(2.0, size=999))
for level in (0.1, 0.5, 0.9):
    distance = values - values[:, None]  # (forecast, value)
    losses = np.where(distance > 0, level * distance, (level - 1) * distance).mean(axis=1)
    best = values[losses.argmin()]
    print(f"{level}: smallest loss at {best:.3f}, quantile {np.quantile(values, level):.3f}")
    assert abs(best - np.quantile(values, level)) < 0.01  # claim: pinball

# %% [markdown]
# A `Forecaster` trains nine quantiles by default and returns intervals of 80 % and 95 %. *Coverage*
# is the share of values that an interval contains. An interval of 80 % is right if it contains 80 %
# of the values of the test part, neither fewer nor more. `calibrate` corrects it with the errors of
# rows that the model was not trained on (conformal prediction).

# %%
hold_out = len(validation) - WEEK
rows = {"train": frame[: len(train)], "known": frame[: len(train) + hold_out]}
days = (len(test) - WEEK) // DAY


def coverage(forecaster, level=80):
    table = forecaster.backtest(frame, windows=days)
    low, high = (table[f"nlinear-{side}-{level}"] for side in ("lo", "hi"))
    inside = (low <= table["y"]) & (table["y"] <= high)
    return inside.mean(), (high - low).mean()


before, after = [], []
for seed in range(SEEDS):
    forecaster = Forecaster("nlinear", WEEK, DAY, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # intervals are not calibrated yet: this is the point
        forecaster.fit(rows["train"], epochs=EPOCHS, verbose=0)
    before.append(coverage(forecaster))
    forecaster.calibrate(rows["known"], windows=hold_out // DAY)
    after.append(coverage(forecaster))
(before, wide), (after, narrow) = (np.array(x).T for x in (before, after))  # one value per seed
print(f"80 % intervals contain {before.round(3)} with mean widths of {wide.round(1)} flights")
print(f"after calibration:     {after.round(3)} with mean widths of {narrow.round(1)} flights")

# %% [markdown]
# <!-- claim: coverage --> Before the calibration the intervals are too wide: they contain more than
# the 80 % that they promise. Afterwards they are narrower, and contain between 75 and 85 %. All of
# this holds with a margin of three standard deviations of the seeds. The guarantee holds for days
# that resemble those of the calibration. Here the calibration ends in October and the test includes
# Christmas.

# %%
if EPOCHS > 2:
    assert before.mean() - 3 * before.std(ddof=1) > 0.8  # claim: coverage
    assert abs(after.mean() - 0.8) + 3 * after.std(ddof=1) < 0.05  # claim: coverage
    margin = 3 * np.mean([wide.var(ddof=1), narrow.var(ddof=1)]) ** 0.5
    assert wide.mean() - narrow.mean() > margin  # claim: coverage

figure = forecaster.predict(frame[: len(frame) - DAY])
airport = figure[figure["unique_id"] == "JFK"]
history = frame["JFK"][-4 * DAY :]
# Alt text: Departures from JFK over four days, and the forecast of the next day as a median in
# intervals of 80 % and 95 %.
_, panel = plt.subplots(figsize=(8, 3.4), layout="constrained")
panel.plot(history.index, history, color="#444444", label="observed")
panel.plot(airport["ds"], airport["nlinear"], color=plotting.COLOURS[0], label="median")
for level, alpha in ((95, 0.15), (80, 0.25)):
    panel.fill_between(
        airport["ds"],
        airport[f"nlinear-lo-{level}"],
        airport[f"nlinear-hi-{level}"],
        color=plotting.COLOURS[0],
        alpha=alpha,
        label=f"{level} %",
    )
panel.set_ylabel("departures from JFK\n[flights per three hours]")
panel.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1))
plt.show()

# %% [markdown]
# Intervals of single steps do not say how the steps of a day vary together. For the sum of a day or
# its highest value, draw sample paths: `forecaster.simulate`, or a model with a distribution as its
# head, and `kerastrans.generate_samples`.
#
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("5b.1")` helps, in three
# steps. Solutions: [answers_forecasting.ipynb](answers_forecasting.ipynb).

# %% [markdown]
# **5b.1** Forecast num_steps values of (batch, time): each step is appended, the oldest one
# dropped. The function one_step maps (batch, time) to the next value, (batch,).


# %%
def roll_out(one_step, history, num_steps):
    return ...


kerastrans.lessons.check("5b.1", roll_out)

# %% [markdown]
# **5b.2** Return the mean pinball loss of forecasts of one quantile.


# %%
def pinball(targets, forecasts, quantile):
    return ...


kerastrans.lessons.check("5b.2", pinball)

# %% [markdown]
# **5b.3** Return the share of targets in their intervals, whose ends belong to them.


# %%
def coverage(low, high, targets):
    return ...


kerastrans.lessons.check("5b.3", coverage)
