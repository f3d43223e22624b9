import json

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.data import StandardScaler, WindowScaler


@given(
    centre=st.floats(-1e6, 1e6),
    spread=st.floats(1e-3, 1e6),
    rows=st.integers(2, 50),
    channels=st.integers(1, 4),
)
def test_transform_standardises_training_rows_and_can_be_inverted(centre, spread, rows, channels):
    noise = np.random.default_rng(rows).standard_normal((rows, channels))
    values = centre + spread * noise
    scaler = StandardScaler.fit(values)
    scaled = scaler.transform(values)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-4)
    tolerance = 1e-6 * (abs(centre) + 10 * spread)
    np.testing.assert_allclose(scaler.inverse_transform(scaled), values, rtol=1e-5, atol=tolerance)


def test_statistics_use_only_the_given_rows():
    values = np.array([[1.0], [3.0], [1000.0]])
    scaler = StandardScaler.fit(values[:2])
    np.testing.assert_array_equal(scaler.mean, [2.0])
    np.testing.assert_array_equal(scaler.std, [1.0])
    np.testing.assert_array_equal(scaler.transform(values), [[-1.0], [1.0], [998.0]])


def test_constant_channel_becomes_zero():
    scaler = StandardScaler.fit(np.full((5, 1), 7.0))
    np.testing.assert_array_equal(scaler.transform([[7.0]]), [[0.0]])


def test_scaler_survives_a_json_round_trip():
    scaler = StandardScaler.fit(np.random.default_rng(0).standard_normal((9, 3)))
    again = StandardScaler.from_dict(json.loads(json.dumps(scaler.to_dict())))
    np.testing.assert_array_equal(again.mean, scaler.mean)
    np.testing.assert_array_equal(again.std, scaler.std)


@pytest.mark.parametrize("value", [0.1, 1e-300, -1e300])
def test_constant_with_rounding_errors_is_treated_as_constant(value):
    scaler = StandardScaler.fit(np.full((1000, 1), value))
    np.testing.assert_array_equal(scaler.std, [1.0])
    center, scale = WindowScaler("standard").statistics(np.full((1, 1000, 1), value))
    np.testing.assert_allclose([center.item(), scale.item()], [value, abs(value)], rtol=1e-15)


@pytest.mark.parametrize("scaler", ["whole", "window"])
@pytest.mark.parametrize("level", [0.0, 1.0, 1e9, -1e9])
def test_small_variation_around_a_large_level_is_preserved(scaler, level):
    """1e9 +- 1e-3 was divided by 1e9: its forecasts were 390,000 off."""
    values = level + 1e-3 * np.random.default_rng(0).standard_normal((1, 200, 1))
    if scaler == "whole":
        fitted = StandardScaler.fit(values[0])
        center, scale = fitted.mean, fitted.std
    else:
        center, scale = WindowScaler("standard").statistics(values)
    np.testing.assert_allclose(scale.item(), 1e-3, rtol=0.1)
    assert abs(((values - center) / scale).mean()) < 1e-3


@pytest.mark.parametrize("size", [1e-300, 1e300, 1e308])
def test_values_whose_squares_overflow_float64_are_scaled(size):
    values = size * np.linspace(0.1, 0.9, 9)[:, None]
    scaler = StandardScaler.fit(values)
    np.testing.assert_allclose(scaler.std / size, np.linspace(0.1, 0.9, 9).std(), rtol=1e-12)
    with pytest.raises(ValueError, match=r"a range that float64 can hold, got -1\.7e\+308 to"):
        StandardScaler.fit([[-1.7e308], [1.7e308]])


def test_values_outside_the_range_of_float32_are_refused():
    """They became infinite, and so did the forecasts."""
    scaler = StandardScaler.fit([[1e300], [3e300]])
    np.testing.assert_array_equal(scaler.transform([[5e300], [np.nan]]), [[3.0], [np.nan]])
    with pytest.raises(ValueError, match=r"float32 cannot hold the value 5e\+300"):
        scaler.inverse_transform([[3.0]])
    with pytest.raises(ValueError, match=r"float32 cannot hold the value 1e\+39"):
        StandardScaler.fit([[1.0], [3.0]]).transform([[1e39]])


@pytest.mark.parametrize("kind", [None, "standard", "mean_abs", "mase"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_statistics_are_equal_in_every_module(kind, dtype):
    seen = 50 + 10 * np.random.default_rng(0).standard_normal((4, 30, 2)).astype(dtype)
    seen[0, :7], seen[1, 3, 1], seen[2] = np.nan, np.nan, 7.0
    seen[3, :, 0] = np.nan
    scaler = WindowScaler(kind, season=3)
    center, scale = scaler.statistics(seen)
    with np.errstate(all="ignore"):
        mean = np.nan_to_num(np.nanmean(seen[:3], axis=1, keepdims=True))
        wanted = {
            None: (0 * mean, 1 + 0 * mean),
            "standard": (mean, np.nanstd(seen[:3], axis=1, keepdims=True)),
            "mean_abs": (0 * mean, np.nanmean(np.abs(seen[:3]), axis=1, keepdims=True)),
            "mase": (mean, np.nanmean(np.abs(seen[:3, 3:] - seen[:3, :-3]), 1, keepdims=True)),
        }[kind]
    wanted[1][2] = 1.0 if kind is None else 7.0  # a constant's magnitude
    np.testing.assert_allclose(center[:3], wanted[0], rtol=1e-5)
    np.testing.assert_allclose(scale[:3], wanted[1], rtol=1e-5)
    assert (center[3, 0, 0], scale[3, 0, 0]) == (0.0, 1.0)  # nothing is known
    tensors = scaler.statistics(keras.ops.convert_to_tensor(seen), keras.ops)
    for tensor, array in zip(tensors, (center, scale), strict=True):
        np.testing.assert_allclose(keras.ops.convert_to_numpy(tensor), array, rtol=1e-5)


def test_missing_values_are_refused_by_the_standard_scaler():
    with pytest.raises(ValueError, match=r"got NaN at \[1, 0\]: fill gaps first"):
        StandardScaler.fit([[1.0], [np.nan], [3.0]])
