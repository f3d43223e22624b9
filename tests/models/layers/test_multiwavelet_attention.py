import numpy as np
import pytest

from kerastrans.models.fedformer import MultiwaveletCrossAttention
from tests.conftest import to_numpy

RANDOM = np.random.default_rng(0)
QUERY, MEMORY = (RANDOM.standard_normal((2, time, 4)).astype("float32") for time in (6, 9))


@pytest.mark.parametrize("activation", ["tanh", "softmax"])
def test_memory_is_cut_to_the_length_of_the_query(activation):
    layer = MultiwaveletCrossAttention(3, num_polynomials=2, activation=activation)
    expected = to_numpy(layer(QUERY, MEMORY))
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(to_numpy(layer(QUERY, MEMORY[:, :6])), expected, atol=1e-6)
    changed = MEMORY.copy()
    changed[:, 5] += 1
    assert np.abs(to_numpy(layer(QUERY, changed)) - expected).max() > 1e-4


def test_a_constant_has_the_frequency_0_of_the_averages_only():
    # With one polynomial the averages of ones are root 2, 2, ..., and the details are 0.
    layer = MultiwaveletCrossAttention(1, num_polynomials=1, modes=1, activation="softmax")
    ones = np.ones((1, 4, 1), "float32")
    layer.build(ones.shape, ones.shape)
    for dense in (layer.query_dense, layer.key_dense, layer.output_dense):
        dense.kernel.assign([[1.0]])
    # The memory's averages of the first scale are the details of the result, for both halves of a
    # pair with different signs.
    np.testing.assert_allclose(to_numpy(layer(ones, ones))[0, :, 0], [1, -1, 1, -1], atol=1e-6)


def test_an_unknown_activation_is_refused():
    with pytest.raises(ValueError, match="activation must be one of 'tanh', 'softmax', got 'elu'"):
        MultiwaveletCrossAttention(1, activation="elu")
