"""Which part of DeepAR and TFT takes the time of a training step with a history of 1,440 steps.

    KERAS_BACKEND=jax python -m benchmarks.speed.step_parts   # writes results/step_parts.csv

CPU seconds of the gradient of a mean square, medians of five: of the whole model, and of each part
on random inputs of the shapes that it has in the model (32 windows of 7 channels, 96 steps ahead).
The LSTMs of PyTorch, on one thread, are for comparison, where it is installed. Pin the process to
one core: `taskset -c 0`.
"""

import csv
import importlib.util
import itertools
import os
import time

import keras
import numpy as np
from keras import layers

from benchmarks.common import RESULTS, median_seconds
from kerastrans import zoo
from kerastrans.models.parts.sublayers import TENSORFLOW_EPSILON
from kerastrans.models.parts.variable_selection import GatedNetworks

BATCH, CHANNELS, HISTORY, HORIZON = 32, 7, 1440, 96
STEPS = HISTORY + HORIZON
RANDOM = np.random.default_rng(0)


def deepar():
    """The model and its two LSTMs, which read each channel as a series of its own."""
    units = zoo.info("deepar").defaults["units"]
    rows = BATCH * CHANNELS
    yield "deepar", "whole", seconds(zoo.build("deepar", HISTORY, HORIZON, CHANNELS))
    inputs = keras.Input((STEPS, 1))
    cells = layers.StackedRNNCells([layers.LSTMCell(units), layers.LSTMCell(units)])
    outputs = layers.RNN(cells, return_sequences=True)(inputs)
    yield "deepar", "LSTMs", seconds(keras.Model(inputs, outputs), rows)
    yield "deepar", "LSTMs of PyTorch", torch_seconds(rows, 1, units, num_layers=2)


def tft():
    """The model, the selection of its variables, its LSTMs and its attention."""
    defaults = zoo.info("tft").defaults
    width, heads = defaults["d_model"], defaults["num_heads"]
    yield "tft", "whole", seconds(zoo.build("tft", HISTORY, HORIZON, CHANNELS))

    inputs = [keras.Input((HISTORY, width)) for _ in range(CHANNELS)]
    selected = GatedNetworks(defaults["dropout"], TENSORFLOW_EPSILON).select(inputs, "past")
    yield "tft", "selection of the past", seconds(keras.Model(inputs, selected))

    inputs = keras.Input((HISTORY, width))
    outputs = layers.LSTM(width, return_sequences=True)(inputs)
    yield "tft", "LSTM of the past", seconds(keras.Model(inputs, outputs))
    yield "tft", "LSTM of PyTorch", torch_seconds(BATCH, width, width, num_layers=1)

    query, memory = keras.Input((HORIZON, width)), keras.Input((STEPS, width))
    outputs = layers.MultiHeadAttention(heads, width // heads)(query, memory)
    yield "tft", "attention", seconds(keras.Model([query, memory], outputs))


def seconds(model, batch=BATCH):
    """Return the CPU seconds of the gradient of a model's mean square."""
    import jax

    inputs = [
        RANDOM.normal(size=(batch, *[size or HORIZON for size in x.shape[1:]])).astype("float32")
        for x in model.inputs
    ]
    inputs = inputs if len(inputs) > 1 else inputs[0]
    fixed = [v.value for v in model.non_trainable_variables]

    def loss(weights):
        outputs, _ = model.stateless_call(weights, fixed, inputs, training=True)
        return sum((x**2).mean() for x in keras.tree.flatten(outputs))

    gradient, weights = jax.jit(jax.grad(loss)), [v.value for v in model.trainable_variables]
    return median_seconds(
        lambda: jax.block_until_ready(gradient(weights)), 5, clock=time.process_time
    )


def torch_seconds(rows, width, units, num_layers):
    """Return the CPU seconds of the gradient of PyTorch's LSTMs; NaN without PyTorch."""
    if importlib.util.find_spec("torch") is None:
        return float("nan")
    import torch

    torch.set_num_threads(1)
    network = torch.nn.LSTM(width, units, num_layers, batch_first=True)
    inputs = torch.tensor(RANDOM.normal(size=(rows, STEPS, width)), dtype=torch.float32)

    def step():
        network.zero_grad()
        (network(inputs)[0] ** 2).mean().backward()

    return median_seconds(step, 5, clock=time.process_time)


def main():
    if keras.backend.backend() != "jax" or len(os.sched_getaffinity(0)) > 1:
        raise SystemExit("run it on JAX and on one core: KERAS_BACKEND=jax taskset -c 0 python ...")
    rows = []
    for model, part, found in itertools.chain(deepar(), tft()):
        rows.append((model, part, f"{found:.3f}"))
        print(*rows[-1], flush=True)
    with (RESULTS / "step_parts.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("model", "part", "cpu_seconds"), *rows])


if __name__ == "__main__":
    main()
