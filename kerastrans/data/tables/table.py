"""Cells of a file, and what was inferred to read them as numbers and text."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME, is_real
from kerastrans.data.tables.cells import (
    EXCEL,
    TextColumns,
    read_cells,
    read_typed,
    suffix_of,
    unique_texts,
)
from kerastrans.data.tables.numbers import OTHER, certain_decimal, infer_decimal, to_numbers
from kerastrans.data.tables.text import layout_of, read_bytes, to_utf8
from kerastrans.data.tables.times import find_date_column
from kerastrans.utils.validation import quote

MAX_FAULTS = 10  # number of faults that an error shows


class Faults:
    """The faults of one file, collected so that one error can name them all.

    Args:
        name: Name of the file in the error.
        unit: "line" of a text, or "row" of another file.
    """

    def __init__(self, name, unit="line"):
        self.name = name
        self.unit = unit
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
        lines = [
            f"{self.unit} {line}: {text}" if line else text for line, text in sorted(self.messages)
        ]
        if self.count == 1:
            raise ValueError(f"{self.name}: {lines[0]}")
        if self.count:
            more = self.count - len(lines)
            lines += [f"and {more} more"] if more else []
            raise ValueError("\n  ".join([f"{self.name} has {self.count} faults:", *lines]))

    def stop(self, message):
        """Add a fault after which nothing else can be checked, and raise ValueError."""
        self.add(message)
        self.check()


LONG = (ID, TIME, TARGET)
MAX_EXAMPLES = 10_000  # number of first cells that the decimal sign is inferred from
MIN_WORDS = 0.05  # share of words among whole numbers that makes a covariate text
_NO_SIGN = "\x1f"  # a decimal sign that no number has
_NO_SEPARATORS = "\"'\r\n.-+"
_NAMED_SEPARATORS = {"\\t": "\t", "tab": "\t"}


@dataclass(frozen=True)
class Options:
    """Options of `read_table` that apply to every table; None to infer them."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    date_column: str | None = None

    def __post_init__(self):
        sep = _NAMED_SEPARATORS.get(self.sep, self.sep)
        object.__setattr__(self, "sep", sep)
        if sep is not None and (
            len(sep) != 1 or sep.isalnum() or sep in _NO_SEPARATORS or ord(sep) > 127
        ):
            raise ValueError(f"sep must be a character such as ',', ';' or 'tab', got {sep!r}.")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {self.decimal!r}.")


