"""Validation and conversion of the data frames that users pass, long or wide."""

import numpy as np
import pandas as pd

from kerastrans.data.time.date_formats import read_times
from kerastrans.utils.validation import NoSeriesError, list_names

ID, TIME, TARGET = "unique_id", "ds", "y"  # columns of a long frame, as the Nixtla tools call them


def check_is_frame(frame):
    """Raise TypeError unless a value is a DataFrame."""
    if not isinstance(frame, pd.DataFrame):
        kind = type(frame).__name__
        raise TypeError(f"expected a DataFrame of pandas, polars or pyarrow, got {kind}.")


def is_real(column):
    """Return whether a column has real numbers or booleans, not text, dates or complex numbers."""
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


def check_has_columns(frame, names, kind):
    """Raise ValueError unless a frame has all columns of a kind, such as "covariates"."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(f"{kind} {missing} are not columns of the frame: {list(frame.columns)}.")


def check_frame(frame, name="frame"):
    """Check that a frame is a regular, complete, numeric series; return it with its frequency.

    Args:
        frame: DataFrame with a DatetimeIndex, one numeric column per channel.
        name: Name of the frame in errors.

    Returns:
        The frame, with `frame.index.freq` set.

    Raises:
        TypeError: If the index is not a DatetimeIndex.
        ValueError: If the frame has no row or no column.
        ValueError: If a column is not numeric.
        ValueError: If a value is NaN or infinite; the message names the first one.
        ValueError: If the time stamps are not unique, sorted and regular; the message names the
            first one that is not.

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
    """Return the index with its frequency set, or raise ValueError for the first irregular step."""
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
        f"but most steps are {usual}."
    )


def read_frame(frame, covariates, future=None):
    """Read times, series codes, names and values of a long or wide frame.

    Args:
        frame: Long DataFrame with the columns "unique_id", "ds" and "y", or wide DataFrame with a
            DatetimeIndex.
        covariates: Names of the columns of a wide frame that are not channels.
        future: DataFrame of the same kind, without values, whose rows are appended; or None.

    Returns:
        `(times, codes, names, values, frame)`: DatetimeIndex `(rows,)`, series codes `(rows,)`,
        names `(series, num_channels)`, values `(rows, num_channels)`, float64, and the frame with
        the rows of `future`.

    Raises:
        TypeError: If `frame` is not a DataFrame.
        ValueError: If a column is missing or has a wrong type.
    """
    check_is_frame(frame)
    if frame.columns.nlevels > 1:
        raise ValueError(
            f"the frame's columns have {frame.columns.nlevels} levels, expected one: give "
            "frame.set_axis(['name', ...], axis=1)."
        )
    wide = is_wide(frame)
    if wide:
        channels = [c for c in frame.columns if c not in covariates]
    else:
        _check_long(frame)
        channels = [TARGET]
    if frame.empty or not channels:
        if len(frame):
            raise NoSeriesError("the frame has no column to forecast, other than covariates.")
        raise NoSeriesError(f"the frame is empty: its shape is {frame.shape}.")
    check_real(frame, channels)
    if future is not None:
        check_is_frame(future)
        missing = [name for name in covariates if name not in frame.columns]
        if missing:  # the rows of `future` would give the frame these columns, without a past
            known = list_names(frame.columns)
            raise ValueError(f"covariates {missing} are missing: the columns are {known}.")
        future = _in_zone_of(frame, future, wide)
        frame = pd.concat([frame, future.drop(columns=channels, errors="ignore")])
    columns = [frame[name].to_numpy("float64", na_value=np.nan) for name in channels]
    values = np.stack(columns, axis=1) if len(columns) > 1 else columns[0][:, None]
    if wide:
        return frame.index, np.zeros(len(frame), int), np.array([channels], object), values, frame
    codes, names = pd.factorize(frame[ID])
    if len(codes) and codes.min() < 0:
        raise ValueError(f"column {ID!r} has no value in row {int(np.argmin(codes))}.")
    texts = pd.Index(names).astype("str")
    if not texts.is_unique:
        raise ValueError(
            f"column {ID!r} has {texts[texts.duplicated()][0]!r} as text and as number."
        )
    times = read_times(frame[TIME])
    return times, codes.astype("int64"), np.asarray(names, object)[:, None], values, frame


