import numpy as np
import pytest

from kerastrans.layers import BasisExpansion
from tests.conftest import to_numpy

TIME = np.arange(12) / 12


def curves(basis, size, length=12):
    """The basis itself: the expansion of each unit vector."""
    return to_numpy(BasisExpansion(basis, length)(np.eye(size, dtype="float32")))


def test_polynomial_basis_consists_of_powers_of_time():
    np.testing.assert_allclose(curves("polynomial", 3), [TIME**0, TIME, TIME**2], atol=1e-6)


def test_fourier_basis_consists_of_orthogonal_waves():
    basis = curves("fourier", 5)
    waves = [np.ones(12), *(f(2 * np.pi * k * TIME) for k in (1, 2) for f in (np.cos, np.sin))]
    np.testing.assert_allclose(basis, waves, atol=1e-6)
    np.testing.assert_allclose(basis @ basis.T, np.diag([12, 6, 6, 6, 6]), atol=1e-5)


def test_further_harmonics_are_waves_between_those_of_whole_periods():
    basis = to_numpy(BasisExpansion("fourier", 12, harmonics=2)(np.eye(7, dtype="float32")))
    waves = [np.ones(12), *(f(2 * np.pi * k * TIME) for k in (1, 1.5, 2) for f in (np.cos, np.sin))]
    np.testing.assert_allclose(basis, waves, atol=1e-6)


def test_linear_basis_interpolates_between_knots_and_preserves_lines():
    np.testing.assert_allclose(curves("linear", 12), np.eye(12), atol=1e-6)
    knots = 3 + 2 * (np.arange(4) + 0.5) / 4  # values of a line in the middle of each quarter
    line = to_numpy(BasisExpansion("linear", 12)(knots[None].astype("float32")))[0]
    inner = slice(2, -2)  # before the first knot and behind the last the curve is constant
    np.testing.assert_allclose(line[inner], (3 + 2 * (TIME + 0.5 / 12))[inner], atol=1e-6)
    np.testing.assert_allclose(curves("linear", 4).sum(axis=0), 1, atol=1e-6)


def test_angles_are_rounded_to_float32_on_request():
    time = np.arange(144, dtype="float32") / 36
    rounded = np.cos(17 * (2 * np.pi * time))  # all in float32
    curve = np.eye(34, dtype="float32")[33:]
    layer = BasisExpansion("fourier", 144, period=36, curve_dtype="float32")
    np.testing.assert_allclose(to_numpy(layer(curve))[0], rounded, atol=1e-6)
    exact = to_numpy(BasisExpansion("fourier", 144, period=36)(curve))[0]
    assert np.abs(exact - rounded).max() > 1e-5


def test_unknown_basis_is_refused():
    with pytest.raises(ValueError, match="basis must be one of 'polynomial', 'fourier', 'linear'"):
        BasisExpansion("wavelet", 4)
