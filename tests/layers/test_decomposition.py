import numpy as np
import pytest

from kerastrans.layers import SeriesDecomposition

from ..conftest import to_numpy

SERIES = np.random.default_rng(0).standard_normal((2, 20, 3)).astype("float32")


@pytest.mark.parametrize("kernel_size", [1, 4, 5, 25])
def test_trend_is_the_moving_average_and_both_parts_add_up(kernel_size):
    season, trend = map(to_numpy, SeriesDecomposition(kernel_size)(SERIES))
    padded = np.pad(
        SERIES, ((0, 0), ((kernel_size - 1) // 2, kernel_size // 2), (0, 0)), mode="edge"
    )
    expected = np.stack([padded[:, t : t + kernel_size].mean(axis=1) for t in range(20)], axis=1)
    np.testing.assert_allclose(trend, expected, atol=1e-6)
    np.testing.assert_allclose(season + trend, SERIES, atol=1e-6)


def test_a_season_as_long_as_the_kernel_is_no_trend():
    wave = np.sin(2 * np.pi * np.arange(40) / 5)[None, :, None].astype("float32")
    season, trend = map(to_numpy, SeriesDecomposition(5)(wave + 3))
    np.testing.assert_allclose(trend[:, 2:-2], 3, atol=1e-5)
    np.testing.assert_allclose(season[:, 2:-2], wave[:, 2:-2], atol=1e-5)


def test_kernel_size_below_one_is_refused():
    with pytest.raises(ValueError, match="kernel_size must be an integer of at least 1, got 0"):
        SeriesDecomposition(0)
