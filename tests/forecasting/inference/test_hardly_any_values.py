"""Forecasts of kerastrans-zero from hardly any values: an honest width, or one line."""

import warnings

import numpy as np
import pandas as pd
import pytest

import kerastrans
from tests.helpers.weights import ZERO_1

STEPS = 12
NAN = np.nan


@pytest.fixture(scope="module")
def zero():
    return kerastrans.from_pretrained(ZERO_1, STEPS, 64, verbose=False, alias="zero")


def predict(zero, values):
    times = pd.date_range("2024-01-01", periods=len(values))
    frame = pd.DataFrame({"unique_id": "a", "ds": times, "y": values})
    days = pd.date_range("2024-01-01", periods=30)  # another series, for the frequency
    other = pd.DataFrame({"unique_id": "b", "ds": days, "y": np.arange(30) % 5.0})
    rows = zero.predict(pd.concat([frame, other]))
    rows = rows[rows["unique_id"] == "a"]
    return rows, rows["zero-hi-80"] - rows["zero-lo-80"]


@pytest.mark.parametrize(
    "values", [[5.0], [NAN] * 20 + [5.0], [NAN] * 10 + [5.0] + [NAN] * 10, [5.0] * 3, [-5.0]]
)
def test_too_few_equal_values_for_a_spread_are_warned_of_in_one_line(zero, values):
    with pytest.warns(UserWarning, match="1 series have fewer than 4 known values") as caught:
        rows, _ = predict(zero, values)
    (line,) = {str(x.message) for x in caught if "end with missing" not in str(x.message)}
    assert "\n" not in line
    assert "'a' is the first" in line
    np.testing.assert_allclose(rows["zero"], np.nanmax(values), rtol=1e-5)


@pytest.mark.parametrize("value", [0.0, 7.0, -1e6])
def test_a_long_constant_series_stays_as_it_is(zero, value):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        rows, width = predict(zero, [value] * 40)
    np.testing.assert_allclose(rows["zero"], value, rtol=1e-6, atol=1e-6)
    assert (width < 1e-4 * max(abs(value), 1)).all()


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, 3.0, 2.0, 4.0]])
def test_a_horizon_longer_than_the_series_has_intervals_of_its_range_or_more(zero, values):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        rows, width = predict(zero, values)
    assert len(rows) == STEPS > len(values)
    assert width.min() >= np.ptp(values)
    assert width.iloc[-1] > 1.5 * width.iloc[0]  # it grows


def test_a_series_without_a_value_is_left_out_in_one_line(zero):
    with pytest.warns(UserWarning, match="'a' has no value at all"):
        rows, _ = predict(zero, [NAN] * 5)
    assert rows.empty
    assert list(zero.faults) == ["a"]


def test_one_time_stamp_has_no_frequency(zero):
    frame = pd.DataFrame({"unique_id": "a", "ds": [pd.Timestamp("2024-01-01")], "y": [1.0]})
    with pytest.raises(ValueError, match=r"cannot infer the frequency of 1 time stamps.*give freq"):
        zero.predict(frame)
