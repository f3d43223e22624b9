"""Many series on one clock, one after the other in one array."""

import functools
from dataclasses import dataclass, field, replace

import numpy as np

from kerastrans.data.covariates import Covariates
from kerastrans.data.frames import read_columns
from kerastrans.data.series_faults import series_faults
from kerastrans.data.time.clock import Clock
from kerastrans.data.time.frequency import check_countable, countable
from kerastrans.utils.validation import NoSeriesError


@dataclass(frozen=True)
class Panel:
    """Series of different lengths, one after the other; make one with `read_panel`.

    Row 0 of the arrays belongs to no series: it is NaN, as what comes before a series is.

    Attributes:
        clock: `Clock` on which all series lie.
        names: `(series, num_channels)`, name of each channel of each series.
        begins, ends: `(series,)`, row of the first step, and the one after the last.
        cuts: `(series,)`, where the future begins: `ends`, or before what is known of it.
        first: `(series,)`, the clock's number of the first row.
        values: `(1 + rows, num_channels)`, float64, NaN where missing.
        past, future: `(1 + rows, columns)`, float32, covariates.
        static: `(series, columns)`, float32.
        faults: dict of name -> why a series was left out.
        covariates: `Covariates`, how the columns of `past`, `future` and `static` became numbers.

    Example:
        >>> import pandas as pd
        >>> dates = pd.date_range("2024-01-01", periods=3)
        >>> panel = read_panel(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}, dates))
        >>> len(panel), panel.num_channels, panel.clock.freq
        (1, 2, 'D')
    """

    clock: Clock
    names: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    cuts: np.ndarray
    first: np.ndarray
    values: np.ndarray
    past: np.ndarray
    future: np.ndarray
    static: np.ndarray
    faults: dict = field(default_factory=dict)
    covariates: Covariates = field(default_factory=Covariates)

    @property
    def num_channels(self):
        """Number of channels of each series."""
        return self.values.shape[1]

    def __len__(self):
        return len(self.begins)

    @functools.cached_property
    def num_known(self):
        """How many rows with a known value come before each row, `(2 + rows,)`."""
        return np.concatenate([[0], np.cumsum(np.isfinite(self.values).any(axis=1))])

    def numbers(self, series, rows):
        """The clock's numbers of rows of these series."""
        return self.first[series] + rows - self.begins[series]

    def without(self, faults):
        """The panel without some series: a dict from their place to why."""
        keep = ~np.isin(np.arange(len(self)), list(faults))
        why = {str(self.names[i][0]): reason for i, reason in faults.items()}
        parts = ("names", "begins", "ends", "cuts", "first", "static")
        kept = {part: getattr(self, part)[keep] for part in parts}
        return replace(self, **kept, faults={**self.faults, **why})

    def until(self, cuts, rows=None):
        """The same series up to these rows, and from `rows` rows before, without a copy."""
        begins = self.begins if rows is None else np.maximum(self.begins, cuts - rows)
        first = self.first + begins - self.begins
        return replace(self, begins=begins, first=first, ends=cuts, cuts=cuts)


