"""The cells of a CSV file: reading the table, its dates and numbers, and collecting faults."""

import csv
import gzip
import io
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, is_real
from kerastrans.data.time.dates import parse_dates

MAX_FAULTS = 10  # number of faults that an error shows


class Faults:
    """The faults of one file, collected so that one error can name them all.

    Args:
        name: Name of the file in the error.
    """

    def __init__(self, name):
        self.name = name
        self.messages = []
        self.count = 0

    def add(self, message):
        """Add one fault."""
        self.add_lines([None], lambda _: message)

    def add_lines(self, lines, describe):
        """Add one fault for each of these lines of the file; only the first ones are described."""
        for line in lines[: max(0, MAX_FAULTS - len(self.messages))]:
            self.messages.append((line or 0, describe(line)))
        self.count += len(lines)

    def check(self):
        """Raise ValueError if there are any faults."""
        lines = [f"line {line}: {text}" if line else text for line, text in sorted(self.messages)]
        if self.count == 1:
            raise ValueError(f"{self.name}: {lines[0]}")
        if self.count:
            more = self.count - len(lines)
            lines += [f"and {more} more"] if more else []
            raise ValueError("\n  ".join([f"{self.name} has {self.count} faults:", *lines]))


def read_table(file, sep, decimal, faults):
    """Read the cells of a file, indexed by line number, without blank rows."""
    options = {"sep": sep, "decimal": decimal, "dtype": {ID: str}, "low_memory": False}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(file, index_col=False, skip_blank_lines=False, **options)
        table.index += 2  # line numbers: the header is line 1
    except (pd.errors.ParserError, pd.errors.ParserWarning):
        table = _read_fitting_rows(file, sep, faults)
    except UnicodeDecodeError:
        raise ValueError(f"{faults.name} is not a table: it is not text in UTF-8.") from None
    except (pd.errors.EmptyDataError, OSError, EOFError) as error:
        raise ValueError(f"{faults.name} is not a table: {str(error).splitlines()[0]}") from None
    _check_separator(table.columns, sep, faults)
    # Spreadsheets write empty rows, and columns that have neither a name nor a value.
    table = table.dropna(how="all")
    unnamed = [c for c in table.columns if c.startswith("Unnamed: ") and table[c].isna().all()]
    table = table.drop(columns=unnamed)
    if table.empty:
        if not faults.count:
            faults.add("must have rows and columns, has no row.")
        faults.check()
    return table


def _read_fitting_rows(file, sep, faults):
    """Read the rows with at most as many fields as the header; the others are faults."""
    if isinstance(file, io.StringIO):
        file.seek(0)
        text = file.getvalue()
    else:
        opener = gzip.open if Path(file).suffix == ".gz" else open
        with opener(file, "rt", encoding="utf-8-sig", newline="") as stream:
            text = stream.read()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    header = next(rows)
    _check_separator(header, sep, faults)
    fitting, lengths = {}, {}
    for row in rows:
        if any(row[len(header) :]):
            lengths[rows.line_num] = len(row)
        else:
            fitting[rows.line_num] = row[: len(header)] + [None] * (len(header) - len(row))
    hint = " A decimal comma needs another sep, and decimal=','." if sep == "," else ""
    faults.add_lines(
        list(lengths),
        lambda line: f"{lengths[line]} fields, but the header has {len(header)}.{hint}",
    )
    return pd.DataFrame.from_dict(fitting, "index", columns=header).replace("", None)


def _check_separator(header, sep, faults):
    """Raise ValueError if the header's only column holds another separator."""
    others = [other for other in (";", "\t", "|", ",") if other in str(header[0])]
    if len(header) == 1 and others:
        faults.add(f"the header is one column, {header[0]!r}: give sep={others[0]!r}.")
        faults.check()


def read_dates(column, date_format, dayfirst, faults):
    """Parse the time stamps of a column; None for a column of numbers without `date_format`."""
    name, empty = column.name, column.isna()
    faults.add_lines(column.index[empty], lambda _: f"column {name!r} has no date.")
    if is_real(column):
        if date_format is None:
            faults.add(
                f"column {name!r} must be dates, got numbers, such as {column.dropna().iloc[0]}: "
                "give date_format, such as '%Y' for 2024, '%Y%m%d' for 20240131, or 's' for "
                "seconds since 1970."
            )
            return None
        column = column.astype("Int64")
    times = parse_dates(column, date_format, dayfirst)
    wrong = times.isna() & ~empty
    hint = ""
    if date_format is None and not dayfirst and wrong.any():
        swapped = parse_dates(column, None, True)
        hint = ": give dayfirst=True" if (swapped.notna() | empty).all() else ": give date_format"
    if date_format is not None:
        hint = f" of the format {date_format!r}"
    faults.add_lines(
        column.index[wrong],
        lambda line: f"column {name!r} is not all dates, got {str(column[line])!r}{hint}.",
    )
    if date_format is None and not wrong.any():
        _check_order(column, times, dayfirst, faults)
    return times


def _check_order(column, times, dayfirst, faults):
    """Add a fault if the dates are much less dense than with day and month swapped."""
    swapped = parse_dates(column, None, not dayfirst)
    if swapped.equals(times) or not swapped.isna().equals(times.isna()):
        return
    if 2 * _density(times) < _density(swapped):
        other = "no dayfirst" if dayfirst else "dayfirst=True"
        first, last = times.min(), times.max()
        faults.add(
            f"column {column.name!r} would go from {first} to {last} with most steps missing: give "
            f"{other}, or date_format."
        )


def _density(times):
    """Return the share of the steps between the first and the last time stamp that exist.

    The step is the most common one, in seconds or, for stamps on one day of the month, in months.
    """
    times = pd.DatetimeIndex(times.dropna().unique()).sort_values().tz_localize(None)
    if len(times) < 3:
        return 1.0
    places = [times.as_unit("s").asi8]
    months = 12 * times.year.to_numpy() + times.month.to_numpy()
    if times.day.nunique() == 1 and months[0] < months[-1]:
        places.append(months)
    # Number of existing steps, in units of the most common step, over the whole range.
    steps = [np.diff(place) for place in places]
    common = [np.unique(x, return_counts=True) for x in steps]
    return max(
        values[counts.argmax()] * len(x) / x.sum()
        for x, (values, counts) in zip(steps, common, strict=True)
    )


def read_values(column, decimal, may_be_text, faults):
    """Return the numbers of a column, or the column itself if it is text.

    Text is a fault unless `may_be_text`.
    """
    name = column.name
    if not is_real(column):
        cells = column.dropna().astype(str)
        numbers = pd.to_numeric(cells.str.replace(decimal, ".", regex=False), errors="coerce")
        wrong = cells[numbers.isna()]
        other = {".": ",", ",": "."}.get(decimal, ".")
        is_swapped = wrong.str.fullmatch(rf"[+-]?\d*\{other}\d+").sum() > len(wrong) / 2
        hint = f": give decimal={other!r}" if is_swapped else ""
        if len(wrong) > len(cells) / 2 and not is_swapped:
            if not may_be_text:
                faults.add(
                    f"column {name!r} must be numeric, got text, such as {wrong.iloc[0]!r}: leave "
                    "it out by columns=, or name it in covariates=."
                )
            return column
        faults.add_lines(
            wrong.index,
            lambda line: f"column {name!r} must be numeric, got {wrong[line]!r}{hint}.",
        )
        column = numbers.reindex(column.index)
    faults.add_lines(
        column.index[np.isinf(column.to_numpy("float64", na_value=np.nan))],
        lambda _: f"column {name!r} has an infinite value.",
    )
    return column
