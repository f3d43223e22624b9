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
# # 4b. What each part is worth
#
# A Transformer has many parts. This lesson starts with three forecasts that need no training and a
# linear model, then adds one part at a time, and at last leaves one part out at a time. It measures
# each model on the same real series. The lesson takes three minutes of CPU.
#
# The rules are the same for all models: the same windows, the same number of training steps, three
# seeds. A difference counts only if it exceeds three standard deviations of the seeds.

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
import time
from functools import partial

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from keras import layers

import kerastrans
from kerastrans import zoo
from kerastrans.data import chronological_split

# %% [markdown]
# ## The series
#
# The flights that leave New York's three airports, summed over three hours. A window is a week of
# history, 56 steps, and the day after it, 8 steps. The three airports are scaled by the mean and
# the standard deviation of their training rows and share all weights.

# %%
WEEK, DAY = 56, 8
flights = kerastrans.datasets.load("nyc_departures").resample("3h").sum().to_numpy("float32")
rows = chronological_split(flights, (0.7, 0.1, 0.2), WEEK)
mean, scale = rows[0].mean(axis=0), rows[0].std(axis=0)


def windows(rows, stride):
    scaled = (rows - mean) / scale
    cut = np.lib.stride_tricks.sliding_window_view(scaled, WEEK + DAY, axis=0)[::stride]
    return cut.reshape(-1, WEEK + DAY)  # (windows x airports, time)


train, validation, test = windows(rows[0], 1), windows(rows[1], 2), windows(rows[2], 2)
print(
    f"windows: {len(train):,} for training, {len(validation)} for validation, {len(test)} to test"
)


