"""Cells of a file, and what was inferred to read them as numbers and text."""

import io
import re
from dataclasses import dataclass, field, replace
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
from kerastrans.data.tables.numbers import (
    MISSING,
    OTHER,
    certain_decimal,
    find_codes,
    infer_decimal,
    to_numbers,
)
from kerastrans.data.tables.text import layout_of, read_bytes, to_utf8
from kerastrans.data.tables.times import SUMMARIES, find_date_column, join_dates, num_before_dates
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import list_names, quote

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


MAX_EXAMPLES = 10_000  # number of first cells that the decimal sign is inferred from
# A covariate with text is categorical if it has at most so many different values and numbers.
MAX_CATEGORIES, MAX_NUMBERS = 50, 20
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
    skip_rows: int = 0
    missing: object = None
    exclude: object = None
    date_column: object = None
    id_column: object = None
    target: str | None = None

    def __post_init__(self):
        sep = _NAMED_SEPARATORS.get(self.sep, self.sep)
        object.__setattr__(self, "sep", sep)
        if sep is not None and (
            len(sep) != 1 or sep.isalnum() or sep in _NO_SEPARATORS or ord(sep) > 127
        ):
            raise ValueError(f"sep must be a character such as ',', ';' or 'tab', got {sep!r}.")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {self.decimal!r}.")
        if type(self.skip_rows) is not int or self.skip_rows < 0:
            raise ValueError(f"skip_rows must be a number of lines, got {self.skip_rows!r}.")


def as_names(given, known=()):
    """Return a name, names separated by commas, several names or None as a tuple of str."""
    if given is None:
        return ()
    if isinstance(given, str):
        given = [given] if given in known else given.split(",")
    return tuple(str(name).strip() for name in given)


@dataclass(frozen=True)
class Roles:
    """The columns of a file that are neither channels nor covariates.

    Attributes:
        ids: Names of the columns that identify the series, () for a wide table.
        dates: Names of the columns of the date.
        target: Name of the column of values; None for all columns of a wide table.
        excluded: Names of the columns that are left out.
    """

    ids: tuple
    dates: tuple
    target: str | None
    excluded: tuple

    @classmethod
    def of(cls, names, options, like, examples, faults, has_dates):
        """Return the roles that are given, were those of a related file, or can be inferred.

        Args:
            names: Names of the columns of the file.
            options: `Options`.
            like: `Reading` of a related file.
            examples: Function from a name to a Series of the first cells of the column.
            faults: `Faults`.
            has_dates: bool, whether there must be dates.
        """

        def choose(option, kind="column"):
            """Return the columns that are given for an option, or were those of `like`."""
            given = as_names(getattr(options, option), names)
            if not has_dates:  # the options are those of the series
                given = tuple(name for name in given if name in names)
            for name in given:
                if name not in names:
                    listed = list_names(names)
                    faults.stop(f"has no {kind} {name!r}; its columns are {listed}.")
            expected = as_names(getattr(like, option, None), names)
            return given or (expected if {*expected} <= {*names} else ())

        lower = {name.lower(): name for name in reversed(names)}
        ids = choose("id_column") or ((lower[ID],) if ID in lower else ())
        known = tuple(name for name in as_names(like.exclude, names) if name in names)
        excluded, target = choose("exclude") or known, (*choose("target"), None)[0]
        if target is None and ids and has_dates:
            target = lower.get(TARGET)
        dates = choose("date_column", "date column") if has_dates else ()
        if has_dates and not dates:
            kept = [name for name in names if name not in (*ids, target, *excluded)]
            dates = (find_date_column(kept, examples, bool(ids), faults),)
        twice = [x for x in (*ids, *dates, *excluded, target) if x is not None]
        twice = [x for x in dict.fromkeys(twice) if twice.count(x) > 1]
        if twice:
            faults.stop(f"column {twice[0]!r} cannot be two of ids, date, target and exclude.")
        return cls(ids, dates, target, excluded)


