"""The network of kerastrans-zero: each future step chooses among past values of its own phase."""

import keras
import numpy as np
from keras import layers, ops
from keras.backend import standardize_dtype

from kerastrans.layers import LagChanges, OctaveLags, SamePhase
from kerastrans.models.pretrained.scaling import arcsinh
from kerastrans.utils.precision import full_precision

DECAYS = (1.0, 3.0, 10.0, 40.0)  # steps in which what is recent loses its weight
WINDOWS = (8, 32, 128, 1024)  # steps over which slopes are fitted
BLOCKS = (1, 4, 16, 32)  # steps whose means are one value of the summary
BLOCK_COUNT = 32
LONGEST = max(*WINDOWS, BLOCK_COUNT * max(BLOCKS))  # steps that a context has at least
SMALLEST_SPREAD = 1e-3  # of a window whose deviation is 1


def build_network(config):
    """From a window to the quantiles of any of its future steps, in units of the window.

    Args:
        config: dict of sizes, see `kerastrans.models.pretrained.zero.port`.

    Returns:
        Functional Keras model of "values" and "observed", both `(batch, context_length)`, and
        "steps" `(batch, future)`, from 1, to `(batch, future, quantiles)`.
    """
    length, width, hidden = config["context_length"], config["width"], config["hidden"]
    exact = {"dtype": full_precision()}
    values = keras.Input((length,), name="values")
    observed = keras.Input((length,), name="observed")
    steps = keras.Input((None,), name="steps")

    lags, correlations, usable = OctaveLags(config["octaves"])(values, observed)
    changes, paired = LagChanges(2 ** config["octaves"])(values, observed, lags)
    past, seen = SamePhase(config["cycles"])(values, observed, lags, steps)
    spread = _mean(ops.abs(changes), paired) + SMALLEST_SPREAD  # (batch, octaves)
    summary = _summarize(values, observed, width, hidden)

    # What each lag is like, and what it has to offer to each future step.
    recent, restless = _recent(changes, paired, lags)
    facts = _describe(lags, correlations, usable, changes, paired, spread, recent, restless)
    x = layers.Dense(width, name="lag")(facts)[:, None]
    x = x + layers.Dense(width, name="offer")(_offers(past, seen, lags, steps, spread))
    x = x + layers.Dense(width, name="of_summary")(summary)[:, None, None]
    x = ops.relu(x)
    x = ops.relu(layers.Dense(width, name="mixed")(x))  # (batch, future, octaves, width)

    logits = layers.Dense(config["cycles"], name="choice", **exact)(x)
    choice = _choose(logits, seen * usable[:, None, :, None])
    base = ops.sum(choice * past, axis=(2, 3))  # (batch, future)
    share = ops.sum(choice, axis=3)  # (batch, future, octaves)
    # A share of how far the newest values are from what they were a lag before.
    gates = ops.tanh(layers.Dense(recent.shape[-1], name="corrections", **exact)(x))
    base = base + ops.sum(gates * recent[:, None] * share[..., None], axis=(2, 3))
    unit = ops.exp(ops.sum(share * ops.log(spread)[:, None], axis=2))

    x = ops.sum(x * share[..., None], axis=2)
    outputs = _finish(x, base, unit, steps, _slopes(values, observed), summary, config)
    return keras.Model([values, observed, steps], outputs, name="kerastrans_zero")


def _choose(logits, seen):
    """Shares of the past values that are seen: a softmax beside the window's mean, which is 0."""
    logits = ops.where(seen > 0, logits, -1e4)
    highest = ops.maximum(ops.max(logits, axis=(2, 3), keepdims=True), 0)
    choice = ops.exp(logits - highest)
    return choice / (ops.sum(choice, axis=(2, 3), keepdims=True) + ops.exp(-highest))


def _finish(x, base, unit, steps, slopes, summary, config):
    """`(batch, future, quantiles)`: the base, a part of the slopes, and a spread in units."""
    hidden, exact = config["hidden"], {"dtype": full_precision()}
    trends = slopes[:, None] * steps[..., None]  # (batch, future, windows)
    trends = ops.clip(trends, -8, 8)
    ahead = ops.stack([ops.log(steps) / 5, ops.log(unit), base], axis=-1)
    x = ops.concatenate([x, ahead, arcsinh(trends / unit[..., None])], axis=-1)
    x = layers.Dense(hidden, name="step")(x)
    x = ops.relu(x + layers.Dense(hidden, name="step_summary")(summary)[:, None])
    x = x + ops.relu(layers.Dense(hidden, name="step_2")(x))
    gates = ops.tanh(layers.Dense(len(WINDOWS), name="gates", **exact)(x))
    base = base + ops.sum(gates * trends, axis=-1)
    outputs = _spread_out(layers.Dense(len(config["quantiles"]), name="quantiles", **exact)(x))
    return base[..., None] + outputs * unit[..., None]


