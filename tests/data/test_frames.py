import numpy as np
import pandas as pd
import pytest

from kerastrans.data import check_frame

DATES = pd.date_range("2020-01-01", periods=6, freq="h")


def frame(values=(0, 1, 2, 3, 4, 5), dates=DATES):
    return pd.DataFrame({"load": values}, index=dates)


@pytest.mark.parametrize("freq", ["h", "D", "W-TUE", "MS", "QS-JAN", "15min", "B"])
def test_frequency_is_found(freq):
    dates = pd.date_range("2020-01-01", periods=9, freq=freq)
    checked = check_frame(frame(range(9), pd.DatetimeIndex(dates.to_numpy())))
    assert checked.index.freqstr == pd.tseries.frequencies.to_offset(freq).freqstr
    assert checked.index.name == "date"


def test_input_frame_is_not_modified():
    given = frame(dates=pd.DatetimeIndex(DATES.to_numpy()))
    check_frame(given)
    assert given.index.freq is None


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            frame(dates=DATES[[0, 1, 3, 2, 4, 5]]),
            "must be sorted by date: 2020-01-01 02:00:00 comes",
        ),
        (frame(dates=DATES[[0, 1, 1, 3, 4, 5]]), "duplicate timestamp 2020-01-01 01:00:00"),
        (frame(dates=[*DATES[:4], *(DATES[4:] + pd.Timedelta("1h"))]), "must have a regular freq"),
        (frame([1, 2, np.nan, 4, 5, 6]), "got nan in column 'load' at 2020-01-01 02:00:00"),
        (frame([1, 2, 3, np.inf, 5, 6]), "got inf in column 'load' at 2020-01-01 03:00:00"),
        (frame(list("abcdef")), "column 'load' must be numeric, got .*, such as 'a'"),
        (frame(dates=[*DATES[:5], pd.NaT]), "every row must have a date, row 5 has none"),
        (frame().iloc[:0], "must have rows and columns"),
        (frame().iloc[:2], "a frequency needs at least 3 rows, got 2"),
    ],
)
def test_bad_frames_are_refused(bad, message):
    bad.index = pd.DatetimeIndex(bad.index)
    with pytest.raises(ValueError, match=message):
        check_frame(bad, name="series")


def test_frame_without_dates_is_refused():
    with pytest.raises(TypeError, match="must be a DataFrame with a DatetimeIndex"):
        check_frame(pd.DataFrame({"load": [1.0, 2.0, 3.0]}))


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_irregular_step_is_reported_for_any_unit_of_the_index(unit):
    dates = DATES.as_unit(unit).delete(3)
    with pytest.raises(ValueError, match=r"comes 0 days 02:00:00 after 2020-01-01 02:00:00, but "):
        check_frame(frame(range(5), dates))


def test_complex_columns_are_refused():
    with pytest.raises(ValueError, match="column 'load' must be numeric, got complex128"):
        check_frame(frame(np.arange(6) + 1j))
