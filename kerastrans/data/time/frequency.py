"""Frequencies of time stamps: their steps and grids, and their inference from time stamps."""

import functools

import numpy as np
import pandas as pd

DAY, MICROSECOND = pd.Timedelta("1D").value, pd.Timedelta("1us").value
# Nanoseconds in 64 bits range from 1677-09-21 to 2262-04-11. Only the whole years are used, so that
# neither a time zone nor a step at either end overflows.
FIRST, LAST = pd.Timestamp("1678-01-01").value, pd.Timestamp("2262-01-01").value - 1
MIN_PAIRS = 3  # number of series of two stamps that show a frequency
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


def offset_of(freq):
    """Return the pandas offset of a frequency.

    Raises:
        ValueError: If `freq` is not a frequency, is not positive, or is longer than 584 years.
    """
    try:
        offset = pd.tseries.frequencies.to_offset(freq)
        if offset is not None and 0 < offset.n * _shortest(offset.base) <= LAST - FIRST:
            return offset
    except (ValueError, TypeError, OverflowError):
        pass
    raise ValueError(f"freq must be a pandas frequency such as 'h', 'D' or 'MS', got {freq!r}.")


def is_other_frequency(freq, expected):
    """Return whether both frequencies are given and differ, in whatever way they are spelt."""
    return None not in (freq, expected) and offset_of(freq) != offset_of(expected)


def check_same_frequency(freq, expected, subject):
    """Raise ValueError if a frequency is given that is not the one of the subject's forecasts.

    Args:
        freq: Frequency that is given, or None.
        expected: Frequency of the forecasts; None for any.
        subject: str, name of the model.
    """
    if is_other_frequency(freq, expected):
        raise ValueError(f"{subject} forecasts the frequency {expected!r}, got {freq!r}.")


def _shortest(offset):
    """Return the nanoseconds of a single step, at least."""
    return offset.nanos if isinstance(offset, pd.tseries.offsets.Tick) else DAY


def step_of(freq):
    """Return the nanoseconds of a fixed step; None for months and other steps that vary."""
    offset = offset_of(freq)
    if isinstance(offset, pd.tseries.offsets.Day):
        return offset.n * DAY
    return offset.nanos if isinstance(offset, pd.tseries.offsets.Tick) else None


def is_local(freq):
    """Return whether steps are counted on the local calendar, as those of a day and longer are."""
    step = step_of(freq)
    return step is None or step % DAY == 0


def is_countable(times):
    """Return which stamps are in the years 1678 to 2261, bool `(time,)`; missing ones are not."""
    bounds = [pd.Timestamp(bound, tz=times.tz) for bound in ("1678-01-01", "2262-01-01")]
    return np.asarray((times >= bounds[0]) & (times < bounds[1]))


def check_countable(times):
    """Raise ValueError for the first stamp that is not in the years 1678 to 2261."""
    inside = is_countable(times)
    if not inside.all():
        raise ValueError(
            f"time stamps must be in the years 1678 to 2261, got {times[int(np.argmin(inside))]}."
        )


def wall_clock(times, freq):
    """Remove the time zone of stamps: local time for days and longer steps, otherwise UTC.

    Without a frequency, the stamps count as days if all of them are at local midnight. Where clocks
    go forward at midnight, the first moment of the day counts as midnight.
    """
    if times.tz is None:
        return times
    if freq is not None and not is_local(freq):
        return times.tz_convert(None)
    local = times.tz_localize(None)
    days = local.normalize()
    if (local != days).any():
        first = days.tz_localize(times.tz, ambiguous=True, nonexistent="shift_forward")
        local = local.where(first != times, days)
    return local if freq is not None or (local == days).all() else times.tz_convert(None)


@functools.lru_cache(maxsize=8)
def grid(freq):
    """Return all stamps of a calendar frequency in the years 1678 to 2261.

    A frequency of several steps, such as "2MS", has the grid of the single step.

    Returns:
        The stamps in nanoseconds since 1970, and the place of number 0 among them, the first stamp
        that is not before 1700-01-01.
    """
    single = offset_of(freq).base
    stamps = pd.date_range("1678-01-01", "2261-12-31", freq=single, unit="s").as_unit("ns").asi8
    return stamps, int(np.searchsorted(stamps, pd.Timestamp("1700-01-01").value))


