"""Cells of a file as a table whose index is the line of each row."""

import csv
import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kerastrans.data.parquet import read_partition
from kerastrans.data.tables.numbers import MISSING
from kerastrans.utils.validation import import_extra, list_names

ROW_NAMES = "row.names"  # name of a first column that the header leaves out, as R writes it
EXCEL = (".xlsx", ".xlsm", ".xls", ".ods")
_BLANK_LINES = re.compile(rb"(?<=\n)[ \t]+(?=\r?(?:\n|\Z))")


@dataclass(frozen=True)
class TextColumns:
    """Names of columns of text, as written in the header.

    Attributes:
        digits: Set of those that look like numbers but are not, such as the id "007".
        others: Set of those whose words for missing values are text, such as the id "NA".
    """

    digits: set
    others: set


def read_cells(data, layout, texts, decimal, faults, in_parts=False):
    """Return the cells of a text in UTF-8 without blank rows; rows that do not fit are faults.

    Args:
        data: bytes.
        layout: `Layout`.
        texts: `TextColumns`.
        decimal: Decimal sign of the columns that become numbers; the others stay text. None if all
            stay text.
        faults: `Faults`.
        in_parts: bool, whether pandas converts parts of the rows one by one, which is faster for
            many rows of few columns.
    """
    if b"\n " in data or b"\n\t" in data:
        data = _BLANK_LINES.sub(b"", data)
    names = layout.header
    types, missing = str, [""]
    if decimal is not None:
        # A dict of types makes pandas slow, and text stays text without it.
        types = dict.fromkeys(texts.digits, str) or None
        missing = list(MISSING)
        if texts.others:
            missing = {x: [""] if x in texts.others else missing for x in dict.fromkeys(names)}
    options = {"sep": layout.sep, "decimal": decimal or ".", "skiprows": layout.skipped}
    options |= {"na_values": missing, "keep_default_na": False, "dtype": types}
    options |= {"index_col": False, "skip_blank_lines": False, "low_memory": in_parts}
    if names[0] == ROW_NAMES:
        options |= {"names": names, "header": 0}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            warnings.simplefilter("error", pd.errors.DtypeWarning)
            table = pd.read_csv(io.BytesIO(data), **options)
        table.index += 2 + layout.skipped  # line numbers
    except pd.errors.DtypeWarning:  # a column with numbers in one part and text in another
        return read_cells(data, layout, texts, decimal, faults)
    except (pd.errors.ParserError, pd.errors.ParserWarning):
        table = _read_fitting_rows(data, layout, faults)
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{faults.name} is not a table: {error}") from None
    table.columns = _names(names, len(table.columns))
    return clean(table, faults)


def _names(header, count):
    """Return the names of columns without blanks around them; those without a name are ""."""
    return [name.strip() for name in header] + [""] * (count - len(header))


def _read_fitting_rows(data, layout, faults):
    """Read the rows with at most as many fields as the header; the others are faults."""
    lines = list(io.StringIO(data.decode(), newline=""))
    rows = csv.reader(lines, delimiter=layout.sep)
    width = len(layout.header)
    fitting, lengths, first = {}, {}, 1
    try:
        for row in rows:
            if first > layout.skipped + 1:  # after the header
                if any(row[width:]):
                    lengths[first] = len(row)
                else:
                    fitting[first] = row[:width] + [None] * (width - len(row))
            last, first = first, rows.line_num + 1  # a quoted cell may have several lines
    except csv.Error as error:  # such as a cell that is too long
        message = f"{error}."
        faults.add_lines([first], lambda _: message)
        faults.check()
    if _is_open(lines[last - 1 :], layout.sep):
        faults.add_lines([last], lambda _: "a quote in this line is not closed.")
        faults.check()
    hint = " A decimal comma needs another separator, or quotes." if layout.sep == "," else ""
    faults.add_lines(
        list(lengths), lambda line: f"{lengths[line]} fields, but the header has {width}.{hint}"
    )
    return pd.DataFrame.from_dict(fitting, "index", columns=range(width)).replace("", None)


