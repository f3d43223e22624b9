"""The reader of CSV files for Python, the command line and the service."""

import io
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans.data.csv.cells import Faults, read_dates, read_table, read_values
from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.data.time.clock import Clock
from kerastrans.data.time.frequency import is_countable, offset_of
from kerastrans.utils.validation import suggest

DATE_COLUMNS = ("date", "ds", "datetime", "timestamp", "time")


def read_csv(
    path,
    *,
    date_column=None,
    date_format=None,
    dayfirst=False,
    columns=None,
    covariates=(),
    freq=None,
    sep=",",
    decimal=".",
    with_values=True,
):
    r"""Read a CSV file into a long or wide frame, as `Forecaster` takes it.

    A file with a column "unique_id" is long: it has the columns "unique_id", "ds" and "y", and one
    column per covariate. Any other file is wide: it has a date column and one column per channel.
    Empty cells are missing values. Steps may be missing, and rows may be in any order.

    Args:
        path: Path of the file, or an open text file.
        date_column: Name of the date column. By default it is "ds" in a long file, and in a wide
            file the column called "date", "ds", "datetime", "timestamp" or "time", in any case.
        date_format: Format of the dates, as for `datetime.strptime`; "s", "ms", "us" or "ns" for
            numbers that count these units since 1970.
        dayfirst: bool, whether 03/04/2024 is the third of April.
        columns: List of the channels to keep, or of the covariates of a long file; None for all.
        covariates: List of additional columns to keep, which may be text.
        freq: str, pandas frequency, if it cannot be inferred from the time stamps.
        sep: str, separator of the columns.
        decimal: str, decimal point.
        with_values: bool, whether a long file must have the column "y"; set it to False for
            covariates of future steps.

    Returns:
        A long DataFrame, or a wide DataFrame with a sorted DatetimeIndex named "date", whose `freq`
        is set if no step is missing.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file has faults; one message names up to ten, one per line.

    Example:
        >>> import io
        >>> file = io.StringIO("day;load\n01.02.2024;1,5\n02.02.2024;\n03.02.2024;2\n")
        >>> frame = read_csv(file, date_column="day", dayfirst=True, sep=";", decimal=",")
        >>> frame["load"].tolist(), str(frame.index[0]), frame.index.freqstr
        ([1.5, nan, 2.0], '2024-02-01 00:00:00', 'D')
    """
    if freq is not None:
        offset_of(freq)
    if len(sep) != 1 or len(decimal) != 1 or sep == decimal:
        raise ValueError(
            f"sep and decimal must be two different characters, got {sep!r} and {decimal!r}."
        )
    if hasattr(path, "read"):
        faults, file = Faults(getattr(path, "name", "the CSV")), io.StringIO(path.read())
    elif Path(path).is_file():
        faults, file = Faults(path), path
    else:
        raise FileNotFoundError(f"no such CSV file: {path}.")
    table = read_table(file, sep, decimal, faults)
    is_long = ID in table.columns
    date_column = _date_column(table, date_column, is_long, faults)
    keys = [ID, date_column] if is_long else [date_column]
    required = [TARGET] if is_long and with_values else []
    kept = _select_columns(table, keys, columns, [*required, *covariates], faults)
    texts = [c for c in kept if c != TARGET] if is_long else covariates
    frame = pd.DataFrame(
        {name: read_values(table[name], decimal, name in texts, faults) for name in kept},
        table.index,
    )
    ids = table[ID] if is_long else None
    if is_long:
        faults.add_lines(table.index[ids.isna()], lambda _: f"column {ID!r} is empty.")
    times = read_dates(table[date_column], date_format, dayfirst, faults)
    if times is not None:
        _check_stamps(times, ids, table.index, faults)
        if not is_long and not faults.messages:
            _check_grid(times, freq, table.index, faults)
    faults.check()
    if is_long:
        return pd.DataFrame({ID: ids, TIME: times, **frame}).reset_index(drop=True)
    frame = frame.set_axis(pd.DatetimeIndex(times, name="date")).sort_index()
    if len(frame) >= 3:
        frame.index = pd.DatetimeIndex(frame.index, freq="infer")
    return frame


def _date_column(table, date_column, is_long, faults):
    """Return the name of the date column, or raise: without it no other check is possible."""
    if date_column is None:
        names = (TIME,) if is_long else DATE_COLUMNS
        date_column = next((c for c in table.columns if str(c).lower() in names), None)
        description = f"called {', '.join(names)}"
    else:
        description = repr(date_column)
    if date_column not in table.columns:
        faults.add(f"has no date column {description}; its columns are {list(table.columns)}.")
        faults.check()
    return date_column


def _select_columns(table, keys, columns, required, faults):
    """Return the names of the columns of values and covariates to keep."""
    names = [c for c in table.columns if c not in keys]
    given = [columns] if isinstance(columns, str) else columns
    first = names if given is None else [*required[: TARGET in required], *given]
    chosen = [*first, *required]
    for name in dict.fromkeys(chosen):
        if name not in names:
            faults.add(f"has no column {name!r}: {suggest(name, names)}")
    if not names:
        faults.add("must have rows and columns, has no column of values.")
    return [c for c in dict.fromkeys(chosen) if c in names]


def _check_stamps(times, ids, lines, faults):
    """Add faults for rows whose time stamp is outside the range of the clock or duplicated."""
    is_date = times.notna()
    faults.add_lines(
        lines[is_date & ~is_countable(pd.DatetimeIndex(times))],
        lambda line: f"{times[line]} is not in the years 1678 to 2261.",
    )
    keys = pd.DataFrame({"times": times, "ids": 0 if ids is None else ids})
    faults.add_lines(
        lines[is_date & keys.duplicated()],
        lambda line: (
            f"duplicate time stamp {times[line]}"
            + (f" of {ids[line]!r}." if ids is not None else ".")
        ),
    )


def _check_grid(times, freq, lines, faults):
    """Add faults for rows whose time stamp is not on the regular grid."""
    try:
        clock = Clock.of(pd.DatetimeIndex(times).sort_values(), freq)
    except ValueError as error:
        faults.add(str(error))
        return
    _, on_grid = clock.numbers(pd.DatetimeIndex(times))
    faults.add_lines(
        lines[~np.asarray(on_grid)],
        lambda line: f"{times[line]} is not on the grid of frequency {clock.freq!r}.",
    )