def infer_frequency(times):
    """Infer the frequency of increasing stamps without a time zone, from the most common step.

    Args:
        times: DatetimeIndex in nanoseconds; some steps may be missing.

    Returns:
        str, a pandas frequency. The stamps may be a constant time after those of the frequency, as
        the 15th of each month is after those of "MS".

    Raises:
        ValueError: If there are fewer than three stamps, or no frequency fits.
    """
    if len(times) >= 3:
        regular = pd.DatetimeIndex(times, freq="infer")
        if regular.freq is not None:
            return regular.freqstr
        steps, counts = np.unique(np.diff(times.asi8), return_counts=True)
        usual = pd.Timedelta(steps[counts.argmax()])
        freq = _infer_monthly(times) if usual.days >= 28 else _infer_half_monthly(times)
        if freq is not None:
            return freq
        if usual == pd.Timedelta("1D") and (times.day_of_week < 5).all():
            return "B"
        if counts.max() > len(times) / 2:
            days = usual // pd.Timedelta("1D")
            if usual == days * pd.Timedelta("1D"):
                return f"{days}D" if days > 1 else "D"
            return offset_of(usual).freqstr
    raise ValueError(
        f"cannot infer the frequency of {len(times)} time stamps, the first "
        f"{[str(t) for t in times[:3]]}: give freq, such as freq='h'."
    )


def infer_from_pairs(times, codes):
    """Infer the frequency of series of at most two stamps from the step that all of them have.

    Args:
        times: DatetimeIndex `(rows,)`.
        codes: `(rows,)`, ints, series of each row.

    Returns:
        str, a pandas frequency; None for less than three steps, different ones, or those of months.
    """
    order = np.lexsort((times.asi8, codes))
    times = wall_clock(times[order], None).as_unit("ns")
    steps = np.diff(times.asi8)[np.diff(codes[order]) == 0]
    if len(steps) < MIN_PAIRS or (steps != steps[0]).any() or not 0 < steps[0] < 28 * DAY:
        return None
    return infer_frequency(pd.DatetimeIndex(times.asi8[0] + steps[0] * np.arange(3)))


def _infer_half_monthly(times):
    """Return the frequency of two stamps a month, as "SMS" and "SME" have them; otherwise None."""
    days = np.where(times.is_month_end, 31, times.day)  # a month's end counts as one day
    first, *rest = np.unique(days)
    if len(rest) != 1 or len(np.unique(times.asi8 - times.normalize().asi8)) > 1:
        return None
    if (first, rest[0]) == (1, 15):
        return "SMS-15"
    return "SME-15" if (first, rest[0]) == (15, 31) else None


def _infer_monthly(times):
    """Return the frequency of stamps on one day of the month, or on its last day; otherwise None.

    Months that end before the 29th, 30th or 31st have their last day in its place.
    The step is the greatest common divisor of all steps, in months, so that gaps do not change it.
    """
    if len(np.unique(times.asi8 - times.normalize().asi8)) > 1:  # at different times of day
        return None
    if times.is_month_end.all():
        kind, anchor = "E", (times[0].month - 1) % 12
    elif (times.day == np.minimum(times.day.max(), times.days_in_month)).all():
        kind, anchor = "S", (times[0].month - 1) % 12
    else:
        return None
    months = int(np.gcd.reduce(np.diff(12 * times.year + times.month)))
    if months % 12 == 0:
        years = months // 12
        return f"{years if years > 1 else ''}Y{kind}-{MONTHS[anchor]}"
    if months % 3 == 0:  # named by the start of the first quarter, or the end of the last quarter
        quarter = MONTHS[anchor % 3] if kind == "S" else MONTHS[9 + anchor % 3]
        return f"{months // 3 if months > 3 else ''}Q{kind}-{quarter}"
    return f"{months if months > 1 else ''}M{kind}"
