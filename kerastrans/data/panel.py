"""Many series on one clock, one behind the other in one array, and the windows over them."""

import functools
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from kerastrans.data.batches import make_batches
from kerastrans.data.clock import Clock
from kerastrans.data.covariates import KINDS, Covariates
from kerastrans.data.scaling import WindowScaler
from kerastrans.utils.validation import check_choice, check_positive_integers

ID, TIME, TARGET = "unique_id", "ds", "y"  # columns of a long frame, as the Nixtla tools call them
FILLS = (None, "last", "zero")
SPARSE = 100  # steps for each row: a series with longer gaps is a mistake in its time stamps


@dataclass(frozen=True)
class Panel:
    """Series of different lengths behind each other; make one with `read_panel`.

    Row 0 of the arrays belongs to no series: it is NaN, and stands for what is before a series.

    Attributes:
        clock: `Clock` on which all series lie.
        names: `(series, num_channels)`, name of each channel of each series.
        begins, ends: `(series,)`, rows of the first step, and behind the last.
        cuts: `(series,)`, where the future begins: `ends`, or before what is known of it.
        first: `(series,)`, the clock's number of the first row.
        values: `(1 + rows, num_channels)`, float64, NaN where missing.
        past, future: `(1 + rows, columns)`, float32, covariates.
        static: `(series, columns)`, float32.
        faults: dict of name -> why a series was left out.
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

    @property
    def num_channels(self):
        return self.values.shape[1]

    def __len__(self):
        return len(self.begins)

    @functools.cached_property
    def num_known(self):
        """How many rows with a known value lie before each row, `(2 + rows,)`."""
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


def read_panel(frame, *, clock=None, freq=None, covariates=None, static=None, future=None):
    """Series out of a frame, checked, gaps in time opened up as missing values.

    Args:
        frame: long, with columns "unique_id", "ds" and "y", or wide: a DatetimeIndex, and one
            column for each channel of one series. Rows may come in any order.
        clock: `Clock` of the training data; None to read it off this frame.
        freq: str, pandas frequency, where it cannot be read off.
        covariates: `Covariates`; None for none.
        static: frame with "unique_id" and the static covariates, one row a series.
        future: frame as `frame`, without values, of what is known of the steps behind it.

    Returns:
        `Panel`. A series with a fault is left out, and named in `faults`: a duplicated or missing
        time stamp, one off the clock's grid, an infinite value, no value at all, or hardly a row in
        the time that it spans.

    Raises:
        TypeError: not a DataFrame of either kind.
        ValueError: a column is missing, or is not of numbers or of time stamps; no series is
            without a fault.
    """
    covariates = covariates or Covariates()
    rows = len(frame)
    times, codes, names, values, frame = _columns(frame, covariates, future)
    is_past = np.arange(len(frame)) < rows
    if clock is None:
        clock = _read_clock(times, codes, freq)
    stamped = ~times.isna()
    times = times if stamped.all() else times.fillna(times.min())
    numbers, on_grid = clock.numbers(times)
    past, known = (covariates.encode(frame, kind) for kind in ("past", "future"))

    in_order = np.where(codes[1:] == codes[:-1], np.diff(numbers) >= 0, np.diff(codes) > 0)
    if not in_order.all():
        order = np.lexsort((numbers, codes))
        codes, numbers, times, values = codes[order], numbers[order], times[order], values[order]
        past, known, is_past = past[order], known[order], is_past[order]
        stamped, on_grid = stamped[order], on_grid[order]
    begins = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(begins[1:], len(codes))

    broken = _faults(clock, times, codes, numbers, values, begins, ends, stamped, on_grid)
    encoded, unknown = _encode_static(covariates, static, names)
    broken = dict.fromkeys(unknown, "no row in the frame of static covariates") | broken
    keep = ~np.isin(codes[begins], list(broken))
    faults = {str(names[code][0]): why for code, why in sorted(broken.items())}
    if not keep.any():
        name, why = next(iter(faults.items()))
        raise ValueError(f"no usable series: {name!r} has {why} ({len(faults)} series at fault).")
    past_numbers = np.where(is_past, numbers, numbers[begins].repeat(ends - begins))
    last = np.maximum.reduceat(past_numbers, begins)
    arrays, starts, ends, first = _lay_out((values, past, known), numbers, begins, ends, keep)
    cuts = starts + last[keep] - first + 1
    return Panel(clock, names[keep], starts, ends, cuts, first, *arrays, encoded[keep], faults)


def _faults(clock, times, codes, numbers, values, begins, ends, stamped, on_grid):
    """Dict of the number of a series -> its fault, of rows sorted by series and time."""
    found = {}

    def blame(at_fault, why):
        """The first such row of each series that has no fault yet."""
        rows = np.flatnonzero(at_fault)
        for row in rows[np.unique(codes[rows], return_index=True)[1]]:
            found.setdefault(int(codes[row]), why(row))

    blame(~stamped, lambda row: "a row has no time stamp")
    blame(
        ~on_grid,
        lambda row: f"time stamp {times[row]} is not on the grid of frequency {clock.freq!r}",
    )
    twice = np.append(False, (codes[1:] == codes[:-1]) & (np.diff(numbers) == 0))
    blame(twice, lambda row: f"duplicate time stamp {times[row]}")
    blame(np.isinf(values).any(axis=1), lambda row: f"an infinite value at {times[row]}")
    rows, spans = ends - begins, numbers[ends - 1] - numbers[begins] + 1
    seen = np.add.reduceat(np.isfinite(values).any(axis=1), begins)
    for i in np.flatnonzero((seen == 0) | (spans > SPARSE * rows + 10_000)):
        why = f"{rows[i]} rows over {spans[i]} steps" if seen[i] else "no value at all"
        found.setdefault(int(codes[begins[i]]), why)
    return found


def _columns(frame, covariates, future):
    """Times, series codes, names, values and covariate columns of a frame of either kind."""
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"expected a DataFrame, got {type(frame).__name__}.")
    wide = ID not in frame.columns and isinstance(frame.index, pd.DatetimeIndex)
    used = [c.name for c in (*covariates.past, *covariates.future)]
    if wide:
        channels = [c for c in frame.columns if c not in used]
    else:
        missing = [c for c in (ID, TIME, TARGET) if c not in frame.columns]
        if missing:
            raise ValueError(
                f"a long frame needs the columns {ID!r}, {TIME!r} and {TARGET!r}, a wide one a "
                f"DatetimeIndex; {missing} are missing from {list(frame.columns)}."
            )
        channels = [TARGET]
    if frame.empty or not channels:
        raise ValueError(f"the frame is empty: its shape is {frame.shape}.")
    for name in channels:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            raise ValueError(
                f"column {name!r} must be numeric, got {frame[name].dtype}, such as "
                f"{frame[name].iloc[0]!r}."
            )
    if future is not None:
        frame = pd.concat([frame, future.drop(columns=channels, errors="ignore")])
    columns = [frame[name].to_numpy("float64", na_value=np.nan) for name in channels]
    values = np.stack(columns, axis=1) if len(columns) > 1 else columns[0][:, None]
    if wide:
        return frame.index, np.zeros(len(frame), int), np.array([channels], object), values, frame
    codes, names = pd.factorize(frame[ID])
    if len(codes) and codes.min() < 0:
        raise ValueError(f"column {ID!r} has no value in row {int(np.argmin(codes))}.")
    try:
        times = pd.DatetimeIndex(frame[TIME])
    except (ValueError, TypeError) as error:
        raise ValueError(f"column {TIME!r} is not all time stamps: {error}.") from None
    return times, codes.astype("int64"), np.asarray(names, object)[:, None], values, frame


def _read_clock(times, codes, freq):
    """The clock of the longest series."""
    longest = times[codes == np.bincount(codes).argmax()].dropna().sort_values().unique()
    return Clock.of(longest, freq)


def _encode_static(covariates, static, names):
    """Static covariates `(series, columns)`, and the numbers of series that have none."""
    if not covariates.static:
        return np.zeros((len(names), 0), "float32"), []
    if static is None or ID not in static.columns:
        wanted = [c.name for c in covariates.static]
        raise ValueError(f"static covariates {wanted} are missing: give static, with {ID!r}.")
    place = pd.Index(static[ID]).get_indexer(names[:, 0])
    return covariates.encode(static, "static")[place], np.flatnonzero(place < 0).tolist()


def _lay_out(columns, numbers, begins, ends, keep):
    """Arrays with a row of NaN in front and one for each step of time; where each series lies."""
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


def training_cuts(panel, context_length, prediction_length, stride=1, held_out=0):
    """Cuts of the windows that train, and of those that validate.

    A window's first target is the row of its cut. Full windows are taken, and one padded window of
    a series that is shorter; windows without a known value before or behind the cut are left out.

    Args:
        panel: `Panel`.
        context_length, prediction_length, stride: int, of the windows.
        held_out: int, last steps of each series whose targets validate; 0 for none.

    Returns:
        `((series, cuts), (series, cuts))`.
    """
    known = panel.num_known

    def cuts(begins, ends):
        lowest = np.maximum(
            begins, np.minimum(panel.begins + context_length, ends - prediction_length)
        )
        lowest = np.maximum(lowest, panel.begins + 1)
        counts = np.maximum(0, -(-(ends - prediction_length + 1 - lowest) // stride))
        series = np.repeat(np.arange(len(panel)), counts)
        place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        found = lowest[series] + stride * place
        seen = known[found] > known[np.maximum(found - context_length, panel.begins[series])]
        wanted = known[np.minimum(found + prediction_length, len(known) - 1)] > known[found]
        return series[seen & wanted], found[seen & wanted]

    split = panel.cuts - held_out
    return cuts(panel.begins, split), cuts(split, panel.cuts if held_out else split)


@dataclass(frozen=True)
class Windows:
    """Windows over a panel, cut batch by batch.

    Attributes:
        panel: `Panel`.
        context_length, prediction_length: int, steps before and behind a cut.
        series, cuts: `(windows,)`, each window's series and the row of its first target.
        scaler: `WindowScaler`.
        fill: what a model sees where a value is missing: None for the mean of the context, "last"
            for the last value before, "zero". The loss leaves missing targets out in any case.
        calendar: bool, whether calendar features join the future covariates.
        position: bool, whether the model asks for the clock's number of a window's first step.
        decoder: bool, whether it asks for decoder inputs: the last value of the context and all
            targets but the last.
        history: str, what the model calls the input of its history.
    """

    panel: Panel
    context_length: int
    prediction_length: int
    series: np.ndarray
    cuts: np.ndarray
    scaler: WindowScaler = field(default_factory=WindowScaler)
    fill: str | None = None
    calendar: bool = False
    position: bool = False
    decoder: bool = False
    history: str = "history"

    def __post_init__(self):
        check_positive_integers(
            context_length=self.context_length, prediction_length=self.prediction_length
        )
        check_choice("fill", self.fill, FILLS)

    def __len__(self):
        return len(self.cuts)

    def observed(self):
        """Whether any value of the context is known, `(windows,)`."""
        known = self.panel.num_known
        first = np.maximum(self.cuts - self.context_length, self.panel.begins[self.series])
        return known[self.cuts] > known[first]

    def batches(self, batch_size, shuffle=False, seed=None, **kwargs):
        """Batches `(inputs, scaled targets)` for `fit`, see `make_batches`."""
        make = functools.partial(self._batch, is_training=True)
        size, arrays = min(batch_size, len(self)), list(self._tables.values())
        return make_batches(arrays, len(self), make, size, shuffle, seed, **kwargs)

    def arrays(self, chosen=slice(None)):
        """Inputs and `(center, scale)`, each `(windows, 1, num_channels)`, of some windows."""
        numbers = np.arange(len(self))[chosen]
        return self._batch(np, list(self._tables.values()), numbers, is_training=False)

    @functools.cached_property
    def _tables(self):
        """Dict of the arrays that every batch is cut from."""
        panel = self.panel
        arrays = {
            "cut": np.asarray(self.cuts, "int64"),
            "series": np.asarray(self.series, "int64"),
            "begin": panel.begins,
            "first": panel.first,
            "values": panel.values,
        }
        if self.fill is not None:
            arrays["filled"] = _fill(panel, self.fill)
        for kind in KINDS:
            if getattr(panel, kind).shape[1]:
                arrays[kind] = np.nan_to_num(getattr(panel, kind))
        if self.calendar:
            latest = int((panel.first + panel.ends - panel.begins).max()) + self.prediction_length
            arrays["calendar"] = panel.clock.calendar(np.arange(self._earliest, latest))
        return arrays

    @property
    def _earliest(self):
        """The clock's number of the first row of the calendar."""
        return int(self.panel.first.min()) - self.context_length

    def _batch(self, xp, arrays, chosen, is_training):
        """Inputs, and scaled targets in training or else `(center, scale)`; see `make_batches`."""
        past_steps = self.context_length
        steps = np.arange(-past_steps, self.prediction_length)
        table = dict(zip(self._tables, arrays, strict=True))
        cut = xp.take(table["cut"], chosen)
        series = xp.take(table["series"], chosen)
        begin = xp.take(table["begin"], series)
        needs_future = is_training or "future" in table
        rows = cut[:, None] + (steps if needs_future else steps[:past_steps])
        rows = xp.where(rows < begin[:, None], 0, rows)
        seen = xp.take(table["values"], rows[:, :past_steps], axis=0)
        center, scale = self.scaler.statistics(seen, xp)
        if "filled" in table:
            seen = xp.take(table["filled"], rows[:, :past_steps], axis=0)
        x = (seen - center) / scale
        x = xp.asarray(xp.where(xp.isnan(x), 0.0, x), dtype="float32")
        inputs = {self.history: x}
        if "past" in table:
            inputs["past_covariates"] = xp.take(table["past"], rows[:, :past_steps], axis=0)
        known = []
        if "future" in table:
            known.append(xp.take(table["future"], rows, axis=0))
        numbers = xp.take(table["first"], series) + cut - begin
        if self.calendar:
            place = numbers[:, None] + steps - self._earliest
            known.append(xp.take(table["calendar"], place, axis=0))
        if known:
            inputs["future_covariates"] = xp.concatenate(known, axis=-1)
        if "static" in table:
            inputs["static_covariates"] = xp.take(table["static"], series, axis=0)
        if self.position:
            inputs["position"] = xp.asarray(numbers - past_steps, dtype="int32")
        if len(inputs) == 1 and not self.decoder:
            inputs = x
        if not is_training:
            return inputs, (center, scale)
        wanted = xp.take(table["values"], rows[:, past_steps:], axis=0)
        wanted = xp.asarray((wanted - center) / scale, dtype="float32")
        if self.decoder:
            before = xp.concatenate([x[:, -1:], wanted[:, :-1]], axis=1)
            before = xp.where(xp.isnan(before), xp.zeros_like(before), before)
            inputs = {**inputs, "decoder_inputs": before}
        return inputs, wanted


def _fill(panel, fill):
    """Values with every gap filled: by "zero", or by the "last" value before it in the series."""
    missing = np.isnan(panel.values)
    if fill == "zero":
        return np.where(missing, 0.0, panel.values)
    rows = np.arange(len(panel.values))[:, None]
    last = np.maximum.accumulate(np.where(missing, 0, rows), axis=0)
    begin = np.repeat(panel.begins, panel.ends - panel.begins)
    last[1:][last[1:] < begin[:, None]] = 0  # the series before ends where this one begins
    return np.take_along_axis(panel.values, last, axis=0)
