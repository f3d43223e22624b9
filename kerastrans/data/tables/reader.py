"""The reader of tables for Python, the command line and the service, and how it has read them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import IO, Any

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.data.tables.cells import ROW_NAMES
from kerastrans.data.tables.table import Options, Table
from kerastrans.data.tables.times import (
    MIN_ROWS,
    check_grid,
    check_stamps,
    check_timezone,
    frequency_of,
    read_dates,
    to_timezone,
)
from kerastrans.data.time.clock import Clock
from kerastrans.data.time.date_formats import describe_format, is_text
from kerastrans.data.time.frequency import offset_of
from kerastrans.utils.types import Columns, PathLike
from kerastrans.utils.validation import list_names, quote, suggest

__all__ = ["read_csv", "read_numbers", "read_static", "read_table", "reading_of"]

READ_AS = "read_as"  # key of a frame's attrs
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
MAX_SHOWN = 8  # number of categories that are named


@dataclass(frozen=True)
class Reading:
    """Inferred or given properties of a file.

    Attributes:
        sep: Separator of the columns; None for Parquet and Excel.
        decimal: Decimal sign; None if no cell has one.
        encoding: Encoding of the text.
        date_column: Name of the date column, or names separated by commas.
        id_column: Names of the columns that identify the series, likewise; None if "unique_id".
        target: Name of the column of values; None if "y", or if all columns are.
        missing: Words and numbers that mean a missing value.
        exclude: Names of the columns that were left out.
        date_format: Format of the dates, see `kerastrans.data.time.dates.parse_dates`.
        timezone: Time zone of the time stamps, or None.
        freq: Frequency of the time stamps; None if it is not known.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    date_column: str | None = None
    id_column: str | None = None
    target: str | None = None
    missing: list | None = None
    exclude: list | None = None
    date_format: str | None = None
    timezone: str | None = None
    freq: str | None = None

    def __str__(self):
        """Return the line that the command line shows."""
        parts = [
            self.sep and f"{_SEPARATORS.get(self.sep, repr(self.sep))} between columns",
            self.decimal and f"decimal {'comma' if self.decimal == ',' else 'point'}",
            self.id_column and f"series by {self.id_column!r}",
            self.target and f"values in {self.target!r}",
            self.date_column and f"dates in {self.date_column!r}",
            self.date_format and describe_format(self.date_format),
            self.freq not in (None, "ns") and f"frequency {self.freq}",
            self.timezone,
            self.missing and f"{', '.join(self.missing)} for missing values",
            self.exclude and f"without {', '.join(map(repr, self.exclude))}",
            self.encoding if self.encoding not in (None, "utf-8", "utf-8-sig") else None,
        ]
        return "read as: " + ", ".join(filter(None, parts))

    def to_dict(self):
        """Return the reading as a dict for JSON and for the attrs of a frame."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def read_as_of(frame):
    """Return the dict of how a frame of `read_table` was read; None for other frames."""
    return getattr(frame, "attrs", {}).get(READ_AS)


def reading_of(frame):
    """Return the `Reading` of a frame of `read_table`; None for other frames."""
    stored = read_as_of(frame)
    return None if stored is None else Reading(**stored)


def read_table(
    path: PathLike | IO[Any],
    *,
    id_column: Columns | None = None,
    target: str | None = None,
    date_column: Columns | None = None,
    date_format: str | None = None,
    dayfirst: bool | None = None,
    timezone: str | None = None,
    columns: Columns | None = None,
    covariates: Columns = (),
    exclude: Columns | None = None,
    missing: Columns | None = None,
    skip_rows: int = 0,
    freq: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    with_values: bool = True,
    like: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    r"""Read a CSV, Parquet or Excel file into a long or wide frame, as `Forecaster` takes it.

    A file with a column "unique_id", in any case, or with `id_column` is long: it has a column of
    ids, one of dates, one of values, called "y" or `target`, and one column per covariate. Any
    other file is wide: it has a date column and one column per channel, or one that is `target`.
    Steps may be missing, and rows may be in any order. A first column of row names, and a last row
    of totals, are left out. A table with a row per series, whose columns are named by dates, is
    read as a long one; `id_column` says which other columns name the series.

    Empty cells, and those with "?", "-", ".", "NA", "n/a", "NaN" or "null", are missing values. A
    covariate with text is categorical if it has at most 50 different values, and at most 20
    different numbers among them. Numbers may have groups of digits, a percent sign, or the sign of
    a currency. A time of 24:00 is the end of its day.

    What is not given is inferred from all rows. A file that can be read in two ways is refused.
    The attrs of the frame have the key "read_as", a dict of what was inferred or given, which
    `Forecaster.fit` stores.

    Args:
        path: Path of the file, which may be compressed, or an open file.
        id_column: Name of the column that identifies the series, or names of several: a list, or
            a str with commas. By default it is "unique_id".
        target: Name of the column of values. By default it is "y" in a long file, and in a wide
            file all columns are channels.
        date_column: Name of the date column. By default it is "ds" in a long file, and in a wide
            file the column called "date", "ds", "datetime", "timestamp" or "time", in any case, or
            otherwise the only column with dates. Names of several columns are a date and its hour
            or time, or year, month, day, hour, minute.
        date_format: Format of the dates, as for `datetime.strptime`; "s", "ms", "us" or "ns" for
            numbers that count these units since 1970; "excel" for days since the end of 1899.
        dayfirst: bool, whether 03/04/2024 is the third of April.
        timezone: str, time zone of the time stamps, such as "Europe/Berlin". Time stamps with an
            offset from UTC are converted to it.
        columns: List of the channels to keep, or of the covariates of a long file; None for all.
        covariates: List of additional columns to keep, which may be text.
        exclude: Names of columns to leave out.
        missing: Words and numbers that mean a missing value, such as ["-200"].
        skip_rows: int, number of lines before the header.
        freq: str, pandas frequency, if it cannot be inferred from the time stamps.
        sep: str, separator of the columns: ",", ";", a tab ("tab") or another character.
        decimal: str, decimal sign, "." or ",". The other one may separate thousands.
        encoding: str, encoding of the text. By default it is that of the byte-order mark, UTF-16,
            UTF-8, or Windows-1252.
        sheet: str, name of the sheet of an Excel file with several.
        with_values: bool, whether a long file must have the column "y"; set it to False for
            covariates of future steps.
        like: Dict of how a related file was read. It decides what can be read in two ways.

    Returns:
        A long DataFrame, or a wide DataFrame with a sorted DatetimeIndex named "date", whose `freq`
        is set if no step is missing. Integers of up to seven digits that no date format reads
        number the steps; they are nanoseconds here, and integers again in forecasts.

    Raises:
        FileNotFoundError: If the file does not exist.
        ImportError: If the file requires the extra `excel` or `scale`.
        ValueError: If the file has faults; one message names up to ten, one per line.
        ValueError: If the file can be read in two ways; the message names the argument that
            decides.

    Example:
        >>> import io
        >>> file = io.StringIO("day;load\n01.02.2024;1,5\n02.02.2024;\n03.02.2024;2\n")
        >>> frame = read_table(file)
        >>> frame["load"].tolist(), str(frame.index[0]), frame.index.freqstr
        ([1.5, nan, 2.0], '2024-02-01 00:00:00', 'D')
        >>> frame.attrs["read_as"]["date_format"]
        '%d.%m.%Y'
    """
    if freq is not None:
        offset_of(freq)
    like = Reading() if like is None else Reading(**like)
    zone = timezone or like.timezone
    check_timezone(zone)
    given = skip_rows, missing, exclude, date_column, id_column, target
    table = Table.open(path, Options(sep, decimal, encoding, sheet, *given), like)
    faults, is_long, roles = table.faults, table.is_long, table.roles
    keys = [ID, table.date_column] if is_long else [table.date_column]
    required = [TARGET] if is_long and with_values else []
    if not is_long and target is not None and columns is not None:
        faults.stop("give target or columns: the columns of a wide table are targets.")
    if not is_long and roles.target is not None and columns is None:
        columns = [roles.target]
    kept = _select_columns(table.cells, keys, columns, [*required, *covariates], faults)
    texts = [c for c in kept if c != TARGET] if is_long else covariates
    cells = table.cells[table.date_column]
    frame, decimal = table.values(kept, texts)
    ids, codes = table.ids() if is_long else (None, 0)
    if id_column is not None and with_values and len(ids) > 1 and ids.is_unique:
        faults.stop(
            f"column {','.join(roles.ids)!r} is different in each row: give the column that "
            "is the same in all rows of a series as id_column."
        )
    formats = date_format, dayfirst, like.date_format
    date_format, times = read_dates(cells, *formats, zone, faults)
    times = to_timezone(times, codes, zone, faults)
    check_stamps(times, ids, codes, table, date_format)
    if not is_long and not faults.messages:
        freq = check_grid(times, freq, like.freq, faults)
    faults.check()
    if is_long:
        freq = frequency_of(times, codes, freq)
        frame = pd.concat([ids, times.rename(TIME), frame], axis=1).reset_index(drop=True)
    else:
        frame = frame.set_axis(pd.DatetimeIndex(times, name="date"))
        if not frame.index.is_monotonic_increasing:
            frame = frame.sort_index()
        if len(frame) >= MIN_ROWS:
            frame.index = pd.DatetimeIndex(frame.index, freq="infer")
    names = ",".join(roles.ids)
    found = {
        "date_column": table.date_column,
        "id_column": names if names.lower() not in ("", ID) else None,
        "target": roles.target if roles.target != TARGET else None,
        "missing": list(table.missing) or None,
        "exclude": list(roles.excluded) or None,
        "date_format": date_format,
        "timezone": zone,
        "freq": freq,
    }
    reading = Reading(table.sep, decimal, table.encoding, **found)
    frame.attrs[READ_AS] = reading.to_dict()
    return frame


def size_of(frame, covariates=()):
    """Return a line with the size of a frame of `read_table`, its gaps and its categories.

    Args:
        frame: Long or wide DataFrame.
        covariates: Names of the columns of a wide frame that are not channels.

    Example:
        >>> size_of(pd.DataFrame({"load": [1.0, None]}, pd.date_range("2024-01-01", periods=2)))
        'wide, 1 series, 2 rows, 1 value missing'
    """
    is_long = ID in frame.columns
    values = frame[[TARGET]] if is_long else frame.drop(columns=list(covariates))
    codes = pd.factorize(frame[ID])[0] if is_long else np.zeros(len(frame), int)
    num_series = codes.max(initial=-1) + 1 if is_long else values.shape[1]
    missing = int(values.isna().to_numpy().sum())
    parts = ["long" if is_long else "wide", f"{num_series} series", f"{len(frame):,} rows"]
    parts += [f"{missing:,} value{'s' * (missing != 1)} missing"] if missing else []
    if gaps := _num_missing_steps(frame, codes):
        parts.append(f"{gaps:,} step{'s' * (gaps != 1)} without a row")
    for name in frame.columns.difference([ID, *values.columns]):
        if is_text(frame[name]):
            texts = sorted(frame[name].dropna().unique())
            more = " ..." if len(texts) > MAX_SHOWN else ""
            shown = ", ".join(texts[:MAX_SHOWN])
            parts.append(f"{name}: {len(texts)} categories {shown}{more}")
    return ", ".join(parts)


def _num_missing_steps(frame, codes):
    """Return the number of steps between the first and the last of each series without a row."""
    freq = frame.attrs[READ_AS].get("freq") if READ_AS in frame.attrs else None
    if freq is None:
        return 0
    times = pd.DatetimeIndex(frame.get(TIME, frame.index))
    numbers, _ = Clock.of(times.sort_values(), freq).numbers(times)
    spans = pd.Series(numbers).groupby(codes)
    return int((spans.max() - spans.min() + 1 - spans.count()).sum())


read_csv = read_table


def read_static(path, *, like=None, **options):
    r"""Read a table of static covariates, with a column of ids and one row per series.

    Args:
        path: Path of the file, or an open file.
        like: Dict of how a related file was read, whose `id_column` may be that of this one.
        **options: `exclude`, `missing`, `sep`, `decimal`, `encoding` and `sheet`, see `read_table`;
            columns to leave out need not exist.

    Returns:
        DataFrame with ids as text, and numbers or text in the other columns.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file has faults, no column of ids, or two rows of one series.

    Example:
        >>> import io
        >>> read_static(io.StringIO("unique_id,size\n001,5\n"))["unique_id"].tolist()
        ['001']
    """
    like = Reading() if like is None else Reading(**like)
    table = Table.open(path, Options(**options), like, has_dates=False)
    if not table.is_long:
        names = list_names(table.cells.columns)
        expected = like.id_column or ID
        table.faults.stop(f"has no column {expected!r}; its columns are {names}.")
    names = _value_columns(table.cells, [ID])
    frame, _ = table.values(names, names)
    ids, _ = table.ids()
    table.faults.add_lines(
        ids.index[ids.duplicated()], lambda line: f"second row of {ids[line]!r}."
    )
    table.faults.check()
    frame.insert(0, ID, ids)
    return frame.reset_index(drop=True)


def read_numbers(path, **options):
    r"""Read a table of numbers without dates, one row per step.

    Args:
        path: Path of the file, or an open file.
        **options: See `read_static`.

    Returns:
        DataFrame of float64.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If a cell is not a finite number.

    Example:
        >>> import io
        >>> read_numbers(io.StringIO("a;b\n1,5;2\n"))["a"].tolist()
        [1.5]
    """
    table = Table.open(path, Options(**options), Reading(), has_dates=False)
    frame, _ = table.values(_value_columns(table.cells, []), ())
    for name in frame.columns[frame.isna().any()]:
        lines = frame.index[frame[name].isna()]
        table.faults.add_lines(lines, lambda _, name=name: f"column {name!r} has no value.")
    table.faults.check()
    return frame.reset_index(drop=True).astype("float64")


def _select_columns(cells, keys, columns, required, faults):
    """Return the names of the columns of values and covariates to keep."""
    names = _value_columns(cells, keys)
    given = [columns] if isinstance(columns, str) else columns
    first = names if given is None else [*required[: TARGET in required], *given]
    chosen = list(dict.fromkeys([*first, *required]))
    known = set(names)
    for name in chosen:
        if name not in known:
            hint = "give target, the column of values; " * (name == TARGET)
            faults.add(f"has no column {name!r}: {hint}{suggest(name, names)}")
    if not names or (given is not None and not len(given)):
        faults.add("must have rows and columns, has no column of values.")
    if "" in known.intersection(chosen):
        first = quote(str(cells[""].iloc[0]))
        faults.add(
            f"has a column without a name, which begins with {first}: give it a name, or leave it "
            "out by columns= or exclude=."
        )
    return [c for c in chosen if c in known]


def _value_columns(cells, keys):
    """Return the names of the columns other than `keys`, without the index that pandas writes."""
    names = [c for c in cells.columns.tolist() if c not in keys]
    if names and names[0] == ROW_NAMES:
        return names[1:]
    if names and names[0] in ("", "Unnamed: 0") and names[0] == cells.columns[0]:
        numbers = pd.to_numeric(cells[names[0]], errors="coerce")
        if numbers.is_monotonic_increasing and numbers.is_unique and (numbers % 1 == 0).all():
            return names[1:]
    return names
