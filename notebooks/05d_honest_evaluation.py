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
# # 5d. Honest evaluation
#
# A forecast is easy to evaluate wrongly, and the common mistakes make a model look better than it
# is. This lesson makes three of them on purpose and measures what each is worth. The models are
# simple, linear maps by least squares and the most similar window, so that the lesson runs in
# seconds and every difference is due to the evaluation.

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
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import kerastrans
from kerastrans import plotting
from kerastrans.data import chronological_split

WEEK, DAY = 168, 24
flights = kerastrans.datasets.load("nyc_departures")["JFK"].to_numpy("float64")
train, validation, test = chronological_split(flights, (0.7, 0.1, 0.2), WEEK)


def windows(rows, gap=0):
    """Return contexts and targets; with a gap of -1 they overlap by one step."""
    cut = np.lib.stride_tricks.sliding_window_view(rows, WEEK + DAY + gap)
    return cut[:, :WEEK], cut[:, WEEK + gap :]


def fit(contexts, targets):
    """Return a forecast function: a linear map and a constant, by least squares."""
    ones = np.ones((len(contexts), 1))
    weights, *_ = np.linalg.lstsq(np.hstack([contexts, ones]), targets, rcond=None)
    return lambda x: np.hstack([x, np.ones((len(x), 1))]) @ weights


def mean_error(forecasts, targets):
    return np.abs(forecasts - targets).mean()


# %% [markdown]
# ## The measure: MASE
#
# Is an error of two flights good? That depends on the series. The mean absolute scaled error
# divides the mean absolute error by that of the seasonal naive forecast on the training rows, with
# a season of $m$ steps:
#
# $$\text{MASE} = \frac{\text{mean}\,|y_t - \hat y_t|}
# {\text{mean over training rows}\,|y_t - y_{t-m}|}$$
#
# A value below 1 is a smaller error than the seasonal naive forecast had on the training rows. It
# has no unit, so that errors of different series can be averaged. The denominator comes from the
# training rows: if it came from the test rows, it would be another number for each test period.

# %%
scale = np.abs(train[WEEK:] - train[:-WEEK]).mean()
contexts, targets = windows(test)
linear = fit(*windows(train))
errors = {
    "the week before": mean_error(contexts[:, :DAY], targets),
    "linear": mean_error(linear(contexts), targets),
}
table = pd.DataFrame({"MAE": errors, "MASE": {name: x / scale for name, x in errors.items()}})
assert np.isclose(
    table["MASE"]["linear"],
    kerastrans.evaluation.metrics.mase(
        targets[..., None], linear(contexts)[..., None], train[:, None], WEEK
    ),
)
table.round(3)

# %% [markdown]
# ## Leak 1: the off-by-one window
#
# A common bug in code for windows is an index that is wrong by one: the context ends with the first
# value of the target. <!-- claim: off by one --> The error of the first hour is then zero, and the
# error over the day is smaller than that of the correct windows. In use, that value is not known
# yet. If the context ends with the last known value, the whole forecast is one hour late: the error
# of its first hour is more than 1.5 times that of the correct windows.

# %%
leaky = fit(*windows(train, gap=-1))
seen, answers = windows(test, gap=-1)
in_test = np.abs(leaky(seen) - answers).mean(axis=0)
honest = np.abs(linear(contexts) - targets).mean(axis=0)
in_use = np.abs(leaky(contexts) - targets).mean(axis=0)
print(
    f"first hour: correct {honest[0]:.2f}, with the leak {in_test[0]:.2g}, in use {in_use[0]:.2f}"
)
print(f"whole day:  correct {honest.mean():.3f}, with the leak {in_test.mean():.3f}")
assert in_test[0] < 1e-6  # claim: off by one
assert in_test.mean() < honest.mean()  # claim: off by one
assert in_use[0] > 1.5 * honest[0]  # claim: off by one

# Alt text: Error of each hour of the day for three curves: with the leak it begins at zero, with
# the leak in use it begins far above that of correct windows.
figure, panel = plt.subplots(figsize=(8, 3.4), layout="constrained")
hours = np.arange(1, DAY + 1)
named = {"correct windows": honest, "with the leak": in_test, "with the leak, in use": in_use}
for (name, values), colour in zip(named.items(), plotting.COLOURS, strict=False):
    panel.plot(hours, values, "o-", color=colour, label=name)
panel.set_xlabel("hour of the forecast")
panel.set_ylabel("mean absolute error\n[flights per hour]")
panel.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
plt.show()

# %% [markdown]
# A test finds this leak without a model: cut windows out of row numbers 0, 1, 2 ... instead of
# values, and compare the largest number of each context with the smallest of its target (exercise
# 5d.1).
#
# ## Leak 2: windows split at random
#
# Neighbouring windows share all rows but one. If windows are shuffled before they are split, almost
# every test window has neighbours in the training part that hold its answers. A model that can
# remember uses them: here the forecast is the target of the most similar training window.
# <!-- claim: random split --> With a random split its error is at least 10 % smaller than with a
# split in the order of time. The linear model has 169 weights per hour and cannot remember windows;
# its errors with the two splits differ by less than that. Both bounds hold with a margin of three
# standard deviations of three random splits. The errors of the split in time are what a user would
# get.


# %%
def nearest(contexts, targets, new):
    """Return the targets of the most similar contexts."""
    squares = (contexts**2).sum(axis=1) - 2 * new @ contexts.T
    return targets[squares.argmin(axis=1)]


