"""Data frames as they come in: one row per time step, one column per channel."""

from pathlib import Path

import numpy as np
import pandas as pd

DATE_COLUMNS = ("date", "ds", "datetime", "timestamp", "time")


def read_csv(path, date_column=None):
    """Read a CSV file with one date column and one numeric column per channel.

    Args:
        path: of the file, or an open text file.
        date_column: name of the date column; by default the one called "date", "ds",
            "datetime", "timestamp" or "time", in any case.

    Returns:
        DataFrame with a DatetimeIndex named "date", checked by `check_frame`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: no table of text, no date column, dates that cannot be read, or what
            `check_frame` refuses.
    """
    if hasattr(path, "read"):
        path, file = getattr(path, "name", "the CSV"), path
    elif Path(path).is_file():
        file = path
    else:
        raise FileNotFoundError(f"no such CSV file: {path}.")
    try:
        frame = pd.read_csv(file)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no table: {str(error).splitlines()[0]}") from None
    if date_column is None:
        named = [c for c in frame.columns if str(c).lower() in DATE_COLUMNS]
        date_column = named[0] if named else None
    if date_column not in frame.columns:
        wanted = f"{date_column!r}" if date_column else f"called {', '.join(DATE_COLUMNS)}"
        raise ValueError(
            f"{path} has no date column {wanted}; its columns are {list(frame.columns)}."
        )
    try:
        dates = pd.to_datetime(frame.pop(date_column))
    except ValueError as error:
        raise ValueError(f"{path}: column {date_column!r} is not all dates: {error}.") from None
    frame.index = pd.DatetimeIndex(dates, name="date")
    return check_frame(frame, name=str(path))


def check_frame(frame, name="frame"):
    """Check that a frame is a regular, complete, numeric series; return it with its frequency.

    Args:
        frame: DataFrame with a DatetimeIndex, one numeric column per channel.
        name: what to call it in an error.

    Returns:
        The frame, with `frame.index.freq` set.

    Raises:
        TypeError: the index is not a DatetimeIndex.
        ValueError: no row or column, a non-numeric column, NaN or infinite values, duplicate or
            unsorted timestamps, an irregular frequency; the first place at fault is named.
    """
    if not isinstance(frame, pd.DataFrame) or not isinstance(frame.index, pd.DatetimeIndex):
        raise TypeError(f"{name} must be a DataFrame with a DatetimeIndex.")
    if frame.empty:
        raise ValueError(f"{name} must have rows and columns, got shape {frame.shape}.")
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            raise ValueError(
                f"{name}: column {column!r} must be numeric, got {frame[column].dtype}, "
                f"such as {frame[column].iloc[0]!r}."
            )
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
    steps = np.diff(index.asi8)
    values, counts = np.unique(steps, return_counts=True)
    usual = values[counts.argmax()]
    row = int(np.argmax(steps != usual)) + 1
    raise ValueError(
        f"{name} must have a regular frequency: {index[row]} comes {pd.Timedelta(steps[row - 1])} "
        f"after {index[row - 1]}, where most steps are {pd.Timedelta(usual)}."
    )
