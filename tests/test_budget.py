"""Budget of what a user waits for, in counts: a rise fails with the name of the count."""

import json
import os
import subprocess
import sys

import keras
import pytest

MEASURE = """
import json, sys
from pathlib import Path

counts = {}

import kerastrans
counts["modules of import kerastrans"] = sum(x.startswith("kerastrans") for x in sys.modules)

from kerastrans.cli.startup import start_keras
start_keras()
import keras
from kerastrans.utils import compilation

compiled, calls = [0], [0]
if keras.backend.backend() == "jax":
    import jax

    jax.config.update("jax_enable_compilation_cache", False)
    jax.monitoring.register_event_duration_secs_listener(
        lambda name, *_, **__: compiled.__setitem__(
            0, compiled[0] + name.endswith("backend_compile_duration")
        )
    )
if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    function = tf.function

    def counted(python_function, **options):
        def traced(*args):
            compiled[0] += 1
            return python_function(*args)

        return function(traced, **options)

    tf.function = counted

call = keras.layers.Layer.__call__

def counted_call(layer, *args, **kwargs):
    calls[0] += 1
    return call(layer, *args, **kwargs)

keras.layers.Layer.__call__ = counted_call

status = Path("/proc/self/status")

def megabytes():
    # Without the pages of libraries: the disk cache decides how many of them a process holds.
    lines = dict(line.split(":") for line in status.read_text().splitlines())
    return int(lines["RssAnon"].split()[0]) / 1024

def count(step):
    if status.exists():
        most = max(counts.get("megabytes allocated", 0), megabytes())
        counts["megabytes allocated"] = most
    counts[f"compilations of {step}"], compiled[0] = compiled[0], 0
    counts[f"layer calls of {step}"], calls[0] = calls[0], 0

import numpy as np
import pandas as pd

def frame(series):
    ds = pd.date_range("2024-01-01", periods=60, freq="D")
    y = 10 + np.sin(np.arange(60) * 2 * np.pi / 7)
    names = [f"s{number}" for number in range(series)]
    return pd.concat([pd.DataFrame({"unique_id": name, "ds": ds, "y": y}) for name in names])

forecaster = kerastrans.from_pretrained("kerastrans_zero_2", 7, verbose=False)
count("from_pretrained")
if keras.backend.backend() == "jax":
    compilation._compiles_quickly()
    count("the options of XLA")
forecaster.predict(frame(1))
count("the first forecast")
forecaster.predict(frame(1).assign(y=3.0))
count("a warm forecast")
forecaster.predict(frame(1)[20:])
count("a shorter series")
forecaster.predict(frame(2))
count("two series")
forecaster.predict(frame(8))
count("eight series after two")
forecaster.predict(frame(256))
count("256 series")
forecaster.predict(frame(257))
count("257 series after 256")
counts["modules of a forecast"] = sum(x.startswith("kerastrans") for x in sys.modules)
unused = ("sklearn", "scipy.stats", "matplotlib", "IPython", "torch", "onnx", "statsforecast")
counts["libraries that no forecast uses"] = sum(x in sys.modules for x in unused)
print(json.dumps(counts))
"""
EVERYWHERE = {
    "modules of import kerastrans": 7,
    "modules of a forecast": 132,
    "libraries that no forecast uses": 0,
    "layer calls of from_pretrained": 19,
    "layer calls of a warm forecast": 0,
    "compilations of a warm forecast": 0,
    "layer calls of 257 series after 256": 0,
    "compilations of a shorter series": 0,
    "compilations of eight series after two": 0,
    "compilations of 257 series after 256": 0,
}
# The number of threads decides how much memory a process reserves for each of them.
ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
}
# Counts of one backend. PyTorch compiles nothing and calls the layers in each forecast.
BUDGETS = {
    "jax": EVERYWHERE
    | {
        "compilations of from_pretrained": 19,
        "compilations of the options of XLA": 1,  # once a process, of a program without inputs
        "compilations of the first forecast": 1,
        "compilations of 256 series": 1,
        "megabytes allocated": 500,
    },
    "tensorflow": EVERYWHERE
    | {
        "compilations of from_pretrained": 0,
        "compilations of the first forecast": 1,
        "layer calls of the first forecast": 41,  # it builds the network of the short window
        "megabytes allocated": 420,
    },
}


@pytest.mark.slow
def test_nothing_that_a_user_waits_for_has_grown():
    budget = BUDGETS.get(keras.backend.backend())
    if budget is None:
        pytest.skip("PyTorch calls each layer in Python, and compiles nothing")
    command = [sys.executable, "-c", MEASURE]
    environment = {**os.environ, **ENVIRONMENT}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    counts = json.loads(done.stdout.splitlines()[-1])
    above = {
        name: f"{counts[name]} > {most}"
        for name, most in budget.items()
        if counts.get(name, 0) > most
    }
    assert not above, f"above the budget: {above}; all counts: {counts}"