def _summarize(values, observed, width, hidden):
    """`(batch, width)`: what the window looks like, near its end in detail and coarser before."""
    parts = []
    for size in BLOCKS:
        x, seen = (
            ops.reshape(part[:, -size * BLOCK_COUNT :], (-1, BLOCK_COUNT, size))
            for part in (values, observed)
        )
        parts += [_mean(x, seen), ops.mean(seen, axis=-1)]
    x = layers.Dense(hidden, activation="relu", name="window")(ops.concatenate(parts, axis=-1))
    return layers.Dense(width, activation="relu", name="summary")(x)


def _recent(changes, paired, lags):
    """Means of the newest changes and of their sizes, `(batch, octaves, decays)` each.

    The former has one more, over the last cycle.
    """
    ages = np.arange(changes.shape[-1])[::-1].copy()
    weights = np.stack([np.exp(-ages / decay) for decay in DECAYS], axis=1)
    weights = weights.astype(standardize_dtype(changes.dtype))
    weight = ops.matmul(paired, weights) + 1e-6
    in_cycle = ops.cast(lags[..., None] > ages[None, None], changes.dtype)
    cycle = _mean(changes, paired * in_cycle)[..., None]
    recent = ops.concatenate([ops.matmul(changes, weights) / weight, cycle], axis=-1)
    return recent, ops.matmul(ops.abs(changes), weights) / weight


def _describe(lags, correlations, usable, changes, paired, spread, recent, restless):
    """`(batch, octaves, features)`: how regular a series is at a lag, and how it changes now."""
    memory = ops.sum(changes[..., 1:] * changes[..., :-1], axis=-1)
    memory = memory / (ops.sum(ops.square(changes), axis=-1) + 1e-6)
    smallest = ops.min(ops.where(usable > 0, spread, 1e3), axis=1, keepdims=True)
    facts = [
        correlations,
        usable,
        ops.log(lags) / 6,
        ops.log(ops.sum(paired, axis=-1) + 1) / 6,
        ops.log(spread),
        ops.log(spread / smallest),
        memory,
    ]
    in_units = [arcsinh(recent / spread[..., None]), ops.log(restless / spread[..., None] + 0.01)]
    return ops.concatenate([ops.stack(facts, axis=-1), *in_units], axis=-1)


def _offers(past, seen, lags, steps, spread):
    """`(batch, future, octaves, features)`: the past values of a phase, beside the newest one."""
    newest = past[..., :1]
    differences = (past - newest) / spread[:, None, :, None] * seen * seen[..., :1]
    mean = ops.sum(past * seen, axis=-1) / ops.maximum(ops.sum(seen, axis=-1), 1)
    unit = spread[:, None]
    at_last = newest[..., 0] - past[:, :, :1, 0]  # beside the last value, which lag 1 offers
    ahead = ops.log(steps)[..., None] / 5 + ops.zeros_like(mean)
    cycles = ops.log(1 + steps[..., None] / lags[:, None])
    features = [at_last, arcsinh(at_last / unit), arcsinh((mean - newest[..., 0]) / unit)]
    features = ops.stack([*features, ahead, cycles, newest[..., 0]], axis=-1)
    return ops.concatenate([arcsinh(differences), seen, features], axis=-1)


def _slopes(values, observed):
    """`(batch, windows)`: slopes a step of the lines through the last steps."""
    ages = np.arange(values.shape[1])[::-1]
    dtype = standardize_dtype(values.dtype)
    inside = np.stack([ages < size for size in WINDOWS], axis=1).astype(dtype)
    time = (-ages / 100).astype(dtype)
    number = ops.maximum(ops.matmul(observed, inside), 1)
    middle = ops.matmul(observed * time, inside) / number
    mean = ops.matmul(values * observed, inside) / number
    squares = ops.matmul(observed * time * time, inside) / number - ops.square(middle)
    products = ops.matmul(observed * values * time, inside) / number - middle * mean
    return products / (squares + 1e-5) / 100


def _spread_out(x):
    """Rising quantiles: the one in the middle, and steps away from it on both sides."""
    middle = x.shape[-1] // 2
    up = ops.cumsum(ops.softplus(x[..., middle + 1 :]), axis=-1)
    # `flip`: PyTorch has no steps backwards.
    down = ops.cumsum(ops.softplus(ops.flip(x[..., :middle], axis=-1)), axis=-1)
    down = ops.flip(down, axis=-1)
    center = x[..., middle : middle + 1]
    return ops.concatenate([center - down, center, center + up], axis=-1)


def _mean(values, seen):
    """Over the last axis, of what is seen; 0 where nothing is."""
    return ops.sum(values * seen, axis=-1) / ops.maximum(ops.sum(seen, axis=-1), 1)
