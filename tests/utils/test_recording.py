"""Records of PyTorch operations give what the function gives, whatever changes between calls."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import kerastrans
from tests.conftest import to_numpy

if keras.backend.backend() != "torch":
    pytest.skip("needs Keras to run on PyTorch", allow_module_level=True)

import torch

from kerastrans.utils import compilation
from kerastrans.utils.compilation import RecordedFunction, shapes_that_come_often

RANDOM = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def few_calls(monkeypatch):
    monkeypatch.setattr(compilation, "RECORD_AFTER", 2)


class Counted:
    """A function and the number of its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.function(*arguments)


def tensors(*shape):
    return torch.tensor(RANDOM.standard_normal(shape), dtype=torch.float32)


def called_often(function, variables=(), shape=(3, 4)):
    """Call a recorded function with other numbers each time; return how often it was not."""
    counted = Counted(function)
    recorded = RecordedFunction(counted, list(variables))
    for _ in range(8):
        x = tensors(*shape)
        torch.testing.assert_close(recorded(x), function(x))
    return counted.calls


def test_a_function_is_called_to_record_and_to_compare_and_not_again():
    dense = layers.Dense(5, activation="gelu")
    dense.build((None, 4))
    calls = 4  # twice as before, once to record, once to compare
    assert called_often(lambda x: dense(x), dense.variables) == calls
    assert called_often(lambda x: {"a": (x + 1, x[:, :2]), "b": [ops.softmax(x)]}) == calls


def test_the_shapes_of_a_service_are_recorded_at_once(monkeypatch):
    monkeypatch.setattr(compilation, "RECORD_AFTER", 32)
    counted = Counted(lambda x: x + 1)
    recorded = RecordedFunction(counted, [])
    with shapes_that_come_often():
        recorded(tensors(3))
    for _ in range(4):
        recorded(tensors(3))
    assert counted.calls == 3


def test_weights_that_change_later_are_those_of_the_record():
    weight = keras.Variable(np.ones(4), dtype="float32")
    recorded = RecordedFunction(lambda x: x * ops.exp(weight), [weight])
    x = tensors(3, 4)
    for factor in range(6):
        weight.assign(np.full(4, factor))
        torch.testing.assert_close(recorded(x), x * np.exp(factor).item())


def test_each_shape_stride_and_other_argument_has_a_record_of_its_own():
    counted = Counted(lambda x, scale: ops.reshape(x, (-1,)) * scale)
    recorded = RecordedFunction(counted, [])
    for _ in range(4):
        for x in (tensors(3, 4), tensors(4, 4), tensors(4, 3).T):
            for scale in (2, 3):
                torch.testing.assert_close(recorded(x, scale), x.reshape(-1) * scale)
    assert counted.calls == 4 * 6


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1 if x.sum() > 0 else x - 1,
        lambda x: x * float(ops.convert_to_numpy(x).max()),
        lambda x: torch.as_tensor(np.cumsum(ops.convert_to_numpy(x), axis=1)),
    ],
    ids=["a branch", "a number", "NumPy"],
)
def test_what_depends_on_numbers_by_python_or_numpy_is_called_as_before(function):
    assert called_often(function) > 8


def test_random_numbers_are_drawn_anew():
    generator = keras.random.SeedGenerator(1)
    for variables in ([], [generator.state]):
        recorded = RecordedFunction(
            lambda x: x + keras.random.normal(x.shape, seed=generator), variables
        )
        drawn = [recorded(torch.zeros(3, 4)) for _ in range(6)]
        assert len({float(x.sum()) for x in drawn}) == 6


def test_only_the_latest_kinds_are_kept(monkeypatch):
    monkeypatch.setattr(compilation, "MAX_RECORDS", 2)
    counted = Counted(lambda x: x + 1)
    recorded = RecordedFunction(counted, [])
    for size in (1, 2, 3, 1, 1):
        for _ in range(2):
            recorded(tensors(size))
    assert counted.calls == 4 * 3 + 1  # size 1 is recorded twice, and compared once


def test_generation_from_a_record_hides_the_padding_of_its_own_history():
    sizes = {"num_heads": 2, "key_dim": 3, "ff_dim": 8}
    history, target = keras.Input((6, 4)), keras.Input((None, 4))
    x = kerastrans.transformer_encoder(layers.Masking(0.0)(history), **sizes)
    y = kerastrans.transformer_decoder(target, x, **sizes)
    model = keras.Model([history, target], layers.Dense(4)(y))
    start = RANDOM.standard_normal((2, 1, 4), "float32")
    for padding in (1, 3, 2, 0):
        values = RANDOM.standard_normal((2, 6, 4), "float32")
        values[:, 6 - padding :] = 0
        generated = kerastrans.generate(model, values, 5, start_token=start)
        shown = np.concatenate([start, generated[:, :-1]], axis=1)
        np.testing.assert_allclose(generated, to_numpy(model([values, shown])), atol=1e-5)
