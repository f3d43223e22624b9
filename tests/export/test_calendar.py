"""The calendar of an exported file equals that of the clock, for each kind of frequency."""

import numpy as np
import pandas as pd
import pytest
from keras import ops

from kerastrans.data.time.clock import Clock
from kerastrans.data.time.frequency import DAY
from kerastrans.export.calendar import Calendar

pytestmark = pytest.mark.tensorflow
CONTEXT, HORIZON = 30, 10


def dates(freq, tz=None, start="2024-01-01", after="0h"):
    times = pd.date_range(start, periods=400, freq=freq) + pd.Timedelta(after)
    if tz is None:
        return freq, times
    if times[1] - times[0] < pd.Timedelta("1D"):
        return freq, times.tz_localize("UTC").tz_convert(tz)
    return freq, times.tz_localize(tz, ambiguous=True, nonexistent="shift_forward")


CLOCKS = {
    "hours": dates("h"),
    "hours before 1970, at half past": dates("h", start="1960-01-01", after="30min"),
    "quarters of an hour across clock changes": dates("15min", "Europe/Berlin", "2024-03-29"),
    "hours across clock changes": dates("h", "America/New_York", "2024-10-25"),
    "steps that do not divide a day": dates("7min", "Asia/Kolkata"),
    "steps of more than a day": dates("36h", after="5h"),
    "days": dates("D"),
    "local days without a midnight": dates("D", "America/Sao_Paulo", "2010-01-01"),
    "local days at six": dates("D", "Europe/Berlin", after="6h"),
    "weeks": dates("W-SUN"),
    "business days": dates("B"),
    "ends of months": dates("ME", start="2000-01-31"),
    "fifteenths of local months": dates("MS", "Europe/Berlin", "2000-01-01", "14D"),
    "thirtieths of months": ("MS", Clock("MS", 29 * DAY).times(np.arange(3600, 4000))),
    "every second month": dates("2MS", start="2000-03-01"),
    "ends of quarters": dates("QE-NOV", start="1990-02-28"),
    "business ends of months": dates("BME", start="2000-01-31"),
}


@pytest.mark.parametrize(("freq", "times"), CLOCKS.values(), ids=CLOCKS)
def test_features_and_numbers_are_those_of_the_clock(freq, times):
    clock = Clock.of(times, freq)
    calendar = Calendar(clock, CONTEXT, HORIZON)
    last = times[CONTEXT:-HORIZON:7]
    given = last.as_unit("s").asi8
    features, first, fits = calendar(ops.convert_to_tensor(given, "int64"))
    numbers, on_grid = clock.numbers(last)
    steps = np.arange(1 - CONTEXT, HORIZON + 1)
    wanted = np.stack([clock.calendar(number + steps) for number in numbers])
    np.testing.assert_allclose(ops.convert_to_numpy(features), wanted, atol=1e-6)
    np.testing.assert_array_equal(ops.convert_to_numpy(first), numbers + 1 - CONTEXT)
    np.testing.assert_array_equal(ops.convert_to_numpy(fits), on_grid)
    assert on_grid.all()  # also where clocks go forward at midnight
    for seconds in (1, -61):
        _, _, fits = calendar(ops.convert_to_tensor(given + seconds, "int64"))
        assert not ops.convert_to_numpy(fits).any()


@pytest.mark.parametrize(
    ("freq", "reason"),
    [
        ("ms", "fractions of a second"),
        pytest.param("bh", "varying length", marks=pytest.mark.slow),
    ],
)
def test_a_clock_that_a_graph_cannot_follow_is_refused(freq, reason):
    with pytest.raises(ValueError, match=rf"{freq}.* {reason}.*calendar=False"):
        Calendar(Clock(freq), CONTEXT, HORIZON)
