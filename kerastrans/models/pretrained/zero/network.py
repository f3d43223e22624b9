"""The network of kerastrans-zero: each future step attends to past values of its phase."""

import keras
import numpy as np
from keras import layers, ops
from keras.backend import standardize_dtype

from kerastrans.layers import LagChanges, OctaveLags, SamePhase
from kerastrans.layers.normalization.observed_normalization import masked_mean
from kerastrans.models.pretrained.scaling import arcsinh
from kerastrans.utils.precision import full_precision

DECAYS = (1.0, 3.0, 10.0, 40.0)  # decay times of the weights of recent changes, in steps
WINDOWS = (8, 32, 128, 1024)  # numbers of last steps that slopes are fitted to
BLOCKS = (1, 4, 16, 32)  # numbers of steps per mean in the summary
BLOCK_COUNT = 32  # number of means of each kind in the summary
LONGEST = max(*WINDOWS, BLOCK_COUNT * max(BLOCKS))  # smallest context, in steps
SMALLEST_SPREAD = 1e-3  # smallest naive error, in units of the window's deviation


def build_network(config, like=None):
    """Build the network, from a window to quantiles of any future steps, in units of the window.

    Args:
        config: Dict of sizes, see `kerastrans.models.pretrained.zero.port`.
        like: Network of the same widths whose dense layers are used; None creates them.

    Returns:
        Functional Keras model that maps "values" and "observed", both `(batch, context_length)`,
        and "steps" `(batch, future)`, counted from 1, to `(batch, future, quantiles)`.
    """

    def dense(units, name, **kwargs):
        return like.get_layer(name) if like else layers.Dense(units, name=name, **kwargs)

    length, width, hidden = config["context_length"], config["width"], config["hidden"]
    exact = {"dtype": full_precision()}
    values = keras.Input((length,), name="values")
    observed = keras.Input((length,), name="observed")
    steps = keras.Input((None,), name="steps")

    paired = config.get("paired_lags", False)
    find_lags = OctaveLags(config["octaves"], config.get("trend_length"), paired)
    lags, correlations, usable = find_lags(values, observed)
    changes, paired = LagChanges(2 ** config["octaves"])(values, observed, lags)
    past, seen = SamePhase(config["cycles"])(values, observed, lags, steps)
    spread = naive_errors(changes, paired)  # (batch, octaves)
    summary = _summarize(values, observed, width, hidden, dense)

    # Features of each lag, plus features of the past values that it offers to each future step.
    recent, recent_sizes = average_recent(changes, paired, lags)
    features = _describe_lags(
        lags, correlations, usable, changes, paired, spread, recent, recent_sizes
    )
    x = dense(width, name="lag")(features)[:, None]
    x = x + dense(width, name="offer")(_describe_offers(past, seen, lags, steps, spread))
    x = x + dense(width, name="of_summary")(summary)[:, None, None]
    x = ops.relu(x)
    x = ops.relu(dense(width, name="mixed")(x))  # (batch, future, octaves, width)

    # The base forecast is a weighted mean of the past values of the phase.
    logits = dense(config["cycles"], name="choice", **exact)(x)
    choice = choose(logits, seen * usable[:, None, :, None])
    base = ops.sum(choice * past, axis=(2, 3))  # (batch, future)
    share = ops.sum(choice, axis=3)  # (batch, future, octaves)
    # Add a share of the recent changes, the differences of new values from those a lag earlier.
    gates = ops.tanh(dense(recent.shape[-1], name="corrections", **exact)(x))
    base = base + ops.sum(gates * recent[:, None] * share[..., None], axis=(2, 3))
    unit = mean_error(share, spread)

    x = ops.sum(x * share[..., None], axis=2)
    outputs = _finish(x, base, unit, steps, fit_slopes(values, observed), summary, config, dense)
    return keras.Model([values, observed, steps], outputs, name="kerastrans_zero")


