"""Programs on JAX are compiled quickly at first, and with all optimisations if they come often."""

import keras
import numpy as np
import pytest

from kerastrans import Forecaster
from kerastrans.utils import compilation
from kerastrans.utils.compilation import compile_function
from tests.helpers.frames import long_frame

if keras.backend.backend() != "jax":
    pytest.skip("needs Keras to run on JAX", allow_module_level=True)

import jax


@pytest.fixture(autouse=True)
def unknown_version():
    compilation._compiles_quickly.cache_clear()
    yield
    compilation._compiles_quickly.cache_clear()


@pytest.fixture
def called(monkeypatch):
    """For each call of a program that computes, whether it has the quick options."""
    found, jit = [], jax.jit

    def recorded(function, compiler_options=None):
        program = jit(function, compiler_options=compiler_options)

        def call(*arguments):
            if arguments:  # the question whether there are such options has none
                found.append(compiler_options is compilation.QUICK)
            return program(*arguments)

        return call

    monkeypatch.setattr(jax, "jit", recorded)
    return found


class Product:
    """Compiled `x * weight`."""

    def __init__(self):
        self.weight = keras.Variable(3.0)
        self.compiled = compile_function(lambda x: x * self.weight, [self.weight])

    def call(self, rows, times):
        for number in range(times):
            self.weight.assign(float(number))
            x = np.arange(rows, dtype="float32")
            np.testing.assert_array_equal(self.compiled(keras.ops.convert_to_tensor(x)), x * number)


@pytest.mark.parametrize(("rows", "times"), [(1, 256), (20, 12), (100, 8), (1000, 8)])
def test_a_shape_that_comes_often_is_compiled_again(rows, times, called):
    product = Product()
    product.call(rows, times + 2)
    assert called == [True] * times + [False] * 2
    product.call(rows + 1, 1)
    assert called[-1]


def test_the_shapes_of_a_service_are_compiled_once(called):
    product = Product()
    with compilation.shapes_that_come_often():
        product.call(100, 1)
    product.call(100, 2)
    product.call(101, 1)
    assert called == [False] * 3 + [True]


def test_a_program_with_all_optimisations_differs_in_the_last_digits_only():
    """docs/doors.md says so: 1e-6 of the amplitude."""
    frame = long_frame([60] * 32)
    forecaster = Forecaster("nhits", 28, 7).fit(frame, epochs=0)
    found = [forecaster.predict(frame)["nhits"] for _ in range(compilation.QUICK_CALLS + 2)]
    assert all((x == found[0]).all() for x in found[: compilation.QUICK_CALLS])
    assert (found[-1] == found[-2]).all()
    assert np.abs(found[-1] - found[0]).max() < 1e-6 * frame.groupby("unique_id")["y"].std().min()


def test_a_part_of_a_compiled_function_has_no_options():
    product = Product()
    outer = jax.jit(lambda x: product.compiled(x) + 1)
    np.testing.assert_array_equal(outer(np.ones(2, "float32")), [4, 4])


def test_a_version_without_the_options_compiles_once(monkeypatch, called):
    monkeypatch.setattr(compilation, "QUICK", {"xla_no_such_option": True})
    Product().call(100, 10)
    assert called == [False] * 10
