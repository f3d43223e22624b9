import numpy as np
import pytest

from kerastrans.layers import ComplexDense
from tests.conftest import to_numpy


@pytest.mark.parametrize("options", [{}, {"individual": True}, {"diagonal": True}], ids=str)
def test_it_is_a_product_of_complex_numbers(options):
    random = np.random.default_rng(0)
    x = random.standard_normal((4, 3, 5)) + 1j * random.standard_normal((4, 3, 5))
    layer = ComplexDense(5 if "diagonal" in options else 2, **options)
    parts = [part.astype("float32") for part in (x.real, x.imag)]
    layer(*parts)
    layer.set_weights([random.standard_normal(weight.shape) for weight in layer.weights])
    real, real_bias, imaginary, imaginary_bias = map(to_numpy, layer.weights)
    kernel, bias = real + 1j * imaginary, real_bias + 1j * imaginary_bias
    equation = {"individual": "bci,cio->bco", "diagonal": "bci,i->bci"}
    expected = np.einsum(equation.get(next(iter(options), ""), "bci,io->bco"), x, kernel) + bias
    found = [to_numpy(part) for part in layer(*parts)]
    np.testing.assert_allclose(found[0] + 1j * found[1], expected, atol=1e-5)


@pytest.mark.parametrize("initializer", [None, "zeros"])
def test_the_imaginary_part_may_begin_at_zero(initializer):
    layer = ComplexDense(2, imaginary_initializer=initializer)
    layer = ComplexDense.from_config(layer.get_config())
    layer(*np.ones((2, 4, 3, 5), "float32"))
    real, _, imaginary, _ = map(to_numpy, layer.weights)
    assert real.any()
    assert imaginary.any() == (initializer is None)