@dataclass(frozen=True)
class Table:
    """Cells of a file, and what was inferred to read them.

    Attributes:
        faults: `Faults`.
        cells: DataFrame of numbers and text, indexed by the lines of the file. The ids of a long
            table are in the column "unique_id", its values in "y".
        roles: `Roles` of the columns of the file.
        expected: `Reading` of a related file.
        missing: Words and numbers that mean a missing value, besides `MISSING`.
        date_column: Name of the date column in `cells`; None for a table without dates.
        sep: Separator of the columns; None for Parquet and Excel.
        encoding: Encoding of the text.
        decimal: Decimal sign; None if it must be inferred from cells of text.
        examples: Cells of the first rows.
    """

    faults: Faults
    cells: pd.DataFrame
    roles: Roles
    expected: object
    missing: tuple
    date_column: str | None = None
    sep: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    examples: list = field(default_factory=list)

    @property
    def is_long(self):
        """Whether the table has a column of ids."""
        return bool(self.roles.ids)

    @classmethod
    def open(cls, path, options, like, has_dates=True):
        """Read the cells of a file.

        Args:
            path: Path, or an open file.
            options: `Options`.
            like: `Reading` of a related file.
            has_dates: bool, whether the table must have dates.
        """
        suffix = suffix_of(path)
        if not hasattr(path, "read") and not (Path(path).is_file() or Path(path).is_fifo()):
            if Path(path).is_dir():
                raise IsADirectoryError(f"{path} is a folder, expected a file.")
            raise FileNotFoundError(f"no such file: {path}.")
        name = getattr(path, "name", "the CSV") if hasattr(path, "read") else path
        missing = as_names(options.missing) or tuple(like.missing or ())
        if suffix in (*EXCEL, ".parquet"):
            faults = Faults(name, "row")
            cells = read_typed(path, suffix, options, faults)
            if has_dates and (before := num_before_dates(list(cells))):
                cells, options = _as_long(cells, before, options, like, faults)
            roles = Roles.of(
                list(cells), options, like, lambda x: cells[x].head(1000), faults, has_dates
            )
            found = {"decimal": options.decimal}
        else:
            faults = Faults(name)
            cells, roles, found = _read_text(path, faults, options, like, has_dates)
        cells = cells.drop(columns=list(roles.excluded)) if roles.excluded else cells
        cells = _without_summary(cells, roles, faults)
        cells, dates = _with_keys(cells, roles, faults)
        return cls(faults, cells, roles, like, missing, dates, **found)

    def ids(self):
        """Return the ids as text without blanks around them, and their codes `(rows,)`."""
        codes, unique = unique_texts(self.cells[ID])
        if (unique == "").any():
            codes = np.where((unique == "").to_numpy()[codes], -1, codes)
        lines = self.cells.index
        name = ",".join(self.roles.ids)
        self.faults.add_lines(lines[codes < 0], lambda _: f"column {name!r} is empty.")
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
        frame = self._without_codes(frame)
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
        """Return the numbers of a column of text, or its categories."""
        is_target = self.is_long and column.name == TARGET
        name = quote(self.roles.target if is_target else column.name)
        # Different texts are read once. Code -1, of an empty cell, is the last value.
        codes, texts = unique_texts(column)
        texts = texts.where(~texts.isin([*MISSING, *self.missing]))
        found, is_wrong = to_numbers(texts, decimal)
        numbers = pd.Series(np.append(found, np.nan)[codes], column.index)
        wrong = np.append(is_wrong, False)[codes]
        is_other = ~to_numbers(texts[is_wrong], OTHER[decimal])[1]  # by the other decimal sign
        if may_be_text and wrong.any() and not is_other.any():
            counts = texts.nunique(), found.nunique()
            if counts[0] <= MAX_CATEGORIES and counts[1] <= MAX_NUMBERS:
                return column.where(np.append(texts.notna(), False)[codes])
            if wrong.mean() > 0.5:
                self.faults.add(
                    f"column {name} has {counts[0]} different texts, such as "
                    f"{quote(column[wrong].iloc[0])}; at most {MAX_CATEGORIES} are categories: "
                    f"leave it out by exclude={name}."
                )
                return column
        elif wrong.sum() > numbers.notna().sum():
            example = column[wrong].iloc[0]
            remedy = ""
            if is_other[0]:
                remedy = f", whereas the decimal sign of the file is {decimal!r}"
            elif is_target:
                remedy = ": give the column of values as target"
            elif self.date_column is not None:
                remedy = f": leave it out by exclude={name}, or name it in covariates="
                if re.fullmatch(r"\d?\d[:.]\d\d([:.]\d\d)?", example.strip()):
                    both = quote(f"{self.date_column},{column.name}")
                    remedy += f"; if it is the time of day, give date_column={both}"
            self.faults.add(
                f"column {name} must be numeric, got text, such as {quote(example)}{remedy}."
            )
            return column
        self.faults.add_lines(
            column.index[wrong],
            lambda line: (
                f"column {name} must be numeric, got {quote(column[line])} (decimal sign "
                f"{decimal!r})."
            ),
        )
        return numbers

    def _without_codes(self, frame):
        """Return the frame with the codes of missing values as NaN; name codes that are likely."""
        real = frame.select_dtypes("number")
        codes = [float(x) for x in self.missing if x not in MISSING and _is_number(pd.Series([x]))]
        for name in real if codes else ():
            column = real[name].astype("float64")
            is_code = column.isin(codes)
            others = column[~is_code]
            inside = column[is_code & (column > others.min()) & (column < others.max())]
            if len(inside):
                self.faults.add(
                    f"missing={inside.iloc[0]:g} is also a value of column {quote(name)}, which "
                    f"has {others.min():g} to {others.max():g}: leave missing cells empty."
                )
            frame = frame.assign(**{name: others.reindex(column.index)})
        if not codes and self.date_column is not None:
            for name, code, count, others in find_codes(real):
                warn_user(
                    f"{self.faults.name}: {count} cells of column {quote(name)} are {code:g}, far "
                    f"from its others, {others[0]:g} to {others[1]:g}: if that means missing, give "
                    f"missing='{code:g}'."
                )
        return frame

    def _check_finite(self, frame):
        real = frame.select_dtypes(["number", "bool"])
        if not real.size or not np.isinf(real.to_numpy("float64", na_value=np.nan)).any():
            return
        for name in real:
            infinite = np.isinf(real[name].to_numpy("float64", na_value=np.nan))
            self.faults.add_lines(
                real.index[infinite], lambda _, name=name: f"column {name!r} has an infinite value."
            )