@dataclass(frozen=True)
class Table:
    """Cells of a file, and what was inferred to read them.

    Attributes:
        faults: `Faults`.
        cells: DataFrame of numbers and text, indexed by the lines of the file.
        is_long: bool, whether it has a column of ids.
        expected: `Reading` of a related file.
        date_column: Name of the date column; None for a table without dates.
        sep: Separator of the columns; None for Parquet and Excel.
        encoding: Encoding of the text.
        decimal: Decimal sign; None if it must be inferred from cells of text.
        examples: Cells of the first rows.
    """

    faults: Faults
    cells: pd.DataFrame
    is_long: bool
    expected: object
    date_column: str | None = None
    sep: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    examples: list = field(default_factory=list)

    @classmethod
    def open(cls, path, options, like, covariates=None):
        """Read the cells of a file.

        Args:
            path: Path, or an open file.
            options: `Options`.
            like: `Reading` of a related file.
            covariates: Names of the columns that may be text; None for a table without dates.
        """
        suffix = suffix_of(path)
        if not hasattr(path, "read") and not (Path(path).is_file() or Path(path).is_fifo()):
            if Path(path).is_dir():
                raise IsADirectoryError(f"{path} is a folder, expected a file.")
            raise FileNotFoundError(f"no such file: {path}.")
        name = getattr(path, "name", "the CSV") if hasattr(path, "read") else path
        if suffix in (*EXCEL, ".parquet"):
            faults = Faults(name, "row")
            cells = read_typed(path, suffix, options.sheet, faults)
            return cls._typed(cells, faults, options, like, covariates)
        return cls._text(path, Faults(name), options, like, covariates)

    @classmethod
    def _typed(cls, cells, faults, options, like, covariates):
        """Return the table of a Parquet or Excel file."""
        cells.columns, is_long = _canonical(list(cells.columns), covariates is not None)
        dates = None
        if covariates is not None:
            examples = lambda name: cells[name].head(1000)  # noqa: E731
            given = options.date_column, like.date_column
            dates = find_date_column(list(cells.columns), examples, *given, is_long, faults)
        return cls(faults, cells, is_long, like, dates, decimal=options.decimal)

    @classmethod
    def _text(cls, path, faults, options, like, covariates):
        """Return the table of a text."""
        data, encoding = to_utf8(read_bytes(path, faults), options.encoding, faults)
        layout = layout_of(data, encoding, options.sep, like.sep, faults)
        stripped = [x.strip() for x in layout.header]
        names, is_long = _canonical(stripped, covariates is not None)
        dates = None
        if covariates is not None:
            examples = lambda name: _examples(names.index(name), layout.rows, name)  # noqa: E731
            given = options.date_column, like.date_column
            dates = find_date_column(names, examples, *given, is_long, faults)
        decimal, parsed = _decimals(options.decimal, layout, names, dates)
        written = dict(zip(names, layout.header, strict=True))
        keys = [*([ID] if is_long else []), *([dates] if dates is not None else [])]
        digits = [x for x in keys if _is_number(_examples(names.index(x), layout.rows))]
        if is_long:
            others = [name for name in names if name != TARGET]
        else:
            others = [name for name in covariates or () if name in written]
        texts = TextColumns({written[x] for x in digits}, {written[x] for x in others})
        cells = read_cells(data, layout, texts, parsed, faults, in_parts=is_long)
        if names != stripped:
            renamed = dict(zip(stripped, names, strict=True))
            cells.columns = [renamed.get(x, x) for x in cells.columns]
        rows = [x for row in layout.rows for x in row]
        return cls(faults, cells, is_long, like, dates, layout.sep, encoding, decimal, rows)

    def ids(self):
        """Return the ids as text without blanks around them, and their codes `(rows,)`."""
        codes, unique = unique_texts(self.cells[ID])
        if (unique == "").any():
            codes = np.where((unique == "").to_numpy()[codes], -1, codes)
        lines = self.cells.index
        self.faults.add_lines(lines[codes < 0], lambda _: f"column {ID!r} is empty.")
        if unique.duplicated().any():  # "a" and "a "
            merged, unique = pd.factorize(unique)
            codes = np.where(codes < 0, -1, merged[codes])
        texts = pd.array(unique, dtype="str").take(codes, allow_fill=True)
        return pd.Series(texts, lines, name=ID), codes

    def values(self, names, texts):
        """Return a frame of the numbers of some columns, and the decimal sign of text in them.

        Args:
            names: Names of the columns.
            texts: Names of those that may be text.
        """
        places = self.cells.columns.get_indexer(names)
        kinds = self.cells.dtypes.to_numpy()[places]
        is_text = {kind: not is_real(kind) for kind in set(kinds)}  # one look per kind
        words = [name for name, kind in zip(names, kinds, strict=True) if is_text[kind]]
        if words or self.is_long or len(names) < 2:
            frame = self.cells[names]
        else:
            kind = kinds[0] if len(is_text) == 1 else "float64"
            frame = self._join(names, places, kind)
        if words:
            columns = [frame[name].astype("str").where(frame[name].notna()) for name in words]
            decimal = self.decimal or self._infer_decimal(columns)
            frame = frame.assign(
                **{x.name: self._numbers(x, decimal or ".", x.name in texts) for x in columns}
            )
        self._check_finite(frame)
        return frame, decimal if words else self.decimal

    def _join(self, names, places, kind):
        """Return columns of numbers as a frame of one array, which makes all later steps fast."""
        if len(names) == self.cells.shape[1] - 1 and self.date_column is not None:
            # pandas leaves a column out slowly, and replaces it fast.
            self.cells[self.date_column] = self.cells[names[0]]
            array = self.cells.to_numpy(kind)[:, places]
        else:
            array = self.cells[names].to_numpy(kind)
        return pd.DataFrame(array, self.cells.index, names)

    def _infer_decimal(self, columns):
        """Return the decimal sign of columns of text, or None if no cell has one."""
        decimal = certain_decimal(self.examples[:MAX_EXAMPLES]) if self.sep == "," else None
        return decimal or infer_decimal(columns, self.sep, self.expected.decimal, self.faults)

    def _numbers(self, column, decimal, may_be_text):
        """Return the numbers of a column of text, or the column itself if it is text."""
        name = column.name
        numbers, wrong = to_numbers(column, decimal)
        is_class = (  # such as 1, 2 and A
            may_be_text
            and wrong.mean() >= MIN_WORDS
            and (numbers.dropna() % 1 == 0).all()
            and to_numbers(column[wrong], OTHER[decimal])[1].all()
        )
        if is_class or wrong.sum() > numbers.notna().sum():
            if not may_be_text:
                example = column[wrong].iloc[0]
                remedy = ""
                if not to_numbers(column[wrong].head(1), OTHER[decimal])[1].any():
                    remedy = f", whereas the decimal sign of the file is {decimal!r}"
                elif self.date_column is not None:
                    remedy = ": leave it out by columns=, or name it in covariates="
                    if re.fullmatch(r"\d?\d:\d\d(:\d\d)?", example.strip()):
                        remedy += (
                            "; if it is the time of day, write it after the date, as in "
                            "'2024-01-31 12:00'"
                        )
                self.faults.add(
                    f"column {quote(name)} must be numeric, got text, such as {quote(example)}"
                    f"{remedy}."
                )
            return column
        self.faults.add_lines(
            column.index[wrong],
            lambda line: (
                f"column {quote(name)} must be numeric, got {quote(column[line])} (decimal sign "
                f"{decimal!r})."
            ),
        )
        return numbers

    def _check_finite(self, frame):
        real = frame.select_dtypes(["number", "bool"])
        if not real.size or not np.isinf(real.to_numpy("float64", na_value=np.nan)).any():
            return
        for name in real:
            infinite = np.isinf(real[name].to_numpy("float64", na_value=np.nan))
            self.faults.add_lines(
                real.index[infinite], lambda _, name=name: f"column {name!r} has an infinite value."
            )


