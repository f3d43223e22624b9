import numpy as np
import pandas as pd
import pytest

from kerastrans.data.clock import Clock

FREQUENCIES = ["15min", "h", "6h", "D", "2D", "B", "W-SUN", "MS", "ME", "QE-DEC", "YS-JAN"]


@pytest.mark.parametrize("freq", FREQUENCIES)
def test_numbers_count_the_steps_and_times_undo_them(freq):
    times = pd.date_range("2019-03-03", periods=40, freq=freq)
    clock = Clock.of(times)
    numbers, on_grid = clock.numbers(times)
    assert on_grid.all()
    np.testing.assert_array_equal(np.diff(numbers), 1)
    assert (clock.times(numbers) == times).all()
    later = pd.date_range(times[-1], periods=3, freq=freq)[1:]
    assert (clock.times(numbers[-1] + np.arange(1, 3)) == later).all()


@pytest.mark.parametrize("freq", ["h", "D", "B", "MS", "QE-DEC"])
def test_gaps_do_not_hide_the_frequency(freq):
    times = pd.date_range("2019-03-03", periods=60, freq=freq).delete([5, 6, 20])
    numbers, on_grid = Clock.of(times).numbers(times)
    assert on_grid.all()
    assert numbers[-1] - numbers[0] == 59


def test_stamps_between_steps_are_told():
    clock = Clock.of(pd.date_range("2020-01-01 00:30", periods=5, freq="h"))
    _, on_grid = clock.numbers(pd.DatetimeIndex(["2020-01-02 07:30", "2020-01-02 07:45"]))
    np.testing.assert_array_equal(on_grid, [True, False])


@pytest.mark.parametrize("freq", ["h", "D"])
def test_no_step_is_lost_or_doubled_when_clocks_change(freq):
    times = pd.date_range("2020-03-20", periods=400, freq=freq, tz="Europe/Paris")
    clock = Clock.of(times)
    numbers, on_grid = clock.numbers(times)
    assert on_grid.all()
    np.testing.assert_array_equal(np.diff(numbers), 1)
    assert (clock.times(numbers) == times).all()
    with pytest.raises(ValueError, match="no time zone do not fit a model trained on Europe/Paris"):
        clock.numbers(times.tz_localize(None))


def test_calendar_says_what_repeats():
    hourly = Clock.of(pd.date_range("2020-01-01", periods=48, freq="h"))
    assert hourly.calendar_names == ["hour", "weekday", "day", "month"]
    numbers, _ = hourly.numbers(pd.date_range("2021-05-05 06:00", periods=1, freq="h"))
    features = hourly.calendar(numbers)
    assert features.shape == (1, 8)
    np.testing.assert_allclose(features[0, :2], [1.0, 0.0], atol=1e-6)  # 6 of 24 hours
    np.testing.assert_allclose(features, hourly.calendar(numbers + 0))
    week = hourly.calendar(numbers + 7 * 24)
    np.testing.assert_allclose(features[:, :4], week[:, :4], atol=1e-6)
    assert Clock.of(pd.date_range("2020-01-01", periods=9, freq="MS")).calendar_names == ["month"]
    assert (
        Clock.of(pd.date_range("2020-01-01", periods=9, freq="YS")).calendar(np.arange(3)).size == 0
    )


def test_a_frequency_that_cannot_be_told_is_asked_for():
    times = pd.DatetimeIndex(["2020-01-01", "2020-01-04", "2020-01-09", "2020-01-11"])
    with pytest.raises(ValueError, match="cannot tell the frequency of 4 time stamps"):
        Clock.of(times)
    assert Clock.of(times, "D").freq == "D"