def _is_open(lines, sep):
    """Return whether a quote in the last row is not closed, so that the rest is in its cell."""
    try:
        list(csv.reader(lines, delimiter=sep, strict=True))
    except csv.Error as error:
        return "end of data" in str(error)
    return False


def clean(table, faults):
    """Return a table without empty rows and without columns that have neither name nor value.

    Raises:
        ValueError: If it has no row, or several columns have the same name.
    """
    if len(table) and table.iloc[:, 0].isna().any():
        table = table.dropna(how="all")
    if table.empty:
        if not faults.count:
            faults.add("must have rows and columns, has no row.")
        faults.check()
    names = pd.Index(table.columns)
    unnamed = names == ""
    if unnamed.any():
        kept = [not x or table.iloc[:, i].notna().any() for i, x in enumerate(unnamed)]
        table = table.loc[:, kept]
        names = table.columns
    twice = names[names.duplicated()]
    if len(twice):
        faults.stop(
            f"has several columns named {twice[0]!r}: give each its own name."
            if twice[0]
            else "has several columns without a name."
        )
    return table


def read_typed(file, suffix, options, faults):
    """Return the cells of a Parquet or Excel file, whose columns may have types.

    Args:
        file: Path, or open binary file.
        suffix: Suffix of the file's name.
        options: `Options`, with the sheet of an Excel file, or None for the only one.
        faults: `Faults`.
    """
    if suffix in EXCEL:
        cells = _read_sheet(file, options.sheet, faults)
        return clean(_with_header(cells, options.skip_rows), faults)
    table = read_partition(file)
    if not isinstance(table.index, pd.RangeIndex):  # a frame that pandas wrote
        table = table.reset_index()
    table.index = pd.RangeIndex(len(table)) + 1
    table.columns = [str(x).strip() for x in table]
    return clean(table, faults)


def _with_header(cells, skipped):
    """Return cells with the first row that is not empty as names of the columns."""
    cells.index += 1  # numbers of the rows
    cells = cells.iloc[skipped:]
    first = int(cells.notna().any(axis=1).to_numpy().argmax()) if len(cells) else 0
    header = cells.iloc[first].fillna("") if len(cells) else cells.columns
    return (
        cells.iloc[first + 1 :].set_axis([str(x).strip() for x in header], axis=1).infer_objects()
    )


def _read_sheet(file, sheet, faults):
    import_extra("openpyxl", "Excel", "excel")
    try:
        with pd.ExcelFile(file) as book:
            sheets = book.sheet_names
            if sheet is None and len(sheets) > 1:
                faults.stop(f"has the sheets {list_names(sheets)}: give sheet={sheets[0]!r}.")
            if sheet is not None and sheet not in sheets:
                faults.stop(f"has no sheet {sheet!r}, only {list_names(sheets)}.")
            missing = {"na_values": [""], "keep_default_na": False}
            # By default pandas reads text as numbers: "007", and "1.234", which may be 1234.
            # It also renames the second of two columns of one name.
            return pd.read_excel(book, sheet or sheets[0], header=None, dtype=object, **missing)
    except ValueError as error:
        if str(error).startswith(str(faults.name)):
            raise
        reason = str(error).splitlines()[0]
        if "format cannot be determined" in reason:
            reason = "it is not an Excel file."
        raise ValueError(f"cannot read {faults.name}: {reason}") from None
    except Exception as error:  # of the reader of this format, which has no common class
        raise ValueError(f"cannot read {faults.name}: {str(error).splitlines()[0]}") from None


def suffix_of(file):
    """Return the suffix of the name of a path or open file, in lower case."""
    name = getattr(file, "name", "") if hasattr(file, "read") else file
    return Path(str(name)).suffix.lower()


def unique_texts(column):
    """Return codes `(rows,)`, -1 for missing cells, and the different cells without blanks."""
    if column.dtype != "str":
        column = column.astype("str").where(column.notna())
    codes, unique = pd.factorize(column)
    return codes, pd.Series(unique, dtype="str").str.strip()