def _in_zone_of(frame, future, wide):
    """Return `future` with its time stamps in the time zone of the frame.

    Raises:
        ValueError: If only one of them has a time zone.
    """
    times = [x.index if wide else x.get(TIME) for x in (frame, future)]
    if not all(pd.api.types.is_datetime64_any_dtype(x) for x in times):
        return future
    zone, other = (getattr(x.dtype, "tz", None) for x in times)
    if (zone is None) != (other is None):
        first, second = (x or "no time zone" for x in (zone, other))
        raise ValueError(f"future has time stamps of {second}, the frame of {first}.")
    if zone is None:
        return future
    if wide:
        return future.tz_convert(zone)
    return future.assign(**{TIME: times[1].dt.tz_convert(zone)})


def read_limits(frame, names):
    """Return the values of the columns that bound the series, `(rows, columns)`, float64.

    Raises:
        ValueError: If a column is missing or not numeric.
    """
    check_has_columns(frame, names, "bounds")
    check_real(frame, names)
    columns = [frame[name].to_numpy("float64", na_value=np.nan) for name in names]
    return np.stack(columns, axis=1) if columns else np.zeros((len(frame), 0))


def is_wide(frame):
    """Return whether a frame has dates as its index and one column per channel."""
    if not isinstance(frame, pd.DataFrame) or ID in frame.columns:
        return False
    return isinstance(frame.index, pd.DatetimeIndex)


def to_long(frame, covariates, channels=None):
    """Convert a wide frame to a long one with one series per channel.

    Args:
        frame: Wide DataFrame.
        covariates: Names of the columns that are not channels; they are repeated for each series.
        channels: Names of the channels; by default all other columns. Channels that are missing in
            the frame, such as in a frame of future covariates, get no values.

    Raises:
        ValueError: If a covariate is not a column.

    Example:
        >>> dates = pd.DatetimeIndex(["2024-01-01", "2024-01-02"])
        >>> to_long(pd.DataFrame({"a": [1, 2], "b": [3, 4]}, dates), ())["y"].tolist()
        [1, 2, 3, 4]
    """
    if channels is None:
        channels = [name for name in frame.columns if name not in covariates]
    check_has_columns(frame, covariates, "covariates")
    shared = frame[list(covariates)].rename_axis(TIME).reset_index()
    if not len(channels):
        return shared
    names = pd.Index(channels)
    long = shared.take(np.tile(np.arange(len(frame)), len(names))).reset_index(drop=True)
    long[ID] = names.repeat(len(frame))
    if not names.isin(frame.columns).any():
        return long
    empty = pd.Series(np.nan, frame.index)
    columns = [frame[name] if name in frame.columns else empty for name in names]
    return long.assign(**{TARGET: pd.concat(columns, ignore_index=True)})


def _check_long(frame):
    """Raise ValueError unless a frame has the columns of a long frame."""
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


def split_known(frame, targets):
    """Split a frame into the rows up to the last known value of each series, and the rows after.

    All rows of a series without a value are among the first ones, so that it is named later.

    Args:
        frame: Long or wide DataFrame, whose last rows may hold covariates of the steps to forecast.
        targets: Names of the columns of values; the second frame does not have them.

    Raises:
        NoSeriesError: If no row has a value.
    """
    is_long = ID in frame.columns
    frame = frame.sort_values([ID, TIME], ignore_index=True) if is_long else frame
    # From the end, a row is past once a known value has been met.
    known = frame[targets].notna().any(axis=1)[::-1]
    if not known.any():
        raise NoSeriesError(f"no row has a value of {list_names(targets)}.")
    series = known.groupby(frame[ID] if is_long else np.zeros(len(frame)))
    is_past = (series.cummax() | ~series.transform("any"))[::-1]
    return frame[is_past], frame[~is_past].drop(columns=targets)


def split_static(frame, names):
    """Return the static covariates of a long frame, one row per series, and the other columns.

    Raises:
        ValueError: If a column is missing, or has several values in a series.
    """
    check_has_columns(frame, names, "static covariates")
    static = frame[[ID, *names]].drop_duplicates()
    several = static.loc[static[ID].duplicated(), ID]
    if len(several):
        raise ValueError(
            f"{list_names(names)} must have one value per series, {several.iloc[0]!r} has several."
        )
    return static.reset_index(drop=True), frame.drop(columns=names)
