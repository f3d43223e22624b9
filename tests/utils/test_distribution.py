"""Several devices and processes train as one does: the same losses."""

import json
import os
import re
import socket
import subprocess
import sys

import keras
import numpy as np
import pytest

from kerastrans import zoo
from kerastrans.layers.attention.multi_head_attention import ProjectedAttention
from kerastrans.utils.distribution import _LAYOUT, distribute

TRAIN = """
import json, sys
import keras
import numpy as np

command, *arguments = sys.argv[1:]
if command == "join":
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    keras.distribution.initialize(arguments[0], 2, int(arguments[1]))
if command == "mirror":
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, 2 * [tf.config.LogicalDeviceConfiguration()])

import pandas as pd
import kerastrans
from kerastrans.utils.distribution import distribute

random = np.random.default_rng(0)
index = pd.date_range("2020-01-01", periods=400, freq="h")
frame = pd.DataFrame(random.standard_normal((400, 3)).cumsum(0), index, list("abc"))
options = {"patch_length": 8, "stride": 4, "d_model": 16, "num_heads": 4, "ff_dim": 32}
options |= {"num_blocks": 1, "dropout": 0.0, "head": "point"}


def losses(kind=None, num_devices=None):
    model = kerastrans.Forecaster("patchtst", 48, 12, **options)
    if num_devices is None:
        model.fit(frame, epochs=3, batch_size=32, verbose=0, distribute=kind)
    else:
        with distribute(kind, num_devices):
            model.fit(frame, epochs=3, batch_size=32, verbose=0)
    assert np.isfinite(model.predict(frame)["patchtst"]).all() or command == "join"
    return model.history.history["loss"]


runs = {
    "devices": lambda: {
        "one": losses(), "two": losses("data", 2), "four": losses("data"), "cut": losses("model")
    },
    "mirror": lambda: {"one": losses(), "two": losses("data")},
    "join": lambda: {"two": losses("data")},
}
print(json.dumps(runs[command]()))
"""


def start(backend, *arguments):
    environment = {**os.environ, "KERAS_BACKEND": backend}
    if arguments[0] == "devices":
        environment["XLA_FLAGS"] += " --xla_force_host_platform_device_count=4"
    command = [sys.executable, "-c", TRAIN, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def finish(process):
    output, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(output.splitlines()[-1])


@pytest.fixture(scope="module")
def on_jax():
    pytest.importorskip("jax")
    return finish(start("jax", "devices"))


@pytest.mark.parametrize("run", ["two", "four", "cut"])
@pytest.mark.slow
def test_losses_equal_those_of_one_device(run, on_jax):
    np.testing.assert_allclose(on_jax[run], on_jax["one"], rtol=1e-3)
    assert on_jax["one"][-1] < 0.9 * on_jax["one"][0]


@pytest.mark.slow
def test_two_processes_train_like_one(on_jax):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    both = [start("jax", "join", address, number) for number in "01"]
    first, second = map(finish, both)
    assert first == second
    np.testing.assert_allclose(first["two"], on_jax["one"], rtol=1e-3)


@pytest.mark.tensorflow
@pytest.mark.slow
def test_tensorflow_mirrored_strategy_trains_like_one_device():
    found = finish(start("tensorflow", "mirror"))
    # Batch normalisation sees the windows of its own device.
    np.testing.assert_allclose(found["two"], found["one"], rtol=2e-2)


SLOW = ("informer", "timexer", "direct_transformer")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["itransformer", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_attention_and_feed_forward_weights_are_sharded(name):
    keras.backend.clear_session()
    for _ in range(2):  # Keras numbers what has no name of its own
        model = zoo.build(name, 32, 8, 3)
    layouts = {
        variable.path: [axes for path, axes in _LAYOUT.items() if re.fullmatch(path, variable.path)]
        for variable in model.variables
    }
    assert all(len(axes) <= 1 for axes in layouts.values())
    count = sum(isinstance(layer, ProjectedAttention) for layer in model.layers)
    cut = [path for path, axes in layouts.items() if axes and path.endswith("kernel")]
    assert len([path for path in cut if "attention" in path]) == 4 * count
    expand = [path for path in cut if "ffn_expand" in path]
    assert len(expand) == len([path for path in cut if "ffn_contract" in path])
    norms = [path for path in model.layers if isinstance(path, keras.layers.LayerNormalization)]
    assert 0 < len(expand) <= len(norms)
    sizes = {v.path: int(np.prod(v.shape)) for v in model.variables}
    assert sum(sizes[path] for path in cut) > 0.5 * sum(sizes.values())


def test_invalid_distributions_are_refused():
    wrong = pytest.raises(ValueError, match="kind must be one of 'data', 'model', got 'pipeline'")
    with wrong, distribute("pipeline"):
        pass
    if keras.backend.backend() != "jax":
        with pytest.raises(RuntimeError, match="KERAS_BACKEND=jax"), distribute("model"):
            pass
    else:
        wrong = pytest.raises(ValueError, match="num_devices must be from 1 to 1")
        with wrong, distribute("data", 2):
            pass
