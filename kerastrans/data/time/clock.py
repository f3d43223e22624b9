"""The clock: regular time stamps, their numbers and their calendar features."""

import functools
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from kerastrans.data.time.frequency import (
    DAY,
    FIRST,
    LAST,
    MICROSECOND,
    check_countable,
    grid,
    infer_frequency,
    is_local,
    offset_of,
    step_of,
    wall_clock,
)

# Name -> (smallest step that leaves the feature out, function of time stamps to values in [0, 1]).
_CALENDAR = {
    "minute": ("1h", lambda t: t.minute / 60),
    "hour": ("1D", lambda t: (t.hour + t.minute / 60) / 24),
    "weekday": ("7D", lambda t: t.day_of_week / 7),
    "day": ("28D", lambda t: (t.day - 1) / t.days_in_month),
    "month": ("365D", lambda t: (t.day_of_year - 1) / 366),
}


def feature_names(step):
    """Return the names of the features that change between steps of `step` nanoseconds.

    Steps of less than a microsecond are those of integers, which have no calendar.
    """
    return [x for x, (end, _) in _CALENDAR.items() if MICROSECOND <= step < pd.Timedelta(end).value]


def waves(times, names):
    """Return sine and cosine of each feature at local time stamps, `(time, 2 * names)`, float32."""
    angles = [2 * np.pi * _CALENDAR[name][1](times) for name in names]
    columns = [wave(angle) for angle in angles for wave in (np.sin, np.cos)]
    if not columns:
        return np.zeros((len(times), 0), "float32")
    return np.stack(columns, axis=-1).astype("float32")


