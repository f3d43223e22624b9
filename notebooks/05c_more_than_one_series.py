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
# # 5c. Covariates, many series, published weights
#
# What helps a forecast in addition to the history of the series? This lesson measures four answers:
# values that are known in advance, the calendar, other series, and weights that were trained on
# other data. It ends with cases that need no Transformer. It takes about a minute on two CPU cores.

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
import pandas as pd

import kerastrans
from kerastrans import Forecaster, backtesting, plotting

EPOCHS = 6
SEEDS = 3

# %% [markdown]
# ## A covariate that is known in advance
#
# Sales of a shop, made by a formula, so that we know the answer: a weekly pattern, noise with a
# standard deviation of 5, and 40 more on days with a promotion. The promotions are random; the past
# says nothing about the next one. But the shop knows them in advance. In kerastrans such a column
# is named in `future=`; `past=` is for columns that are known only up to now.

# %%
random = np.random.default_rng(0)
days = pd.date_range("2022-01-01", periods=900)
promotion = (random.random(900) < 0.2).astype(float)
sales = (
    100 + 20 * np.sin(2 * np.pi * days.dayofweek / 7) + 40 * promotion + random.normal(0, 5, 900)
)
shop = pd.DataFrame(
    {"unique_id": "shop", "ds": days, "y": np.asarray(sales), "promotion": promotion}
)
BEFORE = 700  # training rows


def errors_of(frame, train, windows, **options):
    """Mean absolute error of the rows after the training, one per seed."""
    errors = []
    for seed in range(SEEDS):
        forecaster = Forecaster("nlinear", seed=seed, head="point", **options)
        forecaster.fit(train, epochs=EPOCHS, verbose=0)
        table = forecaster.backtest(frame, windows=windows)
        errors.append((table["nlinear"] - table["y"]).abs().mean())
    return np.array(errors)


def margin(first, second):
    """Three standard deviations of the seeds, from the mean of both variances."""
    return 3 * np.mean([np.var(x, ddof=1) for x in (first, second)]) ** 0.5


sizes = {"context_length": 28, "prediction_length": 7}
covariates = {
    "without": errors_of(shop, shop[:BEFORE], 28, **sizes),
    "with future promotions": errors_of(shop, shop[:BEFORE], 28, future=["promotion"], **sizes),
}
for name, errors in covariates.items():
    print(f"{name:>22}: mean absolute error {np.round(errors, 2)}")

# %% [markdown]
# <!-- claim: promotions --> With the promotions the error is less than half of that without, by
# more than three standard deviations of the seeds. The noise has a mean absolute value of
# $5\sqrt{2/\pi} = 4.0$, and no forecast can have a smaller error than that.

# %%
if EPOCHS > 2:  # trained in full
    without, known = covariates.values()
    assert without.mean() / 2 - known.mean() > margin(without / 2, known)  # claim: promotions

# %% [markdown]
# ## The calendar
#
# Hour, weekday and month are known in advance too. A number from 0 to 23 is a bad input: 23 and 0
# are neighbours. A pair of a sine and a cosine, as in lesson 1, makes a circle of the day.
# `calendar=True` adds such pairs. Do they help if the context already shows the last week?

# %%
flights = kerastrans.datasets.load("nyc_departures").resample("3h").sum()
TEST = 8 * 70
sizes = {"context_length": 56, "prediction_length": 8}
calendars = {
    calendar: errors_of(flights, flights[:-TEST], 70, calendar=calendar, **sizes)
    for calendar in (False, True)
}
week_ago = Forecaster("seasonal_naive", head="point", season=56, **sizes).fit(flights[:-TEST])
table = week_ago.backtest(flights, windows=70)
print(f"the week before: {(table['seasonal_naive'] - table['y']).abs().mean():.2f}")
for calendar, errors in calendars.items():
    print(f"calendar={calendar}: mean absolute error {np.round(errors, 2)}")

# %% [markdown]
# <!-- claim: calendar --> The calendar changes the error by less than a tenth, with a margin of
# three standard deviations of the seeds: the context of a week shows most of it already. Neither
# model is better than the week before after these few epochs. Measure before you keep an input.

