import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.data import read_panel
from kerastrans.data.time.clock import Clock
from kerastrans.data.time.seasons import season_of, seasons_of

FREQUENCIES = ["15min", "h", "6h", "D", "2D", "B", "W-SUN", "MS", "ME", "QE-DEC", "YS-JAN"]


@pytest.mark.parametrize("freq", FREQUENCIES)
def test_times_inverts_numbers(freq):
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


def test_stamps_between_steps_are_not_on_the_grid():
    clock = Clock.of(pd.date_range("2020-01-01 00:30", periods=5, freq="h"))
    _, on_grid = clock.numbers(pd.DatetimeIndex(["2020-01-02 07:30", "2020-01-02 07:45"]))
    np.testing.assert_array_equal(on_grid, [True, False])


@pytest.mark.parametrize("freq", ["h", "D"])
def test_no_step_is_lost_or_doubled_at_daylight_saving_changes(freq):
    times = pd.date_range("2020-03-20", periods=400, freq=freq, tz="Europe/Paris")
    clock = Clock.of(times)
    numbers, on_grid = clock.numbers(times)
    assert on_grid.all()
    np.testing.assert_array_equal(np.diff(numbers), 1)
    assert (clock.times(numbers) == times).all()
    with pytest.raises(ValueError, match="no time zone do not fit a model trained on Europe/Paris"):
        clock.numbers(times.tz_localize(None))


@pytest.mark.parametrize("freq", ["D", "W-SUN", "MS"])
def test_days_without_a_midnight_are_on_the_grid(freq):
    days = pd.date_range("2024-01-07" if freq != "MS" else "1999-01-01", periods=300, freq=freq)
    zone = "America/Santiago" if freq != "MS" else "Asia/Amman"  # clocks on Sundays; 1 April 1999
    times = days.tz_localize(zone, ambiguous=True, nonexistent="shift_forward")
    assert (times.hour == 1).any()
    clock = Clock.of(times)
    assert clock.freq == freq
    numbers, on_grid = clock.numbers(times)
    assert on_grid.all()
    np.testing.assert_array_equal(np.diff(numbers), 1)
    assert (clock.times(numbers) == times).all()
    assert not clock.numbers(times + pd.Timedelta("1h"))[1].any()


def test_calendar_features_match_the_frequency():
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


@pytest.mark.parametrize(("day", "months"), [(29, 1), (30, 1), (30, 3), (30, 12), (31, 1)])
@pytest.mark.parametrize("start", ["2019-01", "2019-03", "2020-01"])
def test_late_days_of_months_are_the_last_ones_of_shorter_months(day, months, start):
    first = pd.Timestamp(f"{start}-{day} 06:00")
    steps = [pd.DateOffset(months=months * step) for step in range(30)]
    times = pd.DatetimeIndex([first + step for step in steps])
    clock = Clock.of(times[:20])
    numbers, on_grid = clock.numbers(times)
    assert on_grid.all()
    assert (np.diff(numbers) == 1).all()
    assert clock.times(numbers).tolist() == times.tolist()
    assert not clock.numbers(times - pd.Timedelta("1D"))[1].any()


@pytest.mark.parametrize("freq", ["bh", "B", "W-SUN", "SMS", "QE-NOV"])
@pytest.mark.parametrize("after", ["0h", "30min"])
def test_steps_of_any_length_keep_a_phase_within_them(freq, after):
    times = pd.date_range("2024-01-02", periods=40, freq=freq) + pd.Timedelta(after)
    clock = Clock.of(times, freq)
    numbers, on_grid = clock.numbers(times)
    assert on_grid.all()
    np.testing.assert_array_equal(np.diff(numbers), 1)
    assert clock.times(numbers).tolist() == times.tolist()


def test_pairs_of_stamps_show_a_step_together():
    def clock(second, pairs=3):
        starts = pd.date_range("2024-01-01", periods=pairs)
        times = [x for start in starts for x in (start, start + pd.Timedelta(second))]
        ids = np.repeat(list("abc")[:pairs], 2)
        return read_panel(pd.DataFrame({"unique_id": ids, "ds": times, "y": 1.0})).clock.freq

    assert [clock("1D"), clock("1h"), clock("7D")] == ["D", "h", "W-MON"]
    for step, pairs in (("31D", 3), ("1D", 2)):
        with pytest.raises(ValueError, match="cannot infer the frequency of 2 time stamps"):
            clock(step, pairs)


def test_ambiguous_frequency_must_be_given():
    times = pd.DatetimeIndex(["2020-01-01", "2020-01-04", "2020-01-09", "2020-01-11"])
    with pytest.raises(ValueError, match="cannot infer the frequency of 4 time stamps"):
        Clock.of(times)
    assert Clock.of(times, "D").freq == "D"


ANY = [
    *FREQUENCIES,
    "min",
    "30s",
    "ms",
    "3h",
    "3D",
    "2B",
    "2W-TUE",
    "2MS",
    "5ME",
    "QS-FEB",
    "QE-NOV",
]