def _canonical(names, has_dates):
    """Return the names of columns, with those of a long table in lower case, and if it is long."""
    lower = {name.lower(): name for name in reversed(names)}
    is_long = ID in lower
    known = LONG if is_long and has_dates else (ID,) if is_long else ()
    renamed = {lower[x]: x for x in known if x in lower and x not in names}
    return [renamed.get(name, name) for name in names] if renamed else names, is_long


def _examples(place, rows, name=None):
    """Return the first cells of a column of a text as a Series."""
    cells = [row[place] if place < len(row) else "" for row in rows[:1000]]
    return pd.Series([cell or None for cell in cells], dtype="str", name=name)


def _is_number(cells):
    """Return whether the cells of a column can be numbers or booleans."""
    return pd.to_numeric(cells, errors="coerce").notna().eq(cells.notna()).all() or set(
        cells.dropna().str.lower()
    ) <= {"true", "false"}


def _decimals(given, layout, names, dates):
    """Return the decimal sign of a text, None if it must be inferred, and that of the parser.

    The parser takes 1.234 as a decimal number. So it reads decimal signs only if one of the first
    rows can only have this sign. Other cells stay text, and are read strictly. It is None if all
    cells stay text.
    """
    decimal = given
    if given is None and (layout.sep != "," or any("," in x for row in layout.rows for x in row)):
        place = names.index(dates) if dates in names else None
        cells = [x for row in layout.rows[:1000] for i, x in enumerate(row) if i != place]
        decimal = certain_decimal(cells[:MAX_EXAMPLES])
    parsed = decimal or ("." if layout.sep == "," else _NO_SIGN)
    return decimal, None if parsed == layout.sep else parsed