def shorten(network, context_length):
    """Return the network of a shorter window, with the same dense layers and forecasts.

    A history that the shorter window holds has the same forecast, because the longer one is padded
    with missing values. Octaves of lags that are all as long as the window are left out: their
    values are not used.

    Args:
        network: Network of `build_network`, also one that was read from a file.
        context_length: int, number of steps of the window, a power of two.
    """
    sizes = sizes_of(network)
    octaves = min(sizes["octaves"], int(np.log2(context_length)))
    config = {**sizes, "context_length": context_length, "octaves": octaves}
    return build_network(config, like=network)


def sizes_of(network):
    """Return the sizes that `build_network` was given, from the layers."""
    found = {type(layer): layer for layer in network.layers}
    units = {x.name: x.units for x in network.layers if isinstance(x, layers.Dense)}
    length = network.inputs[0].shape[1]
    return {
        "context_length": length,
        "octaves": found[OctaveLags].octaves,
        "trend_length": found[OctaveLags].trend_length or length,
        "paired_lags": found[OctaveLags].paired,
        "cycles": found[SamePhase].cycles,
        "width": units["lag"],
        "hidden": units["window"],
        "quantiles": range(units["quantiles"]),
    }


def choose(logits, seen):
    """Return a softmax over the observed past values and the mean of the window.

    The mean is 0 and has the logit 0; its share is left out.
    """
    logits = ops.where(seen > 0, logits, -1e4)
    highest = ops.maximum(ops.max(logits, axis=(2, 3), keepdims=True), 0)
    choice = ops.exp(logits - highest)
    return choice / (ops.sum(choice, axis=(2, 3), keepdims=True) + ops.exp(-highest))


def naive_errors(changes, paired):
    """Return the mean absolute error of a naive forecast with each lag, `(batch, octaves)`."""
    return masked_mean(ops.abs(changes), paired) + SMALLEST_SPREAD


def mean_error(share, spread):
    """Return the unit of the spread, the geometric mean of the naive errors, `(batch, future)`."""
    return ops.exp(ops.sum(share * ops.log(spread)[:, None], axis=2))


def _finish(x, base, unit, steps, slopes, summary, config, dense):
    """Return quantiles `(batch, future, quantiles)`: base, a part of the slopes, and a spread."""
    hidden, exact = config["hidden"], {"dtype": full_precision()}
    trends = continue_slopes(slopes, steps)
    ahead = ops.stack([ops.log(steps) / 5, ops.log(unit), base], axis=-1)
    x = ops.concatenate([x, ahead, arcsinh(trends / unit[..., None])], axis=-1)
    x = dense(hidden, name="step")(x)
    x = ops.relu(x + dense(hidden, name="step_summary")(summary)[:, None])
    x = x + ops.relu(dense(hidden, name="step_2")(x))
    gates = ops.tanh(dense(len(WINDOWS), name="gates", **exact)(x))
    base = base + ops.sum(gates * trends, axis=-1)
    outputs = _spread_out(dense(len(config["quantiles"]), name="quantiles", **exact)(x))
    return base[..., None] + outputs * unit[..., None]


def _summarize(values, observed, width, hidden, dense):
    """Return features `(batch, width)` of the window, in more detail near its end."""
    parts, padding = [], [[0, 0], [max(0, LONGEST - values.shape[1]), 0]]
    values, observed = ops.pad(values, padding), ops.pad(observed, padding)
    for size in BLOCKS:
        x, mask = (
            ops.reshape(part[:, -size * BLOCK_COUNT :], (-1, BLOCK_COUNT, size))
            for part in (values, observed)
        )
        parts += [masked_mean(x, mask), ops.mean(mask, axis=-1)]
    x = dense(hidden, activation="relu", name="window")(ops.concatenate(parts, axis=-1))
    return dense(width, activation="relu", name="summary")(x)