def error(forecasts, windows):
    """Mean absolute error in flights per three hours."""
    distances = np.abs(forecasts - windows[:, WEEK:]).mean(axis=1)
    return float(np.mean(distances * np.tile(scale, len(windows) // 3)))


# %% [markdown]
# ## The model and its parts
#
# Each step is a token. The vector of the last token is mapped to the eight steps of the next day.
# `parts` names the parts of the model:
#
# - "positions", "residual", "norm", "feed-forward": the parts of lessons 1 and 2b.
# - "heads": four heads instead of one.
# - "masks": causal attention. Every token forecasts the day after it, so that a window has 56
#   targets instead of one.
# - "patches": a token is a day. A week is seven tokens.
# - "window": the mean of each window is subtracted, and the result is divided by its standard
#   deviation.

# %%
WIDTH = 32


def build(parts):
    history = keras.Input((WEEK,))
    if "linear" in parts:
        return keras.Model(history, layers.Dense(DAY)(history))
    x, width = history, 1e-3
    if "window" in parts:
        center = keras.ops.mean(history, axis=1, keepdims=True)
        width = keras.ops.std(history, axis=1, keepdims=True) + width
        x = (history - center) / width
    tokens = WEEK // DAY if "patches" in parts else WEEK
    x = layers.Dense(WIDTH)(layers.Reshape((tokens, WEEK // tokens))(x))
    if "positions" in parts:
        x = kerastrans.PositionalEncoding(WEEK, WIDTH)(x)
    if "lstm" in parts:
        x = layers.LSTM(48, return_sequences=True)(x)
    else:
        x = block(block(x, parts), parts)
    if "norm" in parts:
        x = layers.LayerNormalization()(x)
    outputs = layers.Dense(DAY)(x if "masks" in parts else x[:, -1])
    return keras.Model(history, outputs * width + center if "window" in parts else outputs)


def block(x, parts):
    heads = 4 if "heads" in parts else 1
    attention = layers.MultiHeadAttention(heads, WIDTH // heads)
    y = layers.LayerNormalization()(x) if "norm" in parts else x
    y = attention(y, y, use_causal_mask="masks" in parts)
    x = x + y if "residual" in parts else y
    if "feed-forward" in parts:
        y = layers.LayerNormalization()(x) if "norm" in parts else x
        y = layers.Dense(WIDTH)(layers.Dense(4 * WIDTH, activation="relu")(y))
        x = x + y if "residual" in parts else y
    return x


# %% [markdown]
# ## Training
#
# All models take the same number of steps with 16 windows each. A model is compiled once and starts
# again with new weights for each seed, so that the seconds are those of the training only. They are
# seconds of the processor, summed over all cores.

# %%
STEPS = 360
SEEDS = 3
QUARTERS = 4 if STEPS > 2 else 1
tests, checks, seconds, weights, losses = {}, {}, {}, {}, {}


def measure(name, build, rate=3e-3, every_token=False):
    """Train with each seed; store errors, seconds, the number of weights and the losses."""
    model = build()
    schedule = keras.optimizers.schedules.CosineDecay(rate, STEPS)
    model.compile(keras.optimizers.Adam(schedule), "mae", jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    start = [keras.ops.convert_to_numpy(x) for x in model.optimizer.variables]
    ends = np.arange(1, WEEK + 1)[:, None] if every_token else WEEK
    shape = (-1, *model.input_shape[1:])
    tests[name], checks[name], seconds[name], losses[name] = [], [], [], []
    weights[name] = model.count_params()
    model.train_on_batch(train[:16, :WEEK].reshape(shape), train[:16][:, ends + np.arange(DAY)])
    for seed in range(SEEDS):
        keras.utils.set_random_seed(seed)
        model.set_weights(build().get_weights())
        for variable, value in zip(model.optimizer.variables, start, strict=True):
            variable.assign(value)
        drawn = train[np.random.default_rng(seed).integers(len(train), size=16 * STEPS)]
        inputs, targets = drawn[:, :WEEK].reshape(shape), drawn[:, ends + np.arange(DAY)]
        began, curve = time.process_time(), []
        for part in zip(*(np.split(x, QUARTERS) for x in (inputs, targets)), strict=True):
            fitted = model.fit(*part, batch_size=16, shuffle=False, verbose=0)
            curve += fitted.history["loss"]
        seconds[name].append(time.process_time() - began)
        losses[name].append(curve)
        for errors, part in ((checks, validation), (tests, test)):
            outputs = keras.ops.convert_to_numpy(model(part[:, :WEEK].reshape(shape)))
            errors[name].append(error(outputs.reshape(len(part), -1, DAY)[:, -1], part))
    print(f"{name}: {np.round(tests[name], 2)}")


# %% [markdown]
# ## The ladder
#
# It begins with the last value, the day before and the week before, which need no training. The
# linear model is so small that it needs a larger rate; the validation part chooses it. Then each
# rung adds one part to the rung before. At the top are two models of kerastrans, that have all
# parts: `decoder_transformer`, and `time_series_transformer`, which has an encoder and a decoder.

# %%
for name, first in (
    ("last value", WEEK - 1),
    ("the day before", WEEK - DAY),
    ("the week before", 0),
):
    copied = slice(first, first + 1 if name == "last value" else first + DAY)
    tests[name] = [error(test[:, copied], test)] * SEEDS
    checks[name] = [error(validation[:, copied], validation)] * SEEDS
for rate in (3e-3, 1e-2):
    measure(f"linear, rate {rate}", lambda: build({"linear"}), rate)

# %%
parts = set()
for part, name in {
    "attention": "one head",
    "positions": "+ positions",
    "heads": "+ four heads",
    "residual": "+ residual",
    "norm": "+ normalisation",
    "feed-forward": "+ feed-forward",
}.items():
    parts.add(part)
    measure(name, lambda: build(parts))

# %%
measure("+ masks, 56 targets", lambda: build(parts | {"masks"}), every_token=True)
measure("+ patches, no masks", lambda: build(parts | {"patches"}))
measure("+ window scaling", lambda: build(parts | {"patches", "window"}))

# %%
sizes = {"patch_length": DAY, "dropout": 0.0, "head": "point"}
for name in ("decoder_transformer", "time_series_transformer"):
    measure(name, partial(zoo.build, name, WEEK, DAY, 1, **sizes))

# %%
scores = pd.DataFrame(
    {
        "validation": {name: np.mean(x) for name, x in checks.items()},
        "test": {name: np.mean(x) for name, x in tests.items()},
        "spread": {name: np.std(x, ddof=min(1, SEEDS - 1)) for name, x in tests.items()},
        "seconds": {name: np.mean(x) for name, x in seconds.items()},
        "weights": weights,
    }
).loc[list(tests)]
# Alt text: Errors of three seeds for each rung of the ladder, on a logarithmic scale: from above 20
# flights without positions down to about 4 with all parts; a dotted line marks the week before.
figure, panel = plt.subplots(figsize=(7.5, 5), layout="constrained")
for row, name in enumerate(scores.index):
    panel.plot(tests[name], [row] * SEEDS, "o", color="#d1495b", alpha=0.6)
panel.axvline(tests["the week before"][0], color="#888888", lw=0.8, ls=":")
panel.set_yticks(range(len(scores)), scores.index)
panel.invert_yaxis()
panel.set_xscale("log")
panel.minorticks_off()
panel.set_xticks([4, 5, 6, 8, 12, 20, 28], ["4", "5", "6", "8", "12", "20", "28"])
panel.set_xlabel("mean absolute error of each seed [flights per three hours]")
plt.show()
scores.round(2)

# %% [markdown]
# ## Leave one out
#
# The ladder judges each part before the parts above it are there. The opposite question: what does
# the finished model lose without one part? We take the rung with patches and without masks, and
# leave out one part at a time.

# %%
patches = "+ patches, no masks"
for part in ("positions", "heads", "residual", "norm", "feed-forward"):
    measure(f"without {part}", partial(build, (parts | {"patches"}) - {part}))


def margin(first, second, errors=tests):
    """Return three standard deviations of the seeds; both variances are averaged."""
    return 3 * np.mean([np.var(errors[x], ddof=min(1, SEEDS - 1)) for x in (first, second)]) ** 0.5


without = [name for name in tests if name.startswith("without")]
pd.DataFrame(
    {
        "costs": {name: np.mean(tests[name]) - np.mean(tests[patches]) for name in without},
        "margin": {name: margin(name, patches) for name in without},
    }
).round(2)

# %% [markdown]
# ## What the numbers say
#
# `exceeds` compares two rungs: the difference of the means has to be larger than three standard
# deviations of the seeds, where both rungs' variances are averaged.
#
# **What the ladder shows.** <!-- claim: positions --> Positions: without them, attention sees a bag
# of values, and cannot know which one is a day old. <!-- claim: norm --> Normalisation.
# <!-- claim: patches --> Patches: seven days as tokens instead of 56 steps make the error smaller,
# and the training takes less time. <!-- claim: top --> With all parts together,
# `decoder_transformer` is better than the linear model and than the week before.
#
# **What three seeds cannot show.** <!-- claim: spread --> Four heads instead of one, the residual
# connection, the feed-forward network and the scaling of windows each change the error by less than
# the margin. <!-- claim: wide --> This does not say that they are worth nothing: four heads lower
# the error by more than three flights, and the margin there is more than four.
#
# **The worth of a part depends on the parts that are there already.** <!-- claim: left out --> On
# the ladder the residual connection seems to be worth nothing; left out of the finished model, it
# costs more than half a flight, well above the margin. Without positions the error is larger, too.
# <!-- claim: not missed --> With normalisation it is the other way round: it counts on the ladder,
# and the finished model does not miss it. Nor does it miss three of its four heads or the
# feed-forward network, as far as three seeds can show.
#
# **A part that hurts here.** <!-- claim: masks --> Causal masks with 56 targets per window. The
# forecast that counts is one of the 56, and the others have a shorter history: in 360 steps the
# model does not learn all of them. The validation part shows this too, so the rungs after it leave
# the masks out. In `decoder_transformer`, which also forecasts inside its history, these targets
# have the same weight together as the last one.
#
# **The honest comparison.** <!-- claim: linear --> The linear model and the week before, which need
# a second or nothing, are better than the Transformer with all parts on 56 steps.


# %%
def exceeds(worse, better, errors=tests):
    """Return whether an error is smaller by more than three deviations of the seeds."""
    return bool(np.mean(errors[worse]) - np.mean(errors[better]) > margin(worse, better, errors))


def average(numbers, name):
    return float(np.mean(numbers[name]))


def either(first, second, errors=tests):
    return exceeds(first, second, errors) or exceeds(second, first, errors)


linear, top = "linear, rate 0.01", "decoder_transformer"
hours, masked = "+ feed-forward", "+ masks, 56 targets"
if STEPS > 2:  # trained in full
    assert average(checks, linear) < average(checks, "linear, rate 0.003")
    assert exceeds("one head", "+ positions")  # claim: positions
    assert exceeds("+ residual", "+ normalisation")  # claim: norm
    assert exceeds(hours, patches)  # claim: patches
    assert average(seconds, patches) < average(seconds, hours)  # claim: patches
    assert exceeds(linear, top)  # claim: top
    assert exceeds("the week before", top)  # claim: top
    for pair in (
        ("+ positions", "+ four heads"),
        ("+ four heads", "+ residual"),
        ("+ normalisation", "+ feed-forward"),
        ("+ patches, no masks", "+ window scaling"),
    ):
        assert not either(*pair)  # claim: spread
    assert average(tests, "+ positions") - average(tests, "+ four heads") > 3  # claim: wide
    assert margin("+ positions", "+ four heads") > 4  # claim: wide
    assert exceeds("without residual", patches)  # claim: left out
    assert average(tests, "without residual") - average(tests, patches) > 0.5  # claim: left out
    assert exceeds("without positions", patches)  # claim: left out
    for name in ("without norm", "without heads", "without feed-forward"):
        assert not exceeds(name, patches)  # claim: not missed
    assert exceeds(masked, hours)  # claim: masks
    assert average(checks, masked) > average(checks, hours)  # claim: masks
    for name in (linear, "the week before"):
        assert exceeds(hours, name)  # claim: linear

# %% [markdown]
# ## An LSTM in place of the blocks
#
# The same windows, steps and seeds, with an LSTM. <!-- claim: lstm --> On 56 steps, the two do not
# differ by more than the margin. On the seven patches, the Transformer has the smaller error, and
# takes more seconds and more weights.
#
# Which one learns faster? The picture shows the mean loss in each quarter of the training.
# <!-- claim: early --> In the first quarter, the LSTM on 56 steps has a smaller loss than the
# Transformer, by more than the margin. In the last quarter, the two do not differ by more than the
# margin: the LSTM starts faster, and the Transformer catches up.

# %%
measure("LSTM", lambda: build({"lstm"}))
measure("LSTM, patches", lambda: build({"lstm", "patches"}))
compared = (hours, "LSTM", patches, "LSTM, patches")
for name in compared:
    print(f"{name:>20}: {np.mean(seconds[name]):4.1f} s, {weights[name]:,} weights")
first, last = (
    {name: [curve[quarter] for curve in losses[name]] for name in compared} for quarter in (0, -1)
)
if STEPS > 2:
    lstm = "LSTM, patches"
    assert not either(hours, "LSTM")  # claim: lstm
    assert exceeds(lstm, patches)  # claim: lstm
    assert average(seconds, patches) > average(seconds, lstm)  # claim: lstm
    assert weights[patches] > weights[lstm]  # claim: lstm
    assert exceeds(hours, "LSTM", first)  # claim: early
    assert not either(hours, "LSTM", last)  # claim: early

# Alt text: Mean training loss in each quarter of the training, one line per model and seed: on 56
# steps the LSTM starts lower than the Transformer and both end alike; on patches the lines of both
# are lower and close to each other.
figure, panel = plt.subplots(figsize=(7, 3.4), layout="constrained")
for name, colour in zip(compared, ("#d1495b", "#2e86ab", "#edae49", "#66a182"), strict=True):
    for seed, curve in enumerate(losses[name]):
        label = name.replace(hours, "Transformer").replace(patches, "Transformer, patches")
        quarters = np.arange(1, len(curve) + 1)
        panel.plot(quarters, curve, "o-", color=colour, alpha=0.7, label=None if seed else label)
panel.set_xticks(range(1, QUARTERS + 1))
panel.set_xlabel("quarter of the training")
panel.set_ylabel("mean absolute error\n[scaled]")
panel.legend(frameon=False)
plt.show()

# %% [markdown]
# ## How far is the first step from the last?
#
# The paper compares layers by the length of paths: how many operations are there between an input
# and an output far apart? We measure it: change the first step, and count the layers of width 3,
# the recurrent cells, or the attention layers until the last step changes. <!-- claim: paths --> Of
# $n$ steps, a convolution of width 3 that sees both sides needs $n - 1$ layers, one that only looks
# back needs half as many, rounded up; a recurrent network hands the change on through $n$ cells,
# one after the other, and attention needs a single layer. The $n / k$ in the table of
# [lesson 2](02_attention.ipynb) is the order of magnitude of both convolutions.


# %%
def count(apply, x):
    """Apply until the last step depends on the first one; return how often."""
    changed = x.copy()
    changed[0, 0] += 1
    for number in range(1, 1000):
        x, changed = apply(x, number), apply(changed, number)
        if np.abs(x - changed)[0, -1].max() > 0:
            return number
    raise AssertionError("no path was found")


def convolve(x, number, back=1):
    """One layer of width 3, all weights 1, modulo 97 so that numbers stay exact."""
    padded = np.pad(x, ((0, 0), (back, 2 - back), (0, 0)))
    return (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) % 97


attention = layers.MultiHeadAttention(1, 4)


def attend(x, number):
    return keras.ops.convert_to_numpy(attention(x, x))


def recur(x):
    """Cells that a change of the first step passes, one after the other, up to the last one."""
    changed = x.copy()
    changed[0, 0] += 1
    states, passed = [np.zeros((1, 2), "float32")] * 2, 0
    for step in zip(x[0], changed[0], strict=True):
        states = [cell(inputs[None], state)[0] for inputs, state in zip(step, states, strict=True)]
        assert np.abs(states[0] - states[1]).max() > 0, "the change is lost"
        passed += 1
    return passed


cell = layers.SimpleRNNCell(2, activation=None)
paths = {}
for length in (8, 16, 32):
    x = np.ones((1, length, 2), "float32")
    convolved = [count(partial(convolve, back=back), x) for back in (1, 2)]
    paths[length] = [*convolved, recur(x), count(attend, x)]
    assert paths[length] == [length - 1, length // 2, length, 1]  # claim: paths
rows = ["convolution, layers", "looking back, layers", "recurrence, cells", "attention, layers"]
pd.DataFrame(paths, rows)

# %% [markdown]
# The price of the short path is that attention compares all pairs: $n^2$ products. Convolutions
# with gaps (dilation) double their reach with each layer, and need about $\log_2 n$ layers.
#
# ## Exercises
#
# Replace `...` by your answer and run the cell. `kerastrans.lessons.hint("4b.1")` helps, in three
# steps. Solutions: [answers.ipynb](answers.ipynb).

# %% [markdown]
# **4b.1** Return True if two lists of errors differ by more than three deviations of the seeds.
# Compare the means; the deviation is the root of the mean of the two sample variances (n - 1).


# %%
def differs(first, second):
    return ...


kerastrans.lessons.check("4b.1", differs)

# %% [markdown]
# **4b.2** Return how many centred convolutions reach from the first of n steps to the last. Their
# width is odd.


# %%
def layers_needed(n, width):
    return ...


kerastrans.lessons.check("4b.2", layers_needed)

# %% [markdown]
# **4b.3** Return (batch, time, horizon): the values that follow each of the first time steps. The
# series is (batch, time + horizon).


# %%
def causal_targets(series, horizon):
    return ...


kerastrans.lessons.check("4b.3", causal_targets)
