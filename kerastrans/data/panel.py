"""Panels: many series on one clock, one after another in one array, and what is wrong with some."""

import functools
from dataclasses import dataclass, field, replace

import numpy as np

from kerastrans.data.covariates import Covariates
from kerastrans.data.frames import read_frame, read_limits
from kerastrans.data.time.clock import Clock
from kerastrans.data.time.frequency import (
    check_countable,
    infer_frequency,
    infer_from_pairs,
    is_countable,
    wall_clock,
)
from kerastrans.utils.validation import NoSeriesError

# Largest number of steps per row; a sparser series is taken for a mistake in the time stamps.
MAX_STEPS_PER_ROW = 100
# Number of steps between rows of a series, to say that its frequency differs from the clock's.
MIN_STEPS_TO_COMPARE = 5
MAX_RATIO = 1.12  # of the longest month to the shortest one


@dataclass(frozen=True)
class Panel:
    """Series of different lengths, stored one after another; create one with `read_panel`.

    Row 0 of the arrays does not belong to a series. It is NaN and represents the steps before a
    series begins.

    Attributes:
        clock: `Clock` of all series.
        names: `(series, num_channels)`, name of each channel of each series.
        begins, ends: `(series,)`, row of the first step, and the row after the last step.
        cuts: `(series,)`, row after the last observed step: `ends`, or the first row of the known
            future.
        first: `(series,)`, number of the first row on the clock.
        values: `(1 + rows, num_channels)`, float64, NaN where missing.
        past, future: `(1 + rows, columns)`, float32, covariates.
        static: `(series, columns)`, float32, static covariates.
        limits: `(1 + rows, columns)`, float64, values of the columns that bound the series.
        faults: Dict of name -> reason why a series was left out.
        covariates: `Covariates`, the encoding of the columns of `past`, `future` and `static`.

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
    limits: np.ndarray
    faults: dict = field(default_factory=dict)
    covariates: Covariates = field(default_factory=Covariates)

    @property
    def num_channels(self):
        """Number of channels of each series."""
        return self.values.shape[1]

    def __len__(self):
        return len(self.begins)

    @property
    def lengths(self):
        """Number of observed steps of each series, gaps included, `(series,)`."""
        return self.cuts - self.begins

    def cuts_without_last(self, steps):
        """Return the end of each series without its last steps, not before its begin."""
        return np.maximum(self.begins, self.cuts - steps)

    @functools.cached_property
    def num_known(self):
        """Number of rows with a known value before each row, `(2 + rows,)`."""
        return np.concatenate([[0], np.cumsum(np.isfinite(self.values).any(axis=1))])

    def missing_ends(self, series, cuts, most):
        """Return how many values of each channel are missing before these rows.

        Args:
            series: `(windows,)`, series of each row.
            cuts: `(windows,)`, rows; they and later ones are not read.
            most: int, largest number that is counted.

        Returns:
            `(windows, num_channels)`, ints; `most` if no value is known.
        """
        counts = np.zeros((len(cuts), self.num_channels), int)
        window, channel = np.nonzero(np.isnan(self.values[cuts - 1]))
        row = cuts[window] - 1
        for _ in range(most):
            # Row 0 is NaN, like all rows before the begin of a series.
            row = np.where(row < self.begins[series[window]], 0, row)
            is_missing = np.isnan(self.values[row, channel])
            window, channel, row = window[is_missing], channel[is_missing], row[is_missing] - 1
            counts[window, channel] += 1
        return counts

    def channels_without_value(self):
        """Return the names of the channels that have no known value in any series, a list."""
        rows = [self.values[a:b] for a, b in zip(self.begins, self.cuts, strict=True)]
        known = np.any([np.isfinite(x).any(axis=0) for x in rows], axis=0)
        return self.names[0][~known].tolist()

    def numbers(self, series, rows):
        """Return the numbers of rows of these series on the clock."""
        return self.first[series] + rows - self.begins[series]

    def without(self, faults):
        """Return the panel without some series, given a dict from their place to the reason."""
        keep = ~np.isin(np.arange(len(self)), list(faults))
        reasons = {str(self.names[i][0]): reason for i, reason in faults.items()}
        parts = ("names", "begins", "ends", "cuts", "first", "static")
        kept = {part: getattr(self, part)[keep] for part in parts}
        return replace(self, **kept, faults={**self.faults, **reasons})

    def after(self, earlier):
        """Return the series, each preceded by the series of its name in an earlier panel.

        Args:
            earlier: `Panel` of the same clock and columns. Its series end before those of the same
                names begin here; the steps in between are missing.
        """
        places = {name: i for i, name in enumerate(earlier.names[:, 0])}
        # Rows of the arrays of both panels, one after the other; row 0 is NaN.
        rows, first = [np.zeros(1, int)], self.first.copy()
        for i, name in enumerate(self.names[:, 0]):
            rows.append(len(earlier.values) + np.arange(self.begins[i], self.cuts[i]))
            if name in places:
                j = places[name]
                gap = np.zeros(self.first[i] - earlier.numbers(j, earlier.cuts[j]), int)
                before = np.arange(earlier.begins[j], earlier.cuts[j])
                rows[-1] = np.concatenate([before, gap, rows[-1]])
                first[i] = earlier.first[j]
        ends = np.cumsum([len(part) for part in rows])
        rows = np.concatenate(rows)
        arrays = {
            name: np.concatenate([getattr(earlier, name), getattr(self, name)])[rows]
            for name in ("values", "past", "future", "limits")
        }
        layout = {"begins": ends[:-1], "ends": ends[1:], "cuts": ends[1:], "first": first}
        return replace(self, **layout, **arrays)

    def until(self, cuts, rows=None):
        """Return the series up to these cuts, without a copy; at most `rows` rows if given."""
        begins = self.begins if rows is None else np.maximum(self.begins, cuts - rows)
        first = self.first + begins - self.begins
        return replace(self, begins=begins, first=first, ends=cuts, cuts=cuts)


def read_panel(
    frame,
    *,
    clock=None,
    freq=None,
    covariates=None,
    static=None,
    future=None,
    limits=(),
    held_out=None,
    sort=False,
):
    """Read and check the series of a frame; missing time steps become missing values.

    Args:
        frame: Long DataFrame with the columns "unique_id", "ds" and "y", or wide DataFrame with a
            DatetimeIndex and one column per channel of one series. Rows may be in any order.
        clock: `Clock` of the training data; None to infer it from this frame.
        freq: str, pandas frequency, if it cannot be inferred from the time stamps.
        covariates: `Covariates`, or None.
        static: DataFrame with "unique_id" and the static covariates, one row per series.
        future: DataFrame like `frame`, without values, of the covariates of the following steps.
        limits: Names of numeric columns that bound the series, also in `future`.
        held_out: int, number of last steps of each series that are not used for training, or a
            function from the numbers of steps of the valid series to it. The encodings of the
            covariates are then fitted to all rows before these steps. None to use the encodings of
            `covariates`.
        sort: bool, whether to put the series in the order of their names; otherwise they are in the
            order of the frame.

    Returns:
        `Panel`. A series is left out, with the reason in `faults`, if it has a duplicate or missing
        time stamp, a time stamp off the grid or outside the years of the clock, an infinite value,
        no value at all, fewer than one row per hundred steps, or another frequency, such as months
        among days.

    Raises:
        TypeError: If `frame` is not a DataFrame.
        ValueError: If a column is missing or has a wrong type, or no series is valid.
        ValueError: If the time stamps have a longer step than `clock` or `freq`.

    Example:
        >>> import pandas as pd
        >>> dates = pd.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-04"])  # a gap
        >>> read_panel(pd.DataFrame({"load": [1.0, 2.0, 3.0]}, dates), freq="D").values[1:, 0]
        array([ 1.,  2., nan,  3.])
    """
    covariates = covariates or Covariates()
    num_past = len(frame)
    used = [c.name for c in (*covariates.past, *covariates.future)]
    times, codes, names, values, frame = read_frame(frame, [*used, *limits], future)
    if sort:
        places = np.argsort(names[:, 0].astype(str), kind="stable")
        codes, names = np.argsort(places)[codes], names[places]
    is_past = np.arange(len(frame)) < num_past  # `frame` now includes the rows of `future`
    stamped = is_countable(times)
    is_inferred = clock is None and freq is None
    if clock is None or not stamped.any():
        clock = _clock_of(times, codes, names, freq)
    numbers, on_grid = clock.numbers(times.where(stamped, times[stamped.argmax()]))

    # Sort by series and time, and find the first row and the end of each series.
    order = _sorting(codes, numbers)
    sorted_rows = (column[order] for column in (codes, numbers, times, values, stamped, on_grid))
    codes, numbers, times, values, stamped, on_grid = sorted_rows
    is_past = is_past[order]
    begins = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(begins[1:], len(codes))
    if not is_inferred:
        longest = np.argmax(ends - begins)
        rows = np.arange(begins[longest], ends[longest])
        rows = rows[(stamped & on_grid & is_past)[rows]]
        _check_frequency(clock, times[rows], numbers[rows])

    # Leave out invalid series.
    rows = clock, times, codes, numbers, values, begins, ends, stamped, on_grid, is_past
    reasons = series_faults(*rows)
    places = covariates.find_static(static, names[:, 0])
    unknown = np.flatnonzero(places < 0).tolist()
    reasons = dict.fromkeys(unknown, "no row in the frame of static covariates") | reasons
    keep = ~np.isin(codes[begins], list(reasons))  # (series,)
    faults = {str(names[code][0]): reason for code, reason in sorted(reasons.items())}
    _check_usable(keep, faults)

    # Last observed step of each series: rows of the future count as its first step here.
    past_numbers = np.where(is_past, numbers, numbers[begins].repeat(ends - begins))
    last = np.maximum.reduceat(past_numbers, begins)
    if held_out is not None:
        steps = last[keep] - numbers[begins][keep] + 1
        held_out = held_out(steps) if callable(held_out) else held_out
        is_training_row = np.empty(len(frame), bool)  # the frame is not sorted
        is_training_row[order] = _is_training_row(codes, numbers, held_out)
        covariates = covariates.read(frame, static, is_training_row)
    past, known = (
        covariates.centered(covariates.encode(frame, kind)[order], kind, begins)
        for kind in ("past", "future")
    )
    encoded = covariates.encode_static(static, places)
    columns = values, past, known, read_limits(frame, limits)[order]
    (*arrays, limits), starts, ends, first = _lay_out(columns, numbers, begins, ends, keep)
    cuts = starts + last[keep] - first + 1
    layout = starts, ends, cuts, first
    return Panel(clock, names[keep], *layout, *arrays, encoded[keep], limits, faults, covariates)


def _check_usable(keep, faults):
    """Raise NoSeriesError, with the reasons by series, if every series is left out."""
    if not keep.any():
        name, why = next(iter(faults.items()))
        raise NoSeriesError(f"no usable series of {len(faults)}: {name!r} has {why}.", faults)


def _is_training_row(codes, numbers, held_out):
    """Return which rows come before the last `held_out` steps of their series.

    If this holds for no row at all, every row is a training row.
    """
    last = np.full(codes.max() + 1, np.iinfo("int64").min)
    np.maximum.at(last, codes, numbers)  # number of the last step of each series
    is_before = numbers <= last[codes] - held_out
    return is_before | ~is_before.any()


def _sorting(codes, numbers):
    """Return the order of the rows by series and time, as a slice if they are sorted already."""
    is_sorted = np.where(codes[1:] == codes[:-1], np.diff(numbers) >= 0, np.diff(codes) > 0)
    return slice(None) if is_sorted.all() else np.lexsort((numbers, codes))


def read_clock(frame, covariates=(), future=None):
    """Return the `Clock` that `read_panel` infers from a frame.

    Args:
        frame: As in `read_panel`.
        covariates: Names of the columns of a wide frame that are not channels.
        future: As in `read_panel`.
    """
    times, codes, names, *_ = read_frame(frame, covariates, future)
    return _clock_of(times, codes, names, None)


def _clock_of(times, codes, names, freq):
    """Return the clock of the longest series; among equally long ones, of the first by name."""
    stamped = is_countable(times)
    if not stamped.any():
        check_countable(times)  # raises
    times, codes = times[stamped], codes[stamped]
    lengths = np.bincount(codes)
    code = min(np.flatnonzero(lengths == lengths.max()), key=lambda code: str(names[code][0]))
    longest = times[codes == code].sort_values().unique()
    if freq is None and len(longest) == 2:
        freq = infer_from_pairs(times, codes)
    return Clock.of(longest, freq)


def _check_frequency(clock, times, numbers):
    """Raise ValueError if a series, sorted by time, has a longer step than the clock.

    It then has no two neighbouring steps, as a monthly series on a daily clock. A series with gaps
    has some, unless it is very short.
    """
    steps = np.diff(numbers)
    if len(steps) < MIN_STEPS_TO_COMPARE or steps.min() <= 1:
        return
    try:
        found = infer_frequency(wall_clock(times, clock.freq).as_unit("ns"))
    except ValueError:  # not regular: a series with many gaps
        return
    raise ValueError(
        f"the time stamps have the frequency {found!r}, but the model or freq has {clock.freq!r}: "
        f"{1 - len(steps) / steps.sum():.0%} of the steps would be missing."
    )


def _lay_out(columns, numbers, begins, ends, keep):
    """Lay out the kept series in arrays with one row per time step, after a row 0 of NaN.

    Args:
        columns: Arrays `(rows, ...)` of the sorted rows of a frame.
        numbers: `(rows,)`, numbers of the rows on the clock.
        begins: `(series,)`, first row of each series.
        ends: `(series,)`, row after the last one of each series.
        keep: Bools `(series,)`, series to keep.

    Returns:
        The arrays; and for each kept series its first row, the row after its last, and the number
        of its first step.
    """
    # Number of steps of each series, gaps included, and its first row in the new arrays.
    lengths = np.where(keep, numbers[ends - 1] - numbers[begins] + 1, 0)
    starts = np.cumsum(lengths) - lengths + 1
    # New row of each old row: steps without an old row stay NaN.
    kept = np.repeat(keep, ends - begins)
    offset = np.repeat(starts - numbers[begins], ends - begins)
    rows = (numbers + offset)[kept]
    arrays = []
    for column in columns:
        array = np.full((1 + lengths.sum(), column.shape[1]), np.nan, column.dtype)
        array[rows] = column if kept.all() else column[kept]
        arrays.append(array)
    return arrays, starts[keep], (starts + lengths)[keep], numbers[begins][keep]


def series_faults(clock, times, codes, numbers, values, begins, ends, stamped, on_grid, is_past):
    """Return a dict of series code -> fault, for rows sorted by series and time.

    Args:
        clock: `Clock` of the series.
        times: DatetimeIndex `(rows,)`.
        codes: Ints `(rows,)`, codes of the series.
        numbers: Ints `(rows,)`, numbers of the time stamps on the clock.
        values: `(rows, num_channels)`.
        begins: `(series,)`, first row of each series.
        ends: `(series,)`, row after the last one of each series.
        stamped: Bools `(rows,)`, whether a time stamp is in the years that can be counted.
        on_grid: Bools `(rows,)`, whether a time stamp is on the grid of the clock.
        is_past: Bools `(rows,)`, whether a row is not one of the frame of future covariates.
    """
    faults = {}

    def blame(at_fault, why):
        """Set the fault of each series that has such a row and no fault yet, by its first one."""
        rows = np.flatnonzero(at_fault)
        for row in rows[np.unique(codes[rows], return_index=True)[1]]:
            faults.setdefault(int(codes[row]), why(row))

    blame(times.isna(), lambda row: "a row has no time stamp")
    blame(~stamped, lambda row: f"time stamp {times[row]} is not in the years 1678 to 2261")
    blame(
        ~on_grid,
        lambda row: f"time stamp {times[row]} is not on the grid of frequency {clock.freq!r}",
    )
    twice = np.append(False, (codes[1:] == codes[:-1]) & (np.diff(numbers) == 0))
    blame(
        twice,
        lambda row: (
            f"duplicate time stamp {times[row]}"
            + ("" if is_past[row] == is_past[row - 1] else ", which the future has too")
        ),
    )
    blame(np.isinf(values).any(axis=1), lambda row: f"an infinite value at {times[row]}")
    rows, spans = ends - begins, numbers[ends - 1] - numbers[begins] + 1
    num_known = np.add.reduceat(np.isfinite(values).any(axis=1), begins)
    for i in np.flatnonzero((num_known == 0) | (spans > MAX_STEPS_PER_ROW * rows + 10_000)):
        why = f"{rows[i]} rows over {spans[i]} steps" if num_known[i] else "no value at all"
        faults.setdefault(int(codes[begins[i]]), why)
    smallest = _distances(numbers, begins, rows, is_daily=clock.freq == "D")
    for i in np.flatnonzero(smallest > 1):
        why = f"rows {smallest[i]} or more steps of frequency {clock.freq!r} apart"
        faults.setdefault(int(codes[begins[i]]), why)
    return faults


def _distances(numbers, begins, rows, is_daily):
    """Return the number of steps between rows, `(series,)`; 1 where rows are not regular.

    They are regular if three of four distances are about the smallest one, as those of monthly rows
    on a daily clock. Two such rows are enough.
    """
    steps = np.diff(numbers, prepend=numbers[0])
    steps[begins] = np.iinfo(steps.dtype).max  # between two series
    smallest = np.minimum.reduceat(steps, begins)
    is_near = steps <= np.repeat(MAX_RATIO * smallest, rows)
    is_near[begins] = False
    count = np.add.reduceat(is_near.astype("int64"), begins)
    are_enough = (rows > MIN_STEPS_TO_COMPARE) | (is_daily & (rows > 1) & (smallest >= 28))
    return np.where(are_enough & (4 * count >= 3 * (rows - 1)), smallest, 1)