def _read_text(path, faults, options, like, has_dates):
    """Return the cells of a text, the `Roles` of its columns, and what was found, by its names."""
    data, encoding = to_utf8(read_bytes(path, faults), options.encoding, faults)
    layout = layout_of(data, encoding, options, like.sep, faults)
    header = layout.header[: len(layout.header) - (not layout.header[-1])]
    if has_dates and (before := num_before_dates(header)):
        rows = {"sep": layout.sep, "skiprows": layout.skipped, "dtype": str}
        rows["usecols"] = range(len(header))  # a comma may end each line
        table = pd.read_csv(io.BytesIO(data), keep_default_na=False, **rows)
        table, options = _as_long(table, before, options, like, faults)
        data = table.to_csv(index=False, sep=layout.sep).encode()
        layout = layout_of(data, "utf-8", options, layout.sep, faults)
    names = [x.strip() for x in layout.header]

    def examples(name):
        return _examples(names.index(name), layout.rows, name)

    roles = Roles.of(names, options, like, examples, faults, has_dates)
    decimal, parsed = _decimals(options.decimal, layout, names, roles.dates)
    written = dict(zip(names, layout.header, strict=True))
    digits = [x for x in (*roles.ids, *roles.dates) if _is_number(examples(x))]
    texts = TextColumns({written[x] for x in digits}, {written[x] for x in roles.ids})
    cells = read_cells(data, layout, texts, parsed, faults, in_parts=bool(roles.ids))
    found = {"sep": layout.sep, "encoding": encoding, "decimal": decimal}
    found["examples"] = [x for row in layout.rows for x in row]
    return cells, roles, found


