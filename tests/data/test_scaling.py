import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.data import StandardScaler


@given(
    centre=st.floats(-1e6, 1e6),
    spread=st.floats(1e-3, 1e6),
    rows=st.integers(2, 50),
    channels=st.integers(1, 4),
)
def test_training_rows_become_standard_and_come_back(centre, spread, rows, channels):
    noise = np.random.default_rng(rows).standard_normal((rows, channels))
    values = centre + spread * noise
    scaler = StandardScaler.fit(values)
    scaled = scaler.transform(values)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-4)
    tolerance = 1e-6 * (abs(centre) + 10 * spread)
    np.testing.assert_allclose(scaler.inverse_transform(scaled), values, rtol=1e-5, atol=tolerance)


def test_statistics_are_those_of_the_rows_given_alone():
    values = np.array([[1.0], [3.0], [1000.0]])
    scaler = StandardScaler.fit(values[:2])
    np.testing.assert_array_equal(scaler.mean, [2.0])
    np.testing.assert_array_equal(scaler.std, [1.0])
    np.testing.assert_array_equal(scaler.transform(values), [[-1.0], [1.0], [998.0]])


def test_constant_channel_becomes_zero():
    scaler = StandardScaler.fit(np.full((5, 1), 7.0))
    np.testing.assert_array_equal(scaler.transform([[7.0]]), [[0.0]])


def test_scaler_goes_through_json():
    scaler = StandardScaler.fit(np.random.default_rng(0).standard_normal((9, 3)))
    again = StandardScaler.from_dict(json.loads(json.dumps(scaler.to_dict())))
    np.testing.assert_array_equal(again.mean, scaler.mean)
    np.testing.assert_array_equal(again.std, scaler.std)