def average_recent(changes, paired, lags):
    """Return weighted means of the changes and of their sizes, with decaying weights.

    Each is `(batch, octaves, decays)`; the first has one more column, the mean over the last cycle.
    """
    ages = np.arange(changes.shape[-1])[::-1].copy()
    weights = np.stack([np.exp(-ages / decay) for decay in DECAYS], axis=1)
    weights = weights.astype(standardize_dtype(changes.dtype))
    weight = ops.matmul(paired, weights) + 1e-6
    in_cycle = ops.cast(lags[..., None] > ages[None, None], changes.dtype)
    cycle = masked_mean(changes, paired * in_cycle)[..., None]
    recent = ops.concatenate([ops.matmul(changes, weights) / weight, cycle], axis=-1)
    return recent, ops.matmul(ops.abs(changes), weights) / weight


def _describe_lags(lags, correlations, usable, changes, paired, spread, recent, recent_sizes):
    """Return features `(batch, octaves, features)` of the regularity and recent changes per lag."""
    memory = ops.sum(changes[..., 1:] * changes[..., :-1], axis=-1)
    memory = memory / (ops.sum(ops.square(changes), axis=-1) + 1e-6)
    smallest = ops.min(ops.where(usable > 0, spread, 1e3), axis=1, keepdims=True)
    features = [
        correlations,
        usable,
        ops.log(lags) / 6,
        ops.log(ops.sum(paired, axis=-1) + 1) / 6,
        ops.log(spread),
        ops.log(spread / smallest),
        memory,
    ]
    unit = spread[..., None]
    in_units = [arcsinh(recent / unit), ops.log(recent_sizes / unit + 0.01)]
    return ops.concatenate([ops.stack(features, axis=-1), *in_units], axis=-1)


def _describe_offers(past, seen, lags, steps, spread):
    """Return features `(batch, future, octaves, features)` of the past values of each phase.

    The values are described by their differences from the newest value of the phase.
    """
    newest = past[..., :1]
    differences = (past - newest) / spread[:, None, :, None] * seen * seen[..., :1]
    mean = ops.sum(past * seen, axis=-1) / ops.maximum(ops.sum(seen, axis=-1), 1)
    unit = spread[:, None]
    from_last = newest[..., 0] - past[:, :, :1, 0]  # lag 1 offers the last value of the series
    ahead = ops.log(steps)[..., None] / 5 + ops.zeros_like(mean)
    cycles = ops.log(1 + steps[..., None] / lags[:, None])
    features = [from_last, arcsinh(from_last / unit), arcsinh((mean - newest[..., 0]) / unit)]
    features = ops.stack([*features, ahead, cycles, newest[..., 0]], axis=-1)
    return ops.concatenate([arcsinh(differences), seen, features], axis=-1)


def continue_slopes(slopes, steps):
    """Return what slopes add in so many steps, at most 8 deviations, `(batch, future, windows)`."""
    return ops.clip(slopes[:, None] * steps[..., None], -8, 8)


def fit_slopes(values, observed):
    """Return the slopes per step `(batch, windows)` of lines fitted to the last steps."""
    ages = np.arange(values.shape[1])[::-1, None]
    dtype = standardize_dtype(values.dtype)
    # Sums of products, not products of matrices: a quantized file would round the times.
    time = (-ages / 100).astype(dtype)
    known = observed[..., None] * (ages < np.array(WINDOWS)).astype(dtype)
    number = ops.maximum(ops.sum(known, axis=1, keepdims=True), 1)
    middle = ops.sum(known * time, axis=1, keepdims=True) / number
    time = known * ops.subtract(time, middle)
    squares = ops.sum(ops.square(time), axis=1) / number[:, 0]
    products = ops.sum(time * values[..., None], axis=1) / number[:, 0]
    return products / (squares + 1e-5) / 100


def _spread_out(x):
    """Return increasing quantiles: the middle one, and positive steps from it on both sides."""
    middle = x.shape[-1] // 2
    up = ops.cumsum(ops.softplus(x[..., middle + 1 :]), axis=-1)
    # `flip`, because PyTorch does not support negative steps in slices.
    down = ops.cumsum(ops.softplus(ops.flip(x[..., :middle], axis=-1)), axis=-1)
    down = ops.flip(down, axis=-1)
    center = x[..., middle : middle + 1]
    return ops.concatenate([center - down, center, center + up], axis=-1)