# %%
if EPOCHS > 2:
    without, known = calendars.values()
    change = abs(without.mean() - known.mean())
    assert change + margin(without, known) < without.mean() / 10  # claim: calendar
    baseline = (table["seasonal_naive"] - table["y"]).abs().mean()
    for errors in (without, known):
        assert errors.mean() - 3 * errors.std(ddof=1) > baseline  # claim: calendar

# %% [markdown]
# ## Many series: one model for all
#
# Each of forty shops has 60 days of history, with the same kind of weekly pattern in another phase
# and size. One model for each shop sees 60 values. One model for all shops sees 2,400; each window
# is scaled by its own context, so that small and large shops look alike.

# %%
SHOPS, LENGTH, STEPS = 40, 60, 7
sizes = {"context_length": 21, "prediction_length": STEPS}
times = pd.date_range("2024-01-01", periods=LENGTH + STEPS)
size, phase = random.uniform(10, 1000, SHOPS), random.uniform(0, 7, SHOPS)
waves = np.sin(2 * np.pi * (np.arange(LENGTH + STEPS)[:, None] + phase) / 7)
values = size * (1 + 0.5 * waves + random.normal(0, 0.1, waves.shape))
names = [f"shop {i:02}" for i in range(SHOPS)]
shops = pd.DataFrame(values, times, names).melt(
    ignore_index=False, var_name="unique_id", value_name="y"
)
shops = shops.rename_axis("ds").reset_index()
scales = pd.Series(size, names)
past = shops[shops["ds"] < times[LENGTH]]


def relative_error(forecaster, frame):
    rows = forecaster.backtest(frame, windows=1)
    distances = (rows["nlinear"] - rows["y"]).abs() / rows["unique_id"].map(scales)
    return distances.mean()


COMPARED = 5  # shops with a model each
few = shops[shops["unique_id"].isin(names[:COMPARED])]
pooled, single = [], []
for seed in range(SEEDS):
    forecaster = Forecaster("nlinear", seed=seed, head="point", **sizes)
    forecaster.fit(past, epochs=EPOCHS, verbose=0)
    pooled.append(relative_error(forecaster, few))
    errors = []
    for name in names[:COMPARED]:
        forecaster = Forecaster("nlinear", seed=seed, head="point", **sizes)
        forecaster.fit(past[past["unique_id"] == name], epochs=EPOCHS, verbose=0)
        errors.append(relative_error(forecaster, shops[shops["unique_id"] == name]))
    single.append(np.mean(errors))
print(f"one model for all shops: {np.round(pooled, 3)} of the size of a shop")
print(f"one model per shop:      {np.round(single, 3)}")

# %% [markdown]
# <!-- claim: pooled --> The model for all shops has a smaller error than the models of single
# shops, by more than three standard deviations of the seeds. In lesson 5 the three airports share
# the weights, and a token is a day of one airport. Reading channels one by one as if they were
# separate series is called *channel independence* (PatchTST); it gives more training windows, and
# ignores what one channel could say about another.

# %%
if EPOCHS > 2:
    assert np.mean(single) - np.mean(pooled) > margin(single, pooled)  # claim: pooled

# %% [markdown]
# ## Published weights: forecast first, train later
#
# If one model can serve all shops, can one model serve all series? `from_pretrained` loads weights
# that were trained on many other series. They forecast without training (*zero-shot*). The weights
# below are included in the package: kerastrans-zero was trained on synthetic series only, so that
# the flights cannot be among them. Always read the card: a score on series that the weights were
# trained on is a leak.
#
# Fine-tuning trains the weights further on your series, here all of them, for one epoch.
# <!-- claim: zero --> Without training, the error of the last four weeks is smaller than that of
# the week before. <!-- claim: tuned --> Fine-tuning changes it by less than 5 %, with a margin of
# three standard deviations of the seeds: weights that were trained on enough other series leave
# little to gain here. `examples/fine_tuning.py` also trains a few thin matrices instead of all
# weights (LoRA).

# %%
hourly = kerastrans.datasets.load("nyc_departures")
WINDOWS = 28  # days to forecast
past = hourly[: -24 * WINDOWS]


def score(forecaster):
    return float(backtesting.score(forecaster.backtest(hourly, windows=WINDOWS))["mae"].iloc[0])