def read_panel(
    frame, *, clock=None, freq=None, covariates=None, static=None, future=None, held_out=None
):
    """Series out of a frame, checked, gaps in time opened up as missing values.

    Args:
        frame: long, with columns "unique_id", "ds" and "y", or wide, with a DatetimeIndex and a
            column for each channel of one series; rows in any order.
        clock: `Clock` of the training data; None to read it off this frame.
        freq: str, pandas frequency, where the time stamps do not tell it.
        covariates: `Covariates`; None for none.
        static: frame with "unique_id" and the static covariates, one row a series.
        future: frame as `frame`, without values, of what is known of the steps after it.
        held_out: int, last steps of each series that do not train; the covariates' means,
            deviations and categories are then read off all rows before them. None to take them
            from `covariates`.

    Returns:
        `Panel`. A series with a fault is left out, and named in `faults`: a duplicated or missing
        time stamp, one off the clock's grid or outside its years, an infinite value, no value at
        all, or fewer than one row in a hundred steps.

    Raises:
        TypeError: not a DataFrame.
        ValueError: a column is missing or of another kind, or all series are at fault.

    Example:
        >>> import pandas as pd
        >>> dates = pd.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-04"])  # a gap
        >>> read_panel(pd.DataFrame({"load": [1.0, 2.0, 3.0]}, dates), freq="D").values[1:, 0]
        array([ 1.,  2., nan,  3.])
    """
    covariates = covariates or Covariates()
    num_past = len(frame)
    used = [c.name for c in (*covariates.past, *covariates.future)]
    times, codes, names, values, frame = read_columns(frame, used, future)
    is_past = np.arange(len(frame)) < num_past
    stamped = countable(times)
    if not stamped.any():
        check_countable(times)  # raises
    if clock is None:
        clock = _read_clock(times[stamped], codes[stamped], names, freq)
    numbers, on_grid = clock.numbers(times.where(stamped, times[stamped.argmax()]))
    if held_out is not None:
        covariates = covariates.read(frame, static, _trains(codes, numbers, held_out))
    past, known = (covariates.encode(frame, kind) for kind in ("past", "future"))

    codes, numbers, times, values, past, known, is_past, stamped, on_grid = _in_order(
        codes, numbers, times, values, past, known, is_past, stamped, on_grid
    )
    begins = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(begins[1:], len(codes))

    broken = series_faults(clock, times, codes, numbers, values, begins, ends, stamped, on_grid)
    encoded, unknown = covariates.encode_static(static, names[:, 0])
    broken = dict.fromkeys(unknown, "no row in the frame of static covariates") | broken
    keep = ~np.isin(codes[begins], list(broken))
    faults = {str(names[code][0]): why for code, why in sorted(broken.items())}
    if not keep.any():
        name, why = next(iter(faults.items()))
        raise NoSeriesError(f"no usable series of {len(faults)}: {name!r} has {why}.", faults)
    past_numbers = np.where(is_past, numbers, numbers[begins].repeat(ends - begins))
    last = np.maximum.reduceat(past_numbers, begins)
    arrays, starts, ends, first = _lay_out((values, past, known), numbers, begins, ends, keep)
    cuts = starts + last[keep] - first + 1
    where = starts, ends, cuts, first
    return Panel(clock, names[keep], *where, *arrays, encoded[keep], faults, covariates)


def _trains(codes, numbers, held_out):
    """Whether rows come before the last steps of their series; all do where no row would."""
    last = np.full(codes.max() + 1, np.iinfo("int64").min)
    np.maximum.at(last, codes, numbers)
    trains = numbers <= last[codes] - held_out
    return trains | ~trains.any()


def _in_order(codes, numbers, *columns):
    """Codes, numbers and further columns of rows, sorted by series and time."""
    in_order = np.where(codes[1:] == codes[:-1], np.diff(numbers) >= 0, np.diff(codes) > 0)
    order = slice(None) if in_order.all() else np.lexsort((numbers, codes))
    return tuple(column[order] for column in (codes, numbers, *columns))


def _read_clock(times, codes, names, freq):
    """The clock of the longest series; of several the first by name, whatever the order of rows."""
    lengths = np.bincount(codes)
    code = min(np.flatnonzero(lengths == lengths.max()), key=lambda code: str(names[code][0]))
    return Clock.of(times[codes == code].sort_values().unique(), freq)


def _lay_out(columns, numbers, begins, ends, keep):
    """Arrays with a row of NaN, then one for each step of time; where each series begins, ends."""
    lengths = np.where(keep, numbers[ends - 1] - numbers[begins] + 1, 0)
    starts = np.cumsum(lengths) - lengths + 1
    kept = np.repeat(keep, ends - begins)
    offset = np.repeat(starts - numbers[begins], ends - begins)
    rows = (numbers + offset)[kept]
    arrays = []
    for column in columns:
        array = np.full((1 + lengths.sum(), column.shape[1]), np.nan, column.dtype)
        array[rows] = column if kept.all() else column[kept]
        arrays.append(array)
    return arrays, starts[keep], (starts + lengths)[keep], numbers[begins][keep]
