"""A circular convolution is its sum."""

import numpy as np
import pytest
from keras import ops

from kerastrans.models.pretrained.reverso.network import CircularConvolution


@pytest.mark.parametrize("length", [1, 7, 12])
def test_it_is_the_sum_over_a_circle(length):
    inputs = np.random.default_rng(0).normal(size=(2, length, 3)).astype("float32")
    layer = CircularConvolution()
    found = ops.convert_to_numpy(layer(inputs))
    kernel = ops.convert_to_numpy(layer.kernel)
    places = (np.arange(length)[:, None] - np.arange(length)) % length
    expected = np.einsum("fs,btsf->btf", kernel, inputs[:, places])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
