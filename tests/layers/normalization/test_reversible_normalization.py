import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.layers import ReversibleInstanceNormalization
from tests.conftest import to_numpy

WINDOWS = np.random.default_rng(0).normal(50, 7, (4, 30, 3)).astype("float32")


@pytest.mark.parametrize("center", [None, "mean", "last"])
@pytest.mark.parametrize("scale", [None, "std", "mean_abs"])
@pytest.mark.parametrize("affine", [False, True])
def test_denormalization_inverts_normalization(center, scale, affine):
    layer = ReversibleInstanceNormalization(center, scale, affine)
    x, statistics = layer(WINDOWS)
    if affine:
        layer.set_weights([np.array([2.0, 0.5, 1.0]), np.array([1.0, -3.0, 0.0])])
        x, statistics = layer(WINDOWS)
    np.testing.assert_allclose(to_numpy(layer(x, statistics)), WINDOWS, rtol=1e-5)


def test_ddof_changes_the_divisor_of_the_variance():
    window = WINDOWS.copy()
    window[0, 3:, 0] = np.nan  # three known values
    _, statistics = ReversibleInstanceNormalization(ddof=1)(window)
    expected = np.nanstd(window, axis=1, ddof=1)
    np.testing.assert_allclose(to_numpy(statistics)[:, 1], expected, rtol=1e-4)
    one = WINDOWS[:, :1]
    assert np.isfinite(to_numpy(ReversibleInstanceNormalization(ddof=1)(one)[0])).all()


def test_each_window_and_channel_is_standardised_separately():
    x, statistics = ReversibleInstanceNormalization()(WINDOWS)
    x = to_numpy(x)
    np.testing.assert_allclose(x.mean(axis=1), 0, atol=1e-4)
    np.testing.assert_allclose(x.std(axis=1), 1, atol=1e-4)
    np.testing.assert_allclose(to_numpy(statistics)[:, 0], WINDOWS.mean(axis=1), rtol=1e-5)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_mean_abs_follows_a_change_of_units(factor):
    layer = ReversibleInstanceNormalization(center=None, scale="mean_abs")
    expected, _ = layer(WINDOWS)
    found, statistics = layer((factor * WINDOWS).astype("float32"))
    np.testing.assert_allclose(to_numpy(found), to_numpy(expected), rtol=1e-5)
    np.testing.assert_allclose(to_numpy(layer(found, statistics)), factor * WINDOWS, rtol=1e-5)
    zeros, statistics = layer(0 * WINDOWS)
    assert not to_numpy(zeros).any()
    np.testing.assert_allclose(to_numpy(statistics)[:, 1], 1e-10)


def test_center_last_and_scale_mean_abs_equal_their_definitions():
    x, _ = ReversibleInstanceNormalization(center="last", scale=None)(WINDOWS)
    np.testing.assert_allclose(to_numpy(x), WINDOWS - WINDOWS[:, -1:], atol=1e-4)
    x, _ = ReversibleInstanceNormalization(center=None, scale="mean_abs")(-WINDOWS)
    expected = -WINDOWS / np.abs(WINDOWS).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(to_numpy(x), expected, rtol=1e-5)


@given(st.floats(-1e3, 1e3), st.floats(0.1, 1e3))
def test_normalised_window_does_not_depend_on_shift_and_scale(shift, scale):
    layer = ReversibleInstanceNormalization()
    here, _ = layer(WINDOWS)
    there, _ = layer((WINDOWS * scale + shift).astype("float32"))
    np.testing.assert_allclose(to_numpy(there), to_numpy(here), atol=2e-2)


def test_a_constant_window_stays_finite():
    constant = np.full((1, 5, 1), 3.0, "float32")
    x, statistics = ReversibleInstanceNormalization()(constant)
    np.testing.assert_array_equal(to_numpy(x), 0)
    assert np.isfinite(to_numpy(statistics)).all()


@pytest.mark.parametrize("argument", ["center", "scale"])
def test_unknown_statistics_are_refused(argument):
    with pytest.raises(ValueError, match=f"{argument} must be one of None, .*, got 'median'"):
        ReversibleInstanceNormalization(**{argument: "median"})


@pytest.mark.parametrize("center", [None, "mean", "last"])
@pytest.mark.parametrize("scale", [None, "std", "mean_abs"])
def test_missing_values_are_ignored_and_become_zero(center, scale):
    gaps = np.random.default_rng(1).uniform(size=WINDOWS.shape) < 0.5
    gaps[:, -1] = True
    windows = np.where(gaps, np.nan, WINDOWS)
    x, statistics = map(to_numpy, ReversibleInstanceNormalization(center, scale)(windows))
    for window, found, (middle, spread) in zip(windows, x, statistics, strict=True):
        for channel in range(3):
            known = window[:, channel][~np.isnan(window[:, channel])]
            wanted = {None: 0, "mean": known.mean(), "last": known[-1]}[center]
            assert middle[channel] == pytest.approx(wanted, rel=1e-5)
            wanted = {None: 1, "std": known.std(), "mean_abs": np.abs(known).mean()}[scale]
            assert spread[channel] == pytest.approx(wanted, rel=1e-4)
            expected = (window[:, channel] - middle[channel]) / spread[channel]
            np.testing.assert_allclose(found[:, channel], np.nan_to_num(expected), atol=1e-4)


def test_missing_values_are_kept_without_fill():
    windows = WINDOWS.copy()
    windows[0, 3, 1] = np.nan
    x = to_numpy(ReversibleInstanceNormalization(fill=False)(windows)[0])
    assert np.argwhere(np.isnan(x)).tolist() == [[0, 3, 1]]


def test_nearly_constant_window_is_divided_by_the_floor():
    still = np.full((1, 8, 1), 3.0, "float32")
    still[0, 0] = 3.01
    for scale in ("std", "mean_abs"):
        layer = ReversibleInstanceNormalization(scale=scale, floor=5.0)
        assert to_numpy(layer(still)[1])[0, 1, 0] == 5.0
    assert to_numpy(ReversibleInstanceNormalization(floor=0.5)(WINDOWS)[1])[:, 1].min() > 5
    with pytest.raises(ValueError, match="floor must be a number of at least 0"):
        ReversibleInstanceNormalization(floor=-1.0)


def test_plain_deviation_adds_epsilon_to_the_divisor_only():
    windows = np.array([[[0.0], [2.0]], [[5.0], [5.0]]], "float32")
    layer = ReversibleInstanceNormalization(scale="plain_std", epsilon=0.5)
    x, statistics = layer(windows)
    np.testing.assert_allclose(to_numpy(x)[:, :, 0], [[-1 / 1.5, 1 / 1.5], [0, 0]], rtol=1e-6)
    np.testing.assert_allclose(to_numpy(statistics)[:, :, 0], [[1, 1], [5, 0.5]])
    restored = to_numpy(layer(np.ones((2, 1, 1), "float32"), statistics))
    np.testing.assert_allclose(restored[:, 0, 0], [2, 5.5])
