"""The calendar of a forecaster, computed from a time stamp inside of an exported file.

Runtimes have few operators on 64-bit integers, so time stamps are split into days and seconds of
the day. Tables that NumPy and pandas compute (clock changes, month starts, stamps of a frequency)
are searched in the graph.
"""

import datetime
import math
import zoneinfo

import numpy as np
from keras import ops

from kerastrans.data.time.frequency import DAY, grid, is_local, offset_of, step_of

YEARS = 1950, 2100  # first year, and the year after the last one
SECOND = 10**9
DAY_SECONDS = 86400
FIRST_DAY, END_DAY = (
    (datetime.date(year, 1, 1) - datetime.date(1970, 1, 1)).days for year in YEARS
)
MONTHS = np.arange(f"{YEARS[0]}-01", f"{YEARS[1] + 2}-01", dtype="datetime64[M]")
_MONTH_STARTS = MONTHS.astype("datetime64[D]").astype("int64") - FIRST_DAY


class Calendar:
    """The clock of a forecaster as a function of tensors.

    Days are counted from the first of `YEARS`, so that no number is negative.

    Args:
        clock: `kerastrans.data.time.clock.Clock`.
        context_length: int, number of steps up to the time stamp.
        prediction_length: int, number of steps after it.

    Raises:
        ValueError: If steps are not whole seconds, or cannot be counted in 32 bits.
        ValueError: If the stamps of the frequency are not days, as those of business hours.
    """

    def __init__(self, clock, context_length, prediction_length):
        self.clock = clock
        self.context_length = context_length
        self.steps = np.arange(1 - context_length, prediction_length + 1)
        self.step = step_of(clock.freq)
        self.is_local = clock.tz is not None and is_local(clock.freq)
        self._check()
        self.changes = None if clock.tz is None else _clock_changes(clock.tz)

    def _check(self):
        """Raise ValueError for a clock that a graph cannot follow."""
        freq, why = self.clock.freq, None
        if self.clock.phase % SECOND or (self.step or SECOND) % SECOND:
            why = "has steps of fractions of a second"
        elif self.step is None and (grid(freq)[0] % DAY).any():
            why = "has several steps in a day of varying length"
        elif self.step is not None and self._ticks_per_day * (END_DAY - FIRST_DAY) >= 2**31:
            why = "has too many steps"
        if why:
            raise ValueError(
                f"frequency {freq!r} {why}, which an exported file cannot count: train with "
                "calendar=False, or forecast in Python."
            )

    @property
    def _tick(self):
        """Number of seconds that divides both a day and the step."""
        return math.gcd(DAY_SECONDS, self.step // SECOND)

    @property
    def _ticks_per_day(self):
        return DAY_SECONDS // self._tick

    def describe(self):
        """Return the rule of the clock as a dict for the metadata of a file."""
        clock = self.clock
        counted = "in local time" if self.is_local or clock.tz is None else "in UTC"
        return {
            "frequency": clock.freq,
            "last_time": "seconds since 1970 of the last step of the history, "
            + ("as if its wall time were UTC" if clock.tz is None else "UTC"),
            "time_zone": clock.tz,
            "steps": f"counted {counted}",
            "phase_seconds": clock.phase // SECOND,
            "anchor": clock.anchor,
            "years": [YEARS[0], YEARS[1] - 1],
        }

    def __call__(self, last_time):
        """Return calendar features, the number of the first step, and whether stamps fit.

        Args:
            last_time: int64 tensor `(batch,)`, see `describe`.

        Returns:
            Features `(batch, context_length + prediction_length, features)`; numbers on the clock
            `(batch,)`, int32; bools `(batch,)`, false for stamps that are not on the clock or
            outside of `YEARS`.
        """
        day, second = _split(last_time)
        inside = ops.logical_and(day >= 0, day < END_DAY - FIRST_DAY)
        day = ops.clip(day, 0, END_DAY - FIRST_DAY - 1)
        if self.is_local:
            day, second = self._to_local(day, second)
        count = self._count_grid if self.step is None else self._count_steps
        number, fits, days, seconds = count(day, second)
        if self.clock.tz is not None and not self.is_local:
            days, seconds = self._to_local(days, seconds)
        first = number + 1 - self.context_length
        return self._features(days, seconds), first, ops.logical_and(fits, inside)

    def _count_steps(self, day, second):
        """Return number and fit of stamps on steps of fixed length, and the stamps of all steps."""
        tick, step = self._tick, self.step // SECOND // self._tick
        # The phase as ticks since the first day, and the seconds that are left.
        phase, rest = divmod(self.clock.phase // SECOND - FIRST_DAY * DAY_SECONDS, tick)
        ticks = day * self._ticks_per_day + (second + tick - rest) // tick - 1
        phase, before = phase % step, phase // step
        ticks = ticks + (step - phase)  # not negative
        number = ticks // step - 1 - before
        fits = ops.logical_and((second + tick - rest) % tick == 0, ticks % step == 0)
        steps = np.divmod(self.steps * (self.step // SECOND), DAY_SECONDS)
        days, seconds = (ops.convert_to_tensor(x, "int32") for x in steps)
        return number, fits, *_carry(day[:, None] + days, second[:, None] + seconds)

    def _count_grid(self, day, second):
        """Return number and fit of stamps of a calendar frequency, and the stamps of all steps."""
        stamps, origin = self.clock.stamps
        multiple, margin = offset_of(self.clock.freq).n, len(self.steps) + 1
        stamps = stamps // DAY - FIRST_DAY
        start = max(int(np.searchsorted(stamps, 0)) - margin * multiple, 0)
        stamps = stamps[start : np.searchsorted(stamps, END_DAY - FIRST_DAY) + margin * multiple]
        phase_seconds = self.clock.phase // SECOND % DAY_SECONDS
        place = _search(stamps, day)
        number = place + start - origin - self.clock.anchor + 1000 * multiple  # not negative
        fits = ops.take(ops.convert_to_tensor(stamps, "int32"), place) == day
        fits = ops.logical_and(fits, second == phase_seconds)
        fits = ops.logical_and(fits, number % multiple == 0)
        steps = ops.convert_to_tensor(self.steps * multiple, "int32")
        places = ops.clip(place[:, None] + steps, 0, len(stamps) - 1)
        days = ops.take(ops.convert_to_tensor(stamps, "int32"), places)
        return number // multiple - 1000, fits, days, ops.zeros_like(days) + phase_seconds

    def _to_local(self, day, second):
        """Convert UTC to local time by the table of clock changes."""
        minutes, offsets = (ops.convert_to_tensor(x, "int32") for x in self.changes)
        minute = day * 1440 + second // 60
        place = _search(self.changes[0], minute)
        offset = ops.take(offsets, place)
        if self.is_local:  # the first moment of a day without midnight counts as midnight
            before = ops.take(offsets, ops.maximum(place - 1, 0))
            is_first = ops.logical_and(ops.take(minutes, place) == minute, second % 60 == 0)
            is_midnight = ops.logical_and((second + before) % DAY_SECONDS == 0, before < offset)
            offset = ops.where(ops.logical_and(is_first, is_midnight), before, offset)
        return _carry(day - 1, second + offset + DAY_SECONDS)

    def _features(self, days, seconds):
        """Return sine and cosine of each feature, as `kerastrans.data.time.clock.waves`."""
        starts = ops.convert_to_tensor(_MONTH_STARTS, "int32")
        month = _search(_MONTH_STARTS, ops.maximum(days, 0))
        start, end = ops.take(starts, month), ops.take(starts, month + 1)
        year = ops.take(starts, month - month % 12)
        minute = (seconds // 60) % 60
        thursday = (FIRST_DAY + 3) % 7  # weekday of the first day: 1970 began on a Thursday
        phases = {
            "minute": lambda: _float(minute) / 60,
            "hour": lambda: (_float(seconds // 3600) + _float(minute) / 60) / 24,
            "weekday": lambda: _float((days + (thursday + 700)) % 7) / 7,
            "day": lambda: _float(days - start) / _float(end - start),
            "month": lambda: _float(days - year) / 366,
        }
        angles = [2 * np.pi * phases[name]() for name in self.clock.calendar_names]
        return ops.stack([wave(x) for x in angles for wave in (ops.sin, ops.cos)], axis=-1)


def _split(last_time):
    """Return days since the first of `YEARS` and seconds of the day, int32, of int64 seconds."""
    seconds = last_time % DAY_SECONDS
    # Days below 2**24 are exact in float32; `round` removes the error of the division.
    days = ops.round(ops.cast(last_time - seconds, "float32") / DAY_SECONDS)
    days = ops.clip(days, FIRST_DAY - 1.0, END_DAY + 1.0)
    return ops.cast(days, "int32") - FIRST_DAY, ops.cast(seconds, "int32")


def _carry(day, second):
    """Return day and second of the day, of at most two days of seconds."""
    return day + second // DAY_SECONDS, second % DAY_SECONDS


def _float(x):
    return ops.cast(x, "float32")


def _search(table, x):
    """Return the place of the last entry that is not above each value, 0 if there is none."""
    size = 1 << (len(table) - 1).bit_length()
    padded = np.full(size, np.iinfo("int32").max)
    padded[: len(table)] = table
    padded = ops.convert_to_tensor(padded, "int32")
    place = ops.zeros_like(x)
    while size > 1:
        size //= 2
        further = place + size
        place = ops.where(ops.take(padded, further) <= x, further, place)
    return place


def _clock_changes(tz):
    """Return the minutes of the clock changes of a time zone, and the offsets from them on.

    Minutes are counted from the first of `YEARS`, in UTC; offsets are seconds.
    """
    zone = zoneinfo.ZoneInfo(tz)
    start = datetime.datetime(YEARS[0], 1, 1, tzinfo=datetime.UTC)

    def offset(minute):
        time = start + datetime.timedelta(minutes=int(minute))
        return int(time.astimezone(zone).utcoffset().total_seconds())

    minutes = np.arange(0, (END_DAY - FIRST_DAY + 400) * 1440, 1440)
    offsets = np.array([offset(minute) for minute in minutes])
    found = [(0, offsets[0])]
    for i in np.flatnonzero(np.diff(offsets)):  # the change is within this day
        low, high = minutes[i], minutes[i + 1]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if offset(middle) != offsets[i] else (middle, high)
        found.append((high, offsets[i + 1]))
    return tuple(np.array(x) for x in zip(*found, strict=True))
