"""The reader of tables for Python, the command line and the service, and how it has read them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import IO, Any

import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME
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
from kerastrans.data.time.date_formats import describe_format
from kerastrans.data.time.frequency import offset_of
from kerastrans.utils.types import Columns, PathLike
from kerastrans.utils.validation import list_names, quote, suggest

__all__ = ["read_csv", "read_numbers", "read_static", "read_table", "reading_of"]

READ_AS = "read_as"  # key of a frame's attrs
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True)
class Reading:
    """Inferred or given properties of a file.

    Attributes:
        sep: Separator of the columns; None for Parquet and Excel.
        decimal: Decimal sign; None if no cell has one.
        encoding: Encoding of the text.
        date_column: Name of the date column.
        date_format: Format of the dates, see `kerastrans.data.time.dates.parse_dates`.
        timezone: Time zone of the time stamps, or None.
        freq: Frequency of the time stamps; None if it is not known.
    """

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    date_column: str | None = None
    date_format: str | None = None
    timezone: str | None = None
    freq: str | None = None

    def __str__(self):
        """Return the line that the command line shows."""
        parts = [
            self.sep and f"{_SEPARATORS.get(self.sep, repr(self.sep))} between columns",
            self.decimal and f"decimal {'comma' if self.decimal == ',' else 'point'}",
            self.date_column and f"dates in {self.date_column!r}",
            self.date_format and describe_format(self.date_format),
            self.freq and f"frequency {self.freq}",
            self.timezone,
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
    date_column: str | None = None,
    date_format: str | None = None,
    dayfirst: bool | None = None,
    timezone: str | None = None,
    columns: Columns | None = None,
    covariates: Columns = (),
    freq: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    with_values: bool = True,
    like: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    r"""Read a CSV, Parquet or Excel file into a long or wide frame, as `Forecaster` takes it.

    A file with a column "unique_id" is long: it has the columns "unique_id", "ds" and "y", in any
    case, and one column per covariate. Any other file is wide: it has a date column and one column
    per channel. Empty cells are missing values. Steps may be missing, and rows may be in any order.
    A first column without a name whose whole numbers rise, as pandas writes its index, is left out.

    What is not given is inferred from all rows. A file that can be read in two ways is refused.
    The attrs of the frame have the key "read_as", a dict of what was inferred, which
    `Forecaster.fit` stores.

    Args:
        path: Path of the file, which may be compressed, or an open file.
        date_column: Name of the date column. By default it is "ds" in a long file, and in a wide
            file the column called "date", "ds", "datetime", "timestamp" or "time", in any case, or
            otherwise the only column with dates.
        date_format: Format of the dates, as for `datetime.strptime`; "s", "ms", "us" or "ns" for
            numbers that count these units since 1970; "excel" for days since the end of 1899.
        dayfirst: bool, whether 03/04/2024 is the third of April.
        timezone: str, time zone of the time stamps, such as "Europe/Berlin". Time stamps with an
            offset from UTC are converted to it.
        columns: List of the channels to keep, or of the covariates of a long file; None for all.
        covariates: List of additional columns to keep, which may be text.
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
        is set if no step is missing.

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
    options = Options(sep, decimal, encoding, sheet, date_column)
    table = Table.open(path, options, like, covariates)
    faults, is_long = table.faults, table.is_long
    keys = [ID, table.date_column] if is_long else [table.date_column]
    required = [TARGET] if is_long and with_values else []
    kept = _select_columns(table.cells, keys, columns, [*required, *covariates], faults)
    texts = [c for c in kept if c != TARGET] if is_long else covariates
    cells = table.cells[table.date_column]
    frame, decimal = table.values(kept, texts)
    ids, codes = table.ids() if is_long else (None, 0)
    formats = date_format, dayfirst, like.date_format
    date_format, times = read_dates(cells, *formats, zone, faults)
    times = to_timezone(times, codes, zone, faults)
    check_stamps(times, ids, codes, faults)
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
    found = table.date_column, date_format, zone, freq
    frame.attrs[READ_AS] = Reading(table.sep, decimal, table.encoding, *found).to_dict()
    return frame


read_csv = read_table


def read_static(path, *, sep=None, decimal=None, encoding=None, sheet=None, like=None):
    r"""Read a table of static covariates, with the column "unique_id" and one row per series.

    Args:
        path: Path of the file, or an open file.
        sep: See `read_table`; so are the other arguments.
        decimal: Decimal sign.
        encoding: Encoding of the text.
        sheet: Name of the sheet.
        like: Dict of how a related file was read.

    Returns:
        DataFrame with ids as text, and numbers or text in the other columns.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file has faults, no column "unique_id", or two rows of one series.

    Example:
        >>> import io
        >>> read_static(io.StringIO("unique_id,size\n001,5\n"))["unique_id"].tolist()
        ['001']
    """
    like = Reading() if like is None else Reading(**like)
    table = Table.open(path, Options(sep, decimal, encoding, sheet), like)
    if not table.is_long:
        names = list_names(table.cells.columns)
        table.faults.stop(f"has no column {ID!r}; its columns are {names}.")
    names = _value_columns(table.cells, [ID])
    frame, _ = table.values(names, names)
    ids, _ = table.ids()
    table.faults.add_lines(
        ids.index[ids.duplicated()], lambda line: f"second row of {ids[line]!r}."
    )
    table.faults.check()
    frame.insert(0, ID, ids)
    return frame.reset_index(drop=True)


def read_numbers(path, *, sep=None, decimal=None, encoding=None, sheet=None):
    r"""Read a table of numbers without dates, one row per step.

    Args:
        path: Path of the file, or an open file.
        sep: See `read_table`; so are the other arguments.
        decimal: Decimal sign.
        encoding: Encoding of the text.
        sheet: Name of the sheet.

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
    table = Table.open(path, Options(sep, decimal, encoding, sheet), Reading())
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
            faults.add(f"has no column {name!r}: {suggest(name, names)}")
    if not names or (given is not None and not len(given)):
        faults.add("must have rows and columns, has no column of values.")
    if "" in known.intersection(chosen):
        first = quote(str(cells[""].iloc[0]))
        faults.add(
            f"has a column without a name, which begins with {first}: give it a name, or leave it "
            "out by columns=."
        )
    return [c for c in chosen if c in known]


def _value_columns(cells, keys):
    """Return the names of the columns other than `keys`, without the index that pandas writes."""
    names = [c for c in cells.columns.tolist() if c not in keys]
    if names and names[0] in ("", "Unnamed: 0") and names[0] == cells.columns[0]:
        numbers = pd.to_numeric(cells[names[0]], errors="coerce")
        if numbers.is_monotonic_increasing and numbers.is_unique and (numbers % 1 == 0).all():
            return names[1:]
    return names
