import numpy as np
import pytest

from kerastrans.layers import InverseStationaryWavelets, StationaryWavelets
from tests.conftest import to_numpy

SERIES = np.random.default_rng(0).standard_normal((2, 3, 15)).astype("float32")


@pytest.mark.parametrize("wavelet", ["haar", "db3", "sym4", "bior2.4", "bior3.1", "db12"])
def test_the_inverse_restores_series_of_any_length(wavelet):
    coefficients = StationaryWavelets(wavelet, num_levels=3)(SERIES)
    assert coefficients.shape == (2, 3, 4, 15)
    restored = to_numpy(InverseStationaryWavelets(wavelet)(coefficients))
    np.testing.assert_allclose(restored, SERIES, atol=1e-4)


def test_coefficients_of_haar_are_sums_and_differences():
    # Neighbours at the finest level, pairs of them two steps apart at the next, and so on around.
    found = to_numpy(StationaryWavelets("haar", num_levels=2)(SERIES))
    following = np.roll(SERIES, -1, axis=-1)
    sums, finest = (SERIES + following) / np.sqrt(2), (SERIES - following) / np.sqrt(2)
    pairs = np.roll(sums, -2, axis=-1)
    expected = [(sums + pairs) / np.sqrt(2), (sums - pairs) / np.sqrt(2), finest]
    np.testing.assert_allclose(found, np.stack(expected, axis=2), atol=1e-6)


def test_levels_longer_than_the_series_go_around_it():
    levels = 40  # taps 2 ** 39 steps apart
    found = to_numpy(StationaryWavelets("haar", num_levels=levels)(SERIES / 2**16))
    x, details = SERIES / 2**16, []
    for level in range(levels):
        following = np.roll(x, -(2**level), axis=-1)
        details.append((x - following) / np.sqrt(2))
        x = (x + following) / np.sqrt(2)
    expected = np.stack([x, *reversed(details)], axis=2)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_coefficients_move_with_the_series():
    layer = StationaryWavelets("db2", num_levels=2)
    found, moved = (to_numpy(layer(x)) for x in (SERIES, np.roll(SERIES, 4, axis=-1)))
    np.testing.assert_allclose(np.roll(found, 4, axis=-1), moved, atol=1e-6)


def test_each_channel_has_its_own_filters():
    layer = StationaryWavelets("db2", num_levels=2)
    before = to_numpy(layer(SERIES))
    low = to_numpy(layer.low).copy()
    low[1] *= 2
    layer.low.assign(low)
    after = to_numpy(layer(SERIES))
    np.testing.assert_array_equal(after[:, [0, 2]], before[:, [0, 2]])
    factors = np.array([4, 2, 1])[:, None]  # low-pass filters before each level's result
    np.testing.assert_allclose(after[:, 1], before[:, 1] * factors, rtol=1e-4, atol=1e-6)


def test_unknown_wavelets_and_no_levels_are_refused():
    with pytest.raises(ValueError, match="unknown wavelet 'db0'"):
        StationaryWavelets("db0", num_levels=2)
    with pytest.raises(ValueError, match="unknown wavelet 'coif1'"):
        InverseStationaryWavelets("coif1")
    with pytest.raises(ValueError, match="num_levels must be an integer of at least 1, got 0"):
        StationaryWavelets("db2", num_levels=0)
