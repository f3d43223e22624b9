import numpy as np
import pytest

from kerastrans.layers import SeriesDecomposition
from tests.conftest import to_numpy


# Beyond 256 steps it is taken block by block.
@pytest.mark.parametrize(
    ("length", "kernel_size"),
    [(20, 1), (20, 4), (20, 5), (20, 25), (257, 25), (384, 24), (500, 25), (700, 300), (300, 1)],
)
def test_trend_is_the_moving_average_and_both_parts_add_up(length, kernel_size):
    series = np.random.default_rng(0).standard_normal((2, length, 3)).astype("float32")
    season, trend = map(to_numpy, SeriesDecomposition(kernel_size)(series))
    padded = np.pad(
        series, ((0, 0), ((kernel_size - 1) // 2, kernel_size // 2), (0, 0)), mode="edge"
    )
    sums = np.cumsum(np.pad(padded, ((0, 0), (1, 0), (0, 0))), axis=1, dtype="float64")
    expected = (sums[:, kernel_size:] - sums[:, :-kernel_size]) / kernel_size
    np.testing.assert_allclose(trend, expected, atol=3e-6)
    np.testing.assert_allclose(season + trend, series, atol=1e-6)


def test_an_average_of_an_even_number_of_steps_reaches_further_to_the_given_side():
    steps = np.arange(300, dtype="float32")[None, :, None]  # longer than two blocks
    for longer, shift in (("ahead", 0.5), ("back", -0.5)):
        for length in (300, 40):
            layer = SeriesDecomposition(6, longer)
            _, trend = map(to_numpy, layer(steps[:, :length]))
            np.testing.assert_allclose(trend[:, 5:-5], steps[:, 5 : length - 5] + shift, rtol=1e-5)


def test_season_as_long_as_the_kernel_has_no_trend():
    wave = np.sin(2 * np.pi * np.arange(40) / 5)[None, :, None].astype("float32")
    season, trend = map(to_numpy, SeriesDecomposition(5)(wave + 3))
    np.testing.assert_allclose(trend[:, 2:-2], 3, atol=1e-5)
    np.testing.assert_allclose(season[:, 2:-2], wave[:, 2:-2], atol=1e-5)


def test_kernel_size_below_one_is_refused():
    with pytest.raises(ValueError, match="kernel_size must be an integer of at least 1, got 0"):
        SeriesDecomposition(0)
