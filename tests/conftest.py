import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Tests compile more than they compute: XLA leaves out the passes that take longest, and loops are
# written by its older emitters, which take half as long on a processor.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
    " --xla_cpu_use_fusion_emitters=false",
)
# Where a pass of the ONNX converter fails it says so, instead of keeping a copy to go back to.
os.environ.setdefault("TF2ONNX_CATCH_ERRORS", "FALSE")

import gc
import tempfile
from pathlib import Path

import keras
import numpy as np
import pytest
from hypothesis import settings

import kerastrans
from kerastrans.data import random_sequences
from tests.helpers.tables import write_table

# TensorFlow's graphs are millions of objects that stay: looking through them as often as Python
# would takes 7 % to 10 % of the time.
gc.set_threshold(100_000, 50, 100)

# Tests do not read the programs that the user's own commands compiled.
_CACHE = tempfile.TemporaryDirectory()
os.environ["KERASTRANS_CACHE_DIR"] = _CACHE.name

collect_ignore = ["typing"]  # for the type checker, never run

# No deadline: the first example of a shape compiles; so does every example on JAX, where few serve.
EXAMPLES = 15 if keras.backend.backend() == "tensorflow" else 5
settings.register_profile("kerastrans", deadline=None, max_examples=EXAMPLES, derandomize=True)
settings.load_profile("kerastrans")

# For `compile`: on TensorFlow, XLA takes longer to compile a test's model than it saves. JAX has
# no other way to be quick.
XLA = {"jit_compile": keras.backend.backend() == "jax"}


# The longest files come first: a process that ends with one keeps the other waiting.
LONGEST = (
    "contract/test_option_pairs.py",
    "contract/test_forecaster.py",
    "models/pretrained/test_parity.py",
    "contract/test_export.py",
    "contract/test_backends.py",
    "contract/test_models.py",
    "examples/test_notebooks.py",
    "test_imports.py",
    "inference/test_window_scales.py",
    "presets/test_catalog.py",
    "presets/test_pretrained.py",
    "inference/test_horizon.py",
    "export/test_samples.py",
    "export/test_lengths.py",
    "selection/test_search.py",
    "training/test_checkpoint.py",
    "selection/test_combination.py",
    "docs/test_code_blocks.py",
)


def pytest_collection_modifyitems(items):
    def rank(item):
        path = item.path.as_posix()
        return next((i for i, end in enumerate(LONGEST) if path.endswith(end)), len(LONGEST))

    items.sort(key=rank)
    reasons = {}
    if not os.environ.get("KERASTRANS_DATA_DIR"):
        reasons["data"] = "KERASTRANS_DATA_DIR names no folder of benchmark series"
    if keras.backend.backend() != "tensorflow":
        reasons["tensorflow"] = "needs Keras to run on TensorFlow"
    for item in items:
        for mark, reason in reasons.items():
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def seed():
    keras.utils.set_random_seed(0)
    yield
    keras.config.set_floatx("float32")
    keras.config.set_dtype_policy("float32")


@pytest.fixture
def eagerly():
    """Run TensorFlow without graphs, where compiling takes longer than what is computed."""
    if keras.backend.backend() != "tensorflow":
        yield
        return
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture
def small_model():
    """An untrained Transformer: 8 steps of 3 channels in, any number out."""
    return kerastrans.build_transformer_model(
        (8, 3),
        num_heads=2,
        key_dim=4,
        ff_dim=16,
        num_encoder_blocks=1,
        num_decoder_blocks=2,
        d_model=12,
    )


@pytest.fixture
def small_inputs():
    return random_sequences(2, 8, 3, seed=1)


def in_float64(model, build):
    """What `build()` makes in float64, with the weights of `model`; `seed` sets the policy back."""
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    exact = build()
    exact.set_weights(model.get_weights())
    return exact


def assert_same_numbers(one, other):
    """Assert that two trainings of one seed gave the same arrays: on JAX bit for bit.

    TensorFlow adds in an order that the threads decide: now and then a last bit differs.
    """
    rtol = 0 if keras.backend.backend() == "jax" else 1e-5
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def to_numpy(tensor):
    return keras.ops.convert_to_numpy(tensor)


def naive_generate(model, encoder_inputs, num_steps, start_token=None):
    """What `generate` must equal: the whole sequence through the model at every step."""
    generated = _as_start(model, encoder_inputs, start_token)
    for _ in range(num_steps):
        outputs = to_numpy(model([encoder_inputs, generated]))
        generated = np.concatenate([generated, outputs[:, -1:]], axis=1)
    return generated[:, 1:]


def assert_generated(model, encoder_inputs, generated, start_token=None, atol=1e-4):
    """Assert that the model, shown what it generated, puts out just that.

    By induction over the steps this is equality with the naive loop, in one pass.
    """
    start = _as_start(model, encoder_inputs, start_token)
    outputs = model([encoder_inputs, np.concatenate([start, generated[:, :-1]], axis=1)])
    np.testing.assert_allclose(generated, to_numpy(outputs), rtol=0, atol=atol)


def _as_start(model, encoder_inputs, start_token):
    shape = (len(encoder_inputs), 1, model.inputs[-1].shape[-1])
    start = encoder_inputs[:, -1:] if start_token is None else start_token
    return np.broadcast_to(np.asarray(start, "float32"), shape)


_table = pytest.StashKey()  # (model, runtime) -> what was found


def pytest_addoption(parser):
    parser.addoption(
        "--write-runtimes", type=Path, help="Markdown file to write, see make runtimes"
    )


def pytest_configure(config):
    config.stash[_table] = {}


@pytest.fixture
def runtimes_table(pytestconfig):
    """Dict from (model, runtime) to what the tests found; written by `--write-runtimes`."""
    return pytestconfig.stash[_table]


def pytest_sessionfinish(session):
    path, table = session.config.getoption("--write-runtimes"), session.config.stash[_table]
    if path is None:
        return
    runtimes = list(dict.fromkeys(runtime for _, runtime in table))
    lines = [["model", *runtimes]]
    for name in dict.fromkeys(name for name, _ in table):
        lines.append([name, *(table.get((name, runtime), "") for runtime in runtimes)])
    write_table(path, "runtimes", lines)


if keras.backend.backend() == "torch":
    # Tensors on a GPU do not become arrays by themselves; those on the CPU, which the tests compute
    # on, do, and would hide a layer that multiplies one with an array.
    import sys

    import torch

    PACKAGE = Path(kerastrans.__file__).parent
    as_array = torch.Tensor.__array__

    def refuse(tensor, *args, **kwargs):
        caller = sys._getframe(1).f_code.co_filename
        if PACKAGE in Path(caller).parents:
            raise TypeError(f"{caller} made an array of a tensor, which fails on a GPU.")
        return as_array(tensor, *args, **kwargs)

    torch.Tensor.__array__ = refuse