def _as_long(cells, before, options, like, faults):
    """Return a table of a row per series, whose columns are named by dates, as a long one.

    Its ids are the columns that are given, those of a related file, or as few of the first columns
    as name each row. They become one column, which the options that are also returned name.
    """
    faults.unit = "value"  # of the long table
    before, dates = cells.columns[:before], cells.columns[before:]
    given, expected = (as_names(x.id_column, cells) for x in (options, like))
    for name in set(given).difference(cells):
        faults.stop(f"has no column {name!r}; its columns are {list_names(cells)}.")

    def ids(names):
        return _joined(cells, names, "").str.strip("/")

    tried = ((before[:i], ids(before[:i])) for i in range(1, len(before)))
    fewest = (x for x, found in tried if found.is_unique and found.ne("").all())
    keys = given or (expected if {*expected} <= {*before} else ()) or next(fewest, before)
    warn_user(f"{faults.name}: its columns are dates, its rows series by {list_names(keys)}.")
    name = ",".join(keys)
    columns = {name: np.repeat(ids(keys).to_numpy(), len(dates)), TIME: np.tile(dates, len(cells))}
    columns[TARGET] = cells[list(dates)].to_numpy().ravel()
    excluded = [x for x in as_names(options.exclude, cells) if x not in cells]
    return pd.DataFrame(columns), replace(options, id_column=name, exclude=excluded, skip_rows=0)


def _joined(cells, names, missing=None):
    """Return columns as one of text, with slashes between their cells."""
    parts = [cells[name].astype("str").str.strip() for name in names]
    return parts[0].str.cat(parts[1:], sep="/", na_rep=missing)


def _without_summary(cells, roles, faults):
    """Return cells without a last row of totals, with a warning."""
    last = cells.iloc[-1:][[*roles.ids, *roles.dates]].iloc[0].fillna("").astype(str).str.strip()
    found = [x for x in last if x.lower() in SUMMARIES]
    if not found or not roles.dates:
        return cells
    warn_user(f"{faults.name}: the last row, {quote(found[0])}, is left out.")
    return cells.iloc[:-1]


def _with_keys(cells, roles, faults):
    """Return cells with the ids in "unique_id" and the target in "y", and the date column."""
    dates = ",".join(roles.dates) if roles.dates else None
    if len(roles.dates) > 1:
        joined = join_dates([cells[name] for name in roles.dates], faults).rename(dates)
        cells = pd.concat([joined, cells.drop(columns=list(roles.dates))], axis=1)
    if len(roles.ids) > 1:
        ids = _joined(cells, roles.ids).rename(ID)
        cells = pd.concat([ids, cells.drop(columns=list(roles.ids))], axis=1)
    names = {roles.ids[0]: ID, roles.target: TARGET} if roles.ids else {}
    names = {old: new for old, new in names.items() if old in cells.columns and old != new}
    for old, new in names.items():
        if new in cells.columns:
            faults.stop(
                f"column {old!r} is to be {new!r}, the name of another: give exclude={new!r}."
            )
    return cells.rename(columns=names) if names else cells, dates


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
        places = {names.index(name) for name in dates}
        cells = [x for row in layout.rows[:1000] for i, x in enumerate(row) if i not in places]
        decimal = certain_decimal(cells[:MAX_EXAMPLES])
    parsed = decimal or ("." if layout.sep == "," else _NO_SIGN)
    return decimal, None if parsed == layout.sep else parsed
