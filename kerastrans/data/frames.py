"""Data frames as they come in: one row per time step, one column per channel."""

import numpy as np
import pandas as pd

from kerastrans.data.time.dates import read_times
from kerastrans.utils.validation import NoSeriesError

ID, TIME, TARGET = "unique_id", "ds", "y"  # columns of a long frame, as the Nixtla tools call them


def is_real(column):
    """Whether a column holds real numbers, or booleans: not text, dates or complex numbers."""
    numeric = pd.api.types.is_numeric_dtype(column)
    return numeric and not pd.api.types.is_complex_dtype(column)


def check_real(frame, columns, name="the frame"):
    """Raise ValueError for the first of these columns that does not hold real numbers."""
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"{name} has several columns named {twice!r}: give each its own name.")
    for column in columns:
        if not is_real(frame[column]):
            raise ValueError(
                f"{name}: column {column!r} must be numeric, got {frame[column].dtype}, such as "
                f"{frame[column].iloc[0]!r}."
            )


def check_frame(frame, name="frame"):
    """Check that a frame is a regular, complete, numeric series; return it with its frequency.

    Args:
        frame: DataFrame with a DatetimeIndex, one numeric column per channel.
        name: what to call it in an error.

    Returns:
        The frame, with `frame.index.freq` set.

    Raises:
        TypeError: the index is not a DatetimeIndex.
        ValueError: there is no row or no column.
        ValueError: a column is not numeric.
        ValueError: a value is NaN or infinite; the first such place is named.
        ValueError: the time stamps are not unique, sorted and regular; the first at fault is named.

    Example:
        >>> import pandas as pd
        >>> dates = pd.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-03"])
        >>> check_frame(pd.DataFrame({"load": [1.0, 2.0, 3.0]}, dates)).index.freqstr
        'D'
    """
    if not isinstance(frame, pd.DataFrame) or not isinstance(frame.index, pd.DatetimeIndex):
        raise TypeError(f"{name} must be a DataFrame with a DatetimeIndex.")
    if frame.empty:
        raise ValueError(f"{name} must have rows and columns, got shape {frame.shape}.")
    check_real(frame, frame.columns, name)
    finite = np.isfinite(frame.to_numpy("float64"))
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(
            f"{name} must be finite, got {frame.iat[row, column]} in column "
            f"{frame.columns[column]!r} at {frame.index[row]} ({(~finite).sum()} such values)."
        )
    _check_dates(frame.index, name)
    frame = frame.copy(deep=False)
    frame.index = _with_frequency(frame.index.rename("date"), name)
    return frame


def _check_dates(index, name):
    if index.hasnans:
        raise ValueError(
            f"{name}: every row must have a date, row {index.isna().argmax()} has none."
        )
    if index.has_duplicates:
        raise ValueError(f"{name}: duplicate timestamp {index[index.duplicated()][0]}.")
    if not index.is_monotonic_increasing:
        row = int(np.argmax(np.diff(index.asi8) < 0)) + 1
        raise ValueError(
            f"{name} must be sorted by date: {index[row]} comes after {index[row - 1]}."
        )


def _with_frequency(index, name):
    """The index with its frequency set; ValueError names the first step that breaks it."""
    if len(index) < 3:
        raise ValueError(f"{name}: a frequency needs at least 3 rows, got {len(index)}.")
    index = pd.DatetimeIndex(index, freq="infer")
    if index.freq is not None:
        return index
    steps = np.diff(index.asi8)  # in units of the index: nanoseconds, microseconds, seconds
    values, counts = np.unique(steps, return_counts=True)
    usual = values[counts.argmax()]
    row = int(np.argmax(steps != usual)) + 1
    step, usual = (pd.Timedelta(steps, index.unit) for steps in (steps[row - 1], usual))
    raise ValueError(
        f"{name} must have a regular frequency: {index[row]} comes {step} after {index[row - 1]}, "
        f"where most steps are {usual}."
    )


def read_columns(frame, covariates, future=None):
    """Times, series codes, names and values of a frame, long or wide, and the frame itself.

    Args:
        frame: long, with columns "unique_id", "ds" and "y", or wide, with a DatetimeIndex.
        covariates: names of a wide frame's columns that are no channels.
        future: frame of the same kind, without values, whose rows are appended.

    Returns:
        `(times, codes, names, values, frame)`: DatetimeIndex and codes `(rows,)`, names
        `(series, num_channels)`, values `(rows, num_channels)`, float64.

    Raises:
        TypeError: not a DataFrame.
        ValueError: a column is missing, or is not of numbers or of time stamps.
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"expected a DataFrame, got {type(frame).__name__}.")
    wide = is_wide(frame)
    if wide:
        channels = [c for c in frame.columns if c not in covariates]
    else:
        _check_long(frame)
        channels = [TARGET]
    if frame.empty or not channels:
        raise NoSeriesError(f"the frame is empty: its shape is {frame.shape}.")
    check_real(frame, channels)
    if future is not None:
        frame = pd.concat([frame, future.drop(columns=channels, errors="ignore")])
    columns = [frame[name].to_numpy("float64", na_value=np.nan) for name in channels]
    values = np.stack(columns, axis=1) if len(columns) > 1 else columns[0][:, None]
    if wide:
        return frame.index, np.zeros(len(frame), int), np.array([channels], object), values, frame
    codes, names = pd.factorize(frame[ID])
    if len(codes) and codes.min() < 0:
        raise ValueError(f"column {ID!r} has no value in row {int(np.argmin(codes))}.")
    times = read_times(frame[TIME])
    return times, codes.astype("int64"), np.asarray(names, object)[:, None], values, frame


def is_wide(frame):
    """Whether a frame has dates as its index and a column for each channel."""
    if not isinstance(frame, pd.DataFrame) or ID in frame.columns:
        return False
    return isinstance(frame.index, pd.DatetimeIndex)


def to_long(frame, covariates, channels=None):
    """A wide frame as a long one, each channel a series of its own.

    Args:
        frame: wide.
        covariates: names of columns that are no channels; each series has them.
        channels: names of the channels; by default all other columns. Those that the frame lacks,
            as one of the future does, have no values.

    Example:
        >>> dates = pd.DatetimeIndex(["2024-01-01", "2024-01-02"])
        >>> to_long(pd.DataFrame({"a": [1, 2], "b": [3, 4]}, dates), ())["y"].tolist()
        [1, 2, 3, 4]
    """
    if channels is None:
        channels = [name for name in frame.columns if name not in covariates]
    shared = frame[list(covariates)].rename_axis(TIME).reset_index()
    parts = []
    for name in channels:
        values = {TARGET: frame[name].to_numpy()} if name in frame.columns else {}
        parts.append(shared.assign(**{ID: name, **values}))
    return pd.concat(parts, ignore_index=True) if parts else shared


def _check_long(frame):
    """Raise ValueError unless the columns of a long frame are there."""
    missing = [c for c in (ID, TIME, TARGET) if c not in frame.columns]
    if not missing:
        return
    needs = f"a long frame needs the columns {ID!r}, {TIME!r} and {TARGET!r}"
    if ID in frame.columns or frame.empty:
        raise ValueError(f"{needs}; {missing} are missing from {list(frame.columns)}.")
    raise ValueError(
        f"{needs}, a wide one a DatetimeIndex; this frame's columns are {list(frame.columns)} and "
        f"its index holds {frame.index[0]!r}: set_index its dates, read by pd.to_datetime."
    )
