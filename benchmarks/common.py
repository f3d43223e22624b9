"""What several benchmarks share: where results lie, their tables, medians, the device's name."""

import csv
import statistics
import time
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def median_seconds(function, repeats, warm_up=True, clock=time.perf_counter):
    if warm_up:
        function()
    times = []
    for _ in range(repeats):
        started = clock()
        function()
        times.append(clock() - started)
    return statistics.median(times)


def device_name():
    """Of what Keras's backend computes on: an accelerator's name, or "cpu"."""
    import keras

    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        device = jax.devices()[0]
        return device.device_kind if device.platform != "cpu" else "cpu"
    if backend == "torch":
        import torch

        return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    return tf.config.experimental.get_device_details(gpus[0])["device_name"] if gpus else "cpu"


def backend_name():
    """Name of Keras's backend, with the accelerator's if it computes on one."""
    import keras

    device = device_name()
    return keras.backend.backend() + ("" if device == "cpu" else f" ({device})")


def names(text):
    """A comma-separated option as a tuple."""
    return tuple(text.split(","))


def keys_of(path, columns):
    """The runs in a table, each a tuple of these columns; an empty set without the table."""
    return {tuple(row[column] for column in columns) for row in read_rows(path)}


def read_rows(path):
    """The rows of a table as dicts of text; an empty list without the table."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append_row(path, columns, row, line_end="\r\n"):
    """Add one line in one write, so that two sweeps may share the table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.is_file()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator=line_end)
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def markdown(table):
    """A data frame as a Markdown table: three decimals, nothing for NaN."""

    def cell(value):
        if isinstance(value, float):
            return "" if pd.isna(value) else f"{value:.3f}"
        return str(value)

    lines = [table.columns, ["---"] * len(table.columns), *table.itertuples(index=False)]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines)