@given(
    freq=st.sampled_from([*ANY, "YE-JUN", "SMS", "BME"]),
    begin=st.datetimes(pd.Timestamp("1678-01-01"), pd.Timestamp("2261-06-01")),
    data=st.data(),
)
def test_times_inverts_numbers_over_the_whole_range(freq, begin, data):
    clock = Clock.of(pd.date_range(begin, periods=4, freq=freq), freq)
    low, high = clock.limits
    numbers = np.array(data.draw(st.lists(st.integers(low, high), min_size=1, max_size=9)))
    again, on_grid = clock.numbers(clock.times(np.append(numbers, [low, high])))
    assert on_grid.all()
    np.testing.assert_array_equal(again, np.append(numbers, [low, high]))
    for beyond in (low - 1, high + 1):
        with pytest.raises(ValueError, match="the years 1678 to 2261 are supported"):
            clock.times([beyond])


@given(freq=st.sampled_from(ANY), tz=st.sampled_from(["Europe/Paris", "America/New_York", "UTC"]))
def test_times_inverts_numbers_in_a_time_zone(freq, tz):
    times = pd.date_range("2019-03-03", periods=4, freq=freq, tz=tz)
    clock = Clock.of(times, freq)
    numbers = clock.numbers(times)[0][0] + np.arange(-200, 240)
    again, on_grid = clock.numbers(clock.times(numbers))
    assert on_grid.all()
    np.testing.assert_array_equal(again, numbers)


@pytest.mark.parametrize(
    ("end", "freq"), [("2262-03-01", "D"), ("2262-04-11", "h"), ("1677-12-31", "ME")]
)
def test_stamps_outside_the_range_are_refused(end, freq):
    """Those of 2262 were forecast for 1677."""
    times = pd.date_range(end=end, periods=30, freq=freq)
    with pytest.raises(ValueError, match="must be in the years 1678 to 2261, got"):
        Clock.of(times)


def test_months_continue_after_2199():
    times = pd.date_range("2190-01-01", "2199-12-01", freq="MS")
    clock = Clock.of(times)
    numbers, _ = clock.numbers(times)
    assert str(clock.times(numbers[-1:] + 1)[0]) == "2200-01-01 00:00:00"


def test_numbers_equal_those_of_saved_forecasters():
    for freq in ("MS", "W-SUN", "QE-DEC", "B", "2MS"):
        first = pd.date_range("1700-01-01", periods=1, freq=freq)
        assert Clock(freq).numbers(first)[0].tolist() == [0]
    assert Clock("h").numbers(pd.DatetimeIndex(["1970-01-02"]))[0].tolist() == [24]


def monthly(day, months=30, step=1):
    stamps = [pd.Timestamp(2000 + m // 12, m % 12 + 1, day) for m in range(0, step * months, step)]
    return pd.DatetimeIndex(stamps)


@pytest.mark.parametrize(
    ("times", "freq"),
    [
        (monthly(15), "MS"),
        (monthly(15).delete([3, 4, 9]), "MS"),
        (monthly(28) + pd.Timedelta("6h"), "MS"),
        (monthly(15, step=3), "QS-JAN"),
        (monthly(15, step=12), "YS-JAN"),
        (monthly(15, step=2), "2MS"),
        (pd.date_range("2000", periods=30, freq="QE-NOV").delete(4), "QE-NOV"),
        (pd.date_range("2000", periods=30, freq="QS-FEB").delete(4), "QS-FEB"),
        (pd.date_range("2000", periods=30, freq="YE-JUN").delete(4), "YE-JUN"),
        (pd.date_range("2000-02-01", periods=30, freq="2MS").delete(4), "2MS"),
        (pd.date_range("2000-02-13", periods=30, freq="2W-SUN"), "2W-SUN"),
        (pd.date_range("2000", periods=30, freq="SMS").delete(4), "SMS-15"),
        (pd.date_range("2000", periods=30, freq="SME").delete([3, 4]), "SME-15"),
    ],
)
def test_frequency_of_months_quarters_and_years_is_inferred(times, freq):
    clock = Clock.of(times)
    assert clock.freq == freq
    numbers, on_grid = clock.numbers(times)
    assert on_grid.all()
    assert np.diff(numbers).min() == 1
    assert (clock.times(numbers) == times).all()
    assert Clock.of(times, freq) == clock


@pytest.mark.parametrize("freq", ["foo", "M", "-1D", "0h", 5])
def test_invalid_frequencies_are_refused(freq):
    times = pd.date_range("2020-01-01", periods=5)
    with pytest.raises(ValueError, match="freq must be a pandas frequency such as 'h'"):
        Clock.of(times, freq)


@pytest.mark.parametrize(
    ("freq", "seasons"),
    [
        ("s", (3600, 86400)),
        ("min", (1440, 10080)),
        ("15min", (96, 672)),
        ("30min", (48, 336)),
        ("h", (24, 168)),
        ("6h", (4, 28)),
        ("5h", (1,)),
        ("D", (7, 365)),
        ("7D", (52,)),
        ("B", (5, 261)),
        ("W-SUN", (52,)),
        ("2W-SUN", (26,)),
        ("MS", (12,)),
        ("ME", (12,)),
        ("2MS", (6,)),
        ("QE-NOV", (4,)),
        pytest.param("HYE", (2,), marks=pytest.mark.skipif(pd.__version__ < "3", reason="pandas")),
        ("YS-JAN", (1,)),
    ],
)
def test_seasons_of_a_frequency(freq, seasons):
    assert seasons_of(freq) == seasons
    assert season_of(freq) == seasons[0]