everything = windows(flights)
at_random = {"nearest": [], "linear": []}
for seed in range(3):
    order = np.random.default_rng(seed).permutation(len(everything[0]))
    chosen, rest = order[: len(order) // 5], order[len(order) // 5 :]
    (known, new), (followed, answers) = ((part[rest], part[chosen]) for part in everything)
    at_random["nearest"].append(mean_error(nearest(known, followed, new), answers))
    at_random["linear"].append(mean_error(fit(known, followed)(new), answers))
in_order = {
    "nearest": mean_error(nearest(*windows(train), contexts), targets),
    "linear": errors["linear"],
}
for name, found in at_random.items():
    print(f"{name:>7}: split at random {np.round(found, 2)}, in time {in_order[name]:.2f}")
ratios = {name: np.array(found) / in_order[name] for name, found in at_random.items()}
spread = {name: 3 * ratio.std(ddof=1) for name, ratio in ratios.items()}
assert ratios["nearest"].mean() + spread["nearest"] < 0.9  # claim: random split
assert abs(ratios["linear"].mean() - 1) + spread["linear"] < 0.1  # claim: random split

# %% [markdown]
# ## Leak 3: choosing on the test part
#
# Each choice that looks at the test part fits it a little. Take fifty forecasters without a
# sensible idea: each adds its own random pattern of 24 hours to the week before. We choose the best
# of them on one week of the test part, and look at its advantage over the mean of the fifty, there
# and on the other weeks. One draw of fifty can be a lucky one, so we draw twenty times.
# <!-- claim: chosen --> On average, less than two thirds of the advantage remain on the other
# weeks, by more than three standard errors of the draws.

# %%
DRAWS = 20
origins = np.arange(0, len(contexts), DAY)  # one forecast per day
distance = contexts[origins, :DAY] - targets[origins]
seemed, real = np.zeros(DRAWS), np.zeros(DRAWS)
for draw in range(DRAWS):
    patterns = np.random.default_rng(draw).normal(0, 0.5, (50, 1, DAY))
    by_day = np.abs(distance + patterns).mean(axis=2)  # (forecasters, days)
    week, others = by_day[:, :7].mean(axis=1), by_day[:, 7:].mean(axis=1)
    best = week.argmin()
    seemed[draw], real[draw] = week.mean() - week[best], others.mean() - others[best]
print(
    f"mean advantage of the best of 50: {seemed.mean():.3f} on the week it was chosen on, "
    f"{real.mean():.3f} on the others"
)
lost = seemed * 2 / 3 - real
assert lost.mean() > 3 * lost.std(ddof=1) / DRAWS**0.5  # claim: chosen

# %% [markdown]
# The remedy is the third part: choose on the validation rows, and look at the test rows once.
#
# ## One origin is not a measurement
#
# How sure is a difference? Days differ from each other, and neighbouring days resemble each other.
# <!-- claim: origins --> The forecast that is better on average loses on more than one day in ten.
# So compare the errors of both forecasts on the same days, use many days, and give an interval: the
# bootstrap draws whole weeks, since days within a week depend on each other.

# %%
naive_by_day = np.abs(contexts[origins, :DAY] - targets[origins]).mean(axis=1)
linear_by_day = np.abs(linear(contexts[origins]) - targets[origins]).mean(axis=1)
difference = linear_by_day - naive_by_day
wins = (difference < 0) if difference.mean() < 0 else (difference > 0)
print(f"{len(difference)} days; mean difference {difference.mean():+.3f} flights per hour")
print(f"the better forecast wins on {wins.mean():.0%} of the days")
assert wins.mean() < 0.9  # claim: origins

weeks = difference[: len(difference) // 7 * 7].reshape(-1, 7).mean(axis=1)
drawn = np.random.default_rng(0).integers(len(weeks), size=(2000, len(weeks)))
low, high = np.quantile(weeks[drawn].mean(axis=1), (0.025, 0.975))
print(f"95 % interval of the difference: {low:+.3f} to {high:+.3f}")

# %% [markdown]
# If the interval contains zero, the test does not say which forecast is better. In kerastrans,
# `Forecaster.backtest` makes forecasts from many origins, `refit=` trains again at each of them,
# and `kerastrans.evaluation` has the tests.
#
# A list for every evaluation:
#
# 1. The split is in the order of time; scaling is measured on the training rows only.
# 2. Contexts end before their targets begin. A covariate of the target's time was really known
#    then.
# 3. The strongest naive forecast is in the table: the last value, the day before, the week before.
# 4. Choices were made on the validation part. The test part was used once.
# 5. There are many origins, three or more seeds, and an interval.
#
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("5d.1")` helps, in three
# steps. Solutions: [answers_forecasting.ipynb](answers_forecasting.ipynb).

# %% [markdown]
# **5d.1** Return True if a context reaches into its target; both hold row numbers (window, step).


# %%
def leaks(contexts, targets):
    return ...


kerastrans.lessons.check("5d.1", leaks)

# %% [markdown]
# **5d.2** Return training and test rows (time, channel), standardised without a leak.


# %%
def standardised(train, test):
    return ...


kerastrans.lessons.check("5d.2", standardised)

# %% [markdown]
# **5d.3** Return the skill: by which fraction the mean error is below that of the baseline.


# %%
def skill(errors, baseline_errors):
    return ...


kerastrans.lessons.check("5d.3", skill)
