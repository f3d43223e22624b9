"""Regular time: what number a time stamp has, which stamp a number, and what its calendar says."""

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd

# What repeats within a day, a week, a year: name -> (finest step of use, value in [0, 1]).
_CALENDAR = {
    "minute": ("1h", lambda t: t.minute / 60),
    "hour": ("1D", lambda t: (t.hour + t.minute / 60) / 24),
    "weekday": ("7D", lambda t: t.day_of_week / 7),
    "day": ("28D", lambda t: (t.day - 1) / t.days_in_month),
    "month": ("365D", lambda t: (t.day_of_year - 1) / 366),
}

# Frequencies whose steps differ, and the days that a step may have.
_UNEVEN = {
    "B": (1, 1),
    "MS": (28, 31),
    "ME": (28, 31),
    "QS": (90, 92),
    "QE": (90, 92),
    "YS": (365, 366),
    "YE": (365, 366),
}
_DAY = pd.Timedelta("1D").value


@dataclass(frozen=True)
class Clock:
    """The regular grid of time stamps on which series lie.

    Make one with `Clock.of(times)`.

    Attributes:
        freq: str, pandas frequency: "h", "15min", "D", "B", "W-SUN", "MS", "QE-DEC" ...
        phase: int, for a fixed step, nanoseconds by which the grid lies behind its multiples.
        tz: str or None, time zone; steps shorter than a day are counted in UTC, days and longer
            ones on the local calendar, so that no day is lost when clocks change.
    """

    freq: str
    phase: int = 0
    tz: str | None = None

    @classmethod
    def of(cls, times, freq=None):
        """The clock of increasing time stamps `times`.

        Raises:
            ValueError: no frequency is given and none can be told from the stamps.
        """
        tz = None if times.tz is None else str(times.tz)
        if freq is None:
            freq = _infer(_wall(times, None).as_unit("ns"))
        clock = cls(freq, 0, tz)
        if clock._step is None:
            return clock
        return cls(freq, int(clock._count(times)[0] % clock._step), tz)

    @functools.cached_property
    def _step(self):
        """Nanoseconds of a step of fixed length, None for months and the like."""
        return _step(self.freq)

    def _count(self, times):
        """Nanoseconds since 1970 of stamps as this clock sees them."""
        if (times.tz is None) != (self.tz is None):
            raise ValueError(
                f"time stamps of {'no time zone' if times.tz is None else times.tz} do not fit a "
                f"model trained on {self.tz or 'no time zone'}."
            )
        if self.tz is not None:
            times = _wall(times.tz_convert(self.tz), self.freq)
        return times.as_unit("ns").asi8

    def numbers(self, times):
        """Numbers of the stamps `(time,)`, and whether each lies on the grid."""
        count = self._count(times)
        if self._step is not None:
            numbers, rest = np.divmod(count - self.phase, self._step)
            return numbers, rest == 0
        grid = _grid(self.freq)
        numbers = np.clip(np.searchsorted(grid, count), 0, len(grid) - 1)
        return numbers, grid[numbers] == count

    def times(self, numbers):
        """Time stamps of the numbers, a DatetimeIndex."""
        if self._step is not None:
            times = pd.DatetimeIndex(np.asarray(numbers) * self._step + self.phase)
        else:
            times = pd.DatetimeIndex(_grid(self.freq)[numbers])
        if self.tz is None:
            return times
        if _is_local(self.freq):
            return times.tz_localize(self.tz, ambiguous=True, nonexistent="shift_forward")
        return times.tz_localize("UTC").tz_convert(self.tz)

    @property
    def calendar_names(self):
        """Names of the calendar features: those that change from step to step."""
        step = self._step or int(np.median(np.diff(_grid(self.freq)[:1000])))
        return [
            name for name, (finest, _) in _CALENDAR.items() if step < pd.Timedelta(finest).value
        ]

    def calendar(self, numbers):
        """Sine and cosine of each calendar feature at these steps, `(time, features)`, float32."""
        times = self.times(numbers)
        times = times if self.tz is None else times.tz_localize(None)
        angles = [2 * np.pi * _CALENDAR[name][1](times) for name in self.calendar_names]
        waves = [wave(angle) for angle in angles for wave in (np.sin, np.cos)]
        return np.stack(waves, axis=-1).astype("float32") if waves else np.zeros((len(times), 0))


def _step(freq):
    offset = pd.tseries.frequencies.to_offset(freq)
    if isinstance(offset, pd.tseries.offsets.Day):
        return offset.n * _DAY
    return offset.nanos if isinstance(offset, pd.tseries.offsets.Tick) else None


def _is_local(freq):
    """Whether steps are counted on the local calendar: those of a day and longer."""
    step = _step(freq)
    return step is None or step % _DAY == 0


def _wall(times, freq):
    """Stamps of a time zone without it: local ones for days, UTC for anything shorter."""
    if times.tz is None:
        return times
    if freq is None:
        local = times.tz_localize(None)
        return local if (local == local.normalize()).all() else times.tz_convert(None)
    return times.tz_localize(None) if _is_local(freq) else times.tz_convert(None)


@functools.lru_cache(maxsize=8)
def _grid(freq):
    """All stamps of a calendar frequency that a nanosecond counter reaches with room to spare."""
    return pd.date_range("1700-01-01", "2200-01-01", freq=freq).as_unit("ns").asi8


def _infer(times):
    """The frequency of increasing stamps, by the steps that most of them take.

    Raises:
        ValueError: there are fewer than three, or no frequency fits.
    """
    if len(times) >= 3:
        regular = pd.DatetimeIndex(times, freq="infer")
        if regular.freq is not None:
            return regular.freqstr
        steps, counts = np.unique(np.diff(times.as_unit("ns").asi8), return_counts=True)
        usual = pd.Timedelta(steps[counts.argmax()])
        for freq, (shortest, longest) in _UNEVEN.items():  # with gaps
            if shortest <= usual.days <= longest and np.isin(times.asi8, _grid(freq)).all():
                return freq
        if counts.max() > len(times) / 2:
            days = usual // pd.Timedelta("1D")
            if usual == days * pd.Timedelta("1D"):
                return f"{days}D" if days > 1 else "D"
            return pd.tseries.frequencies.to_offset(usual).freqstr
    raise ValueError(
        f"cannot tell the frequency of {len(times)} time stamps, the first "
        f"{[str(t) for t in times[:3]]}: give freq, such as freq='h'."
    )