@dataclass(frozen=True)
class Clock:
    """The regular grid of time stamps that series share.

    Create one with `Clock.of(times)`. The time stamps are in the years 1678 to 2261, which
    nanoseconds in 64 bits can count.

    Attributes:
        freq: str, pandas frequency: "h", "15min", "D", "B", "W-SUN", "MS", "QE-DEC" ...
        phase: int, nanoseconds between the multiples of a fixed step, or the stamps of a calendar
            frequency, and the time stamps: 14 days for the 15th of each month with "MS". A phase
            beyond the end of a period, as of the 30th in February, counts to its last day.
        tz: str or None, time zone. Steps shorter than a day are counted in UTC, days and longer
            steps on the local calendar, so that no day is lost when daylight saving time changes.
        anchor: int, for a frequency of several calendar steps ("2MS"): which of these steps the
            time stamps are on.

    Example:
        >>> import pandas as pd
        >>> clock = Clock.of(pd.DatetimeIndex(["2024-01-15", "2024-02-15", "2024-03-15"]))
        >>> numbers, on_grid = clock.numbers(pd.DatetimeIndex(["2024-04-15", "2024-04-16"]))
        >>> clock.freq, on_grid.tolist()
        ('MS', [True, False])
        >>> str(clock.times(numbers[:1] + 1)[0])
        '2024-05-15 00:00:00'
    """

    freq: str
    phase: int = 0
    tz: str | None = None
    anchor: int = 0

    @classmethod
    def of(cls, times, freq=None):
        """Return the clock of increasing time stamps.

        Args:
            times: DatetimeIndex; some steps may be missing.
            freq: str, pandas frequency; None to infer it.

        Raises:
            ValueError: If `freq` is not a frequency.
            ValueError: If `freq` is None and the frequency cannot be inferred.
            ValueError: If a stamp is outside the years 1678 to 2261.
        """
        check_countable(times)
        tz = None if times.tz is None else str(times.tz)
        clock = cls(
            infer_frequency(wall_clock(times, None).as_unit("ns")) if freq is None else freq, 0, tz
        )
        count = clock._count(times)
        if clock._step is not None:
            return replace(clock, phase=_most_common(count % clock._step))
        stamps, origin = grid(clock.freq)
        places = np.maximum(np.searchsorted(stamps, count, side="right") - 1, 0)
        anchor = _most_common((places - origin) % clock._multiple)
        return replace(clock, phase=_most_common(count - stamps[places]), anchor=anchor)

    @functools.cached_property
    def _step(self):
        """Length of a fixed step in nanoseconds, None for months and other calendar steps."""
        return step_of(self.freq)

    @property
    def _multiple(self):
        """Number of single calendar steps in a step: 2 for "2MS"."""
        return offset_of(self.freq).n

    def _count(self, times):
        """Return the nanoseconds since 1970 of stamps, in UTC or local time as `freq` requires."""
        if (times.tz is None) != (self.tz is None):
            raise ValueError(
                f"time stamps of {'no time zone' if times.tz is None else times.tz} do not fit a "
                f"model trained on {self.tz or 'no time zone'}."
            )
        check_countable(times)
        if self.tz is not None:
            times = wall_clock(times.tz_convert(self.tz), self.freq)
        return times.as_unit("ns").asi8

    def numbers(self, times):
        """Return the numbers of the stamps `(time,)`, and whether each is on the grid.

        Raises:
            ValueError: If only one of stamps and clock has a time zone.
            ValueError: If a stamp is outside the years 1678 to 2261.
        """
        count = self._count(times)
        if self._step is not None:
            numbers, remainder = np.divmod(count - self.phase, self._step)
            return numbers, remainder == 0
        stamps, origin = self.stamps
        places = np.clip(np.searchsorted(stamps, count), 0, len(stamps) - 1)
        numbers, remainder = np.divmod(places - origin - self.anchor, self._multiple)
        return numbers, (stamps[places] == count) & (remainder == 0)

    @functools.cached_property
    def stamps(self):
        """`grid` of a calendar frequency, moved by the phase: of 29 days, to February's last."""
        stamps, origin = grid(self.freq)
        following, moved = np.append(stamps[1:], np.iinfo("int64").max), stamps + self.phase
        return np.where(moved < following, moved, following - DAY + self.phase % DAY), origin

    @functools.cached_property
    def limits(self):
        """The smallest and the largest number whose time stamp is in the years 1678 to 2261."""
        if self._step is not None:
            return -((self.phase - FIRST) // self._step), (LAST - self.phase) // self._step
        stamps, origin = self.stamps
        last = int(np.searchsorted(stamps, LAST, side="right")) - 1
        before = origin + self.anchor
        return -(before // self._multiple), (last - before) // self._multiple

    def check(self, numbers):
        """Raise ValueError unless the numbers' time stamps are in the years 1678 to 2261."""
        low, high = self.limits
        if numbers.size and not low <= numbers.min() <= numbers.max() <= high:
            last = self.times([high if numbers.max() > high else low])[0]
            raise ValueError(
                f"steps of {self.freq!r} beyond {last} have no time stamp: the years 1678 to 2261 "
                "are supported."
            )

    def times(self, numbers):
        """Return the time stamps of the numbers, a DatetimeIndex.

        Raises:
            ValueError: If a time stamp is outside the years 1678 to 2261.
        """
        numbers = np.asarray(numbers)
        self.check(numbers)
        if self._step is not None:
            times = pd.DatetimeIndex(numbers * self._step + self.phase)
        else:
            stamps, origin = self.stamps
            times = pd.DatetimeIndex(stamps[numbers * self._multiple + origin + self.anchor])
        if self.tz is None:
            return times
        if is_local(self.freq):
            return times.tz_localize(self.tz, ambiguous=True, nonexistent="shift_forward")
        return times.tz_localize("UTC").tz_convert(self.tz)

    @property
    def calendar_names(self):
        """Names of the calendar features that change between steps."""
        step = self._step or int(np.median(np.diff(grid(self.freq)[0][:1000]))) * self._multiple
        return feature_names(step)

    def calendar(self, numbers):
        """Return sine and cosine of each calendar feature, `(time, features)`, float32.

        Numbers outside the years 1678 to 2261 get the features of the nearest step.
        """
        times = self.times(np.clip(numbers, *self.limits))
        times = times if self.tz is None else times.tz_localize(None)
        return waves(times, self.calendar_names)


def _most_common(values):
    """Return the most frequent integer; among equally frequent ones, the smallest."""
    unique, counts = np.unique(values, return_counts=True)
    return int(unique[counts.argmax()])