naive = Forecaster("seasonal_naive", 512, 24, season=168, head="point").fit(past)
weeks = {"the week before": score(naive)}
weeks["zero-shot"] = score(kerastrans.from_pretrained("kerastrans_zero_2", 24, 512, verbose=False))
tuned = []
for seed in range(SEEDS):
    forecaster = kerastrans.from_pretrained(
        "kerastrans_zero_2",
        24,
        512,
        trainable="all",
        optimizer=keras.optimizers.Adam(1e-3, clipnorm=1.0),
        seed=seed,
        verbose=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the intervals are not used here
        forecaster.fit(past, stride=24, epochs=1, verbose=0)
    tuned.append(score(forecaster))
print({name: round(error, 2) for name, error in weeks.items()}, "fine-tuned", np.round(tuned, 3))
assert weeks["zero-shot"] < weeks["the week before"]  # claim: zero
if EPOCHS > 2:
    change = abs(weeks["zero-shot"] - np.mean(tuned)) + 3 * np.std(tuned, ddof=1)
    assert change < 0.05 * weeks["zero-shot"]  # claim: tuned

# %% [markdown]
# ## When not to use a Transformer
#
# - **Nothing to find.** The steps of a random walk are independent of its past; the best forecast
#   is the last value. <!-- claim: walk --> The pretrained Transformer is not better than the last
#   value on two hundred random walks.
# - **Few rows.** With 60 values, the linear models above already overfit. Start with a seasonal
#   naive forecast, ETS or published weights.
# - **A linear model does as well.** [Lesson 4b](04b_what_each_part_is_worth.ipynb) measures how
#   much each part of a Transformer adds on the flights. Take the simplest model within the spread.
# - **The answer is in a covariate.** If promotions explain the sales, a regression on them is
#   enough.

# %%
steps = random.normal(size=(200, 128))
walks = pd.DataFrame(steps.cumsum(axis=1).T, pd.date_range("2024-01-01", periods=128))
walks = walks.melt(ignore_index=False, var_name="unique_id", value_name="y")
walks = walks.rename_axis("ds").reset_index()
walker = kerastrans.from_pretrained("kerastrans_zero_2", 8, 120, verbose=False)
rows = walker.backtest(walks, windows=1)
last = walks.groupby("unique_id")["y"].nth(-9).to_numpy()
truth = rows["y"].to_numpy().reshape(200, 8)
by_model = np.abs(rows[walker.alias].to_numpy().reshape(200, 8) - truth).mean(axis=0)
by_last = np.abs(last[:, None] - truth).mean(axis=0)
print(f"random walks: last value {by_last.mean():.3f}, zero-shot {by_model.mean():.3f}")
assert by_model.mean() > 0.99 * by_last.mean()  # claim: walk

# Alt text: Error of random walks over eight steps: both curves rise, and that of the zero-shot
# Transformer is slightly above that of the last value.
figure, panel = plt.subplots(figsize=(7, 3.2), layout="constrained")
for name, errors, colour in (
    ("last value", by_last, plotting.COLOURS[0]),
    ("zero-shot Transformer", by_model, plotting.COLOURS[1]),
):
    panel.plot(np.arange(1, 9), errors, "o-", color=colour, label=name)
panel.set_xlabel("step")
panel.set_ylabel("mean absolute error\n[steps' standard deviations]")
panel.legend(frameon=False)
panel.set_title("Random walks")
plt.show()

# %% [markdown]
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("5c.1")` helps, in three
# steps. Solutions: [answers_forecasting.ipynb](answers_forecasting.ipynb).

# %% [markdown]
# **5c.1** Return (time, 2): the sine and the cosine of the hour of the day, an array of 0 to 23.


# %%
def hour_features(hours):
    return ...


kerastrans.lessons.check("5c.1", hour_features)

# %% [markdown]
# **5c.2** Return (batch * channels, patches, patch_length) of windows (batch, time, channels).


# %%
def patches(windows, patch_length):
    return ...


kerastrans.lessons.check("5c.2", patches)

# %% [markdown]
# **5c.3** Return the columns that the model may read for the days to forecast, in their order.
# `columns` is a dict of name -> "measured", "calendar", "planned" or "weather forecast".


# %%
def known_in_advance(columns):
    return ...


kerastrans.lessons.check("5c.3", known_in_advance)
