import numpy as np
import pytest

from kerastrans.layers import MultiwaveletBlock
from kerastrans.layers.frequency.multiwavelets import (
    decompose,
    legendre_filters,
    reconstruct,
    wrap_to_power,
)
from tests.conftest import to_numpy


def coefficients(f, intervals, count):
    """Return integrals of a function times the polynomials of equal intervals of [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    starts = np.arange(intervals)[:, None] / intervals
    values = f(starts + (nodes + 1) / 2 / intervals)
    basis = np.polynomial.legendre.legvander(nodes, count - 1) * np.sqrt(2 * np.arange(count) + 1)
    return (values * weights / 2) @ basis / np.sqrt(intervals)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_filters_are_orthogonal(count):
    filters = legendre_filters(count)
    np.testing.assert_allclose(filters @ filters.T, np.eye(2 * count), atol=1e-12)


def test_polynomials_have_no_details():
    def f(x):
        return 1 + 2 * x - 3 * x**2

    x = coefficients(f, 8, 3).astype("float32")[None, :, None]
    parts = decompose(x, legendre_filters(3), 3)
    for scale, (averages, details) in enumerate(parts):
        np.testing.assert_allclose(to_numpy(details), 0, atol=1e-6)
        expected = coefficients(f, 4 // 2**scale, 3)
        np.testing.assert_allclose(to_numpy(averages)[0, :, 0], expected, atol=1e-6)


def test_sequences_are_restored_from_their_scales():
    x = np.random.default_rng(0).standard_normal((2, 13, 3, 4)).astype("float32")
    wrapped = to_numpy(wrap_to_power(x))
    np.testing.assert_array_equal(wrapped, np.concatenate([x, x[:, :3]], axis=1))
    filters = legendre_filters(4)
    parts = decompose(wrapped, filters, 3)
    restored = reconstruct(parts[-1][0], [(0.0, details) for _, details in parts], filters)
    np.testing.assert_allclose(to_numpy(restored), wrapped, atol=1e-5)


def test_kernels_have_at_most_the_frequencies_of_the_finest_scale():
    for modes, kept in ((16, 9), (4, 4)):
        layer = MultiwaveletBlock(channels=2, num_polynomials=3, modes=modes)
        layer.build((None, 20, 5))
        assert layer.scales == 4
        shapes = {kernel.shape for kernels in layer.kernels.values() for kernel in kernels}
        assert shapes == {(kept, 6, 6)}


def test_a_sequence_without_scales_is_refused():
    layer = MultiwaveletBlock(channels=2, num_polynomials=3, skipped_levels=4)
    with pytest.raises(ValueError, match="base 2 logarithm of the 20 steps of a sequence, got 4"):
        layer.build((None, 20, 5))
    with pytest.raises(ValueError, match="skipped_levels must be an integer of at least 0"):
        MultiwaveletBlock(channels=2, skipped_levels=-1)
