"""Texts of tables: their compression, encoding, separator and header."""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from kerastrans.data.tables.cells import ROW_NAMES

SEPARATORS = (",", ";", "\t", "|")
_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_DECOMPRESSION_ERRORS = (
    *(OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
    RuntimeError,  # of zipfile, for an encrypted file, and for a compression that it does not know
)
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# First bytes of files that are not text, and the suffix that their names must have.
_FORMATS = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ": ".xz",
    b"PK\3\4": ".zip or .xlsx",
    b"PAR1": ".parquet",
}
SAMPLE = 2**16  # number of bytes that the layout is inferred from
MIN_LINES = 3
_KNOWN = {"unique_id", "ds", "date", "datetime", "timestamp", "time"}  # names that headers have


@dataclass(frozen=True)
class Layout:
    """Layout of a text.

    Attributes:
        encoding: Encoding of the file.
        sep: Separator of the columns.
        header: Names of the columns, as written.
        rows: First rows, lists of str.
        skipped: Number of lines before the header.
    """

    encoding: str
    sep: str
    header: list
    rows: list
    skipped: int = 0


def read_bytes(file, faults):
    """Return the decompressed bytes of a path or an open file, or its text if it is one of text."""
    if hasattr(file, "read"):
        return file.read()
    suffix = Path(file).suffix.lower()
    if suffix in (".zst", ".tar", ".tgz", ".7z", ".rar"):
        faults.stop(f"{suffix} files are not read: decompress it first.")
    try:
        if suffix == ".zip":
            with zipfile.ZipFile(file) as archive:
                names = [x for x in archive.namelist() if not x.endswith("/")]
                names = [x for x in names if not x.startswith("__MACOSX/")]
                if len(names) != 1:
                    faults.stop(f"expected a .zip of one file, it holds {len(names)}.")
                return archive.read(names[0])
        with _OPENERS.get(suffix, open)(file, "rb") as stream:
            return stream.read()
    except _DECOMPRESSION_ERRORS as error:
        raise ValueError(f"{faults.name} is not a table: {str(error).splitlines()[0]}") from None


def to_utf8(data, encoding, faults):
    """Return bytes as UTF-8 without byte-order mark, and their encoding, which may be given.

    Text has been decoded before, and is UTF-8 whatever is given.
    """
    if isinstance(data, str):
        data, encoding = data.encode(), "utf-8"
    for start, suffix in _FORMATS.items():
        if data.startswith(start):
            faults.stop(f"is not text: the name of such a file must end in {suffix}.")
    encodings = [encoding] if encoding else _encodings_of(data)
    for encoding in encodings:
        is_ascii = encoding == "utf-8" and data.isascii()  # needs no decoding
        try:
            text = (data[:SAMPLE] if is_ascii else data).decode(encoding)
            break
        except (UnicodeError, LookupError) as error:
            fault = str(error)
    else:
        faults.stop(
            f"is not text in {encoding} ({fault}): give encoding, such as encoding='utf-8'."
        )
    if "\0" in text[:SAMPLE]:
        raise ValueError(f"{faults.name} is not a table: it is not text.")
    data = data if encoding == "utf-8" else text.encode()
    return data.removeprefix(codecs.BOM_UTF8), encoding


def _encodings_of(data):
    """Return the encodings that bytes may have, the most probable first."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return [encoding]
    head = data[:SAMPLE]
    for start, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if head[start::2].count(0) > len(head) / 4:
            return [encoding]
    return ["utf-8", "cp1252"]


def layout_of(data, encoding, options, expected, faults):
    """Return the `Layout` of a text in UTF-8.

    Args:
        data: bytes.
        encoding: Encoding of the file.
        options: `Options`, with the separator of the columns, or None to infer it.
        expected: Separator of related files, which decides if several are possible; or None.
        faults: `Faults`.
    """
    sep, lines = options.sep, MIN_LINES + options.skip_rows
    sample = _first_lines(data, lines).decode(errors="ignore")
    begin = sum(map(len, sample.splitlines(keepends=True)[: options.skip_rows]))
    begin += re.match(r"(?:[ \t]*(?:\r\n|\r|\n))*", sample[begin:]).end()  # blank lines
    given = re.compile(r"sep=(.)\r?\n").match(sample, begin)  # the first line that Excel writes
    if given:
        begin, sep = given.end(), sep or given[1]
    skipped = len(sample[:begin].splitlines())
    sample = sample[begin:]
    tables = {x: _rows(sample, x) for x in ([sep] if sep else (*SEPARATORS, " "))}
    if not any(tables.values()):
        reason = "it has no line"
        if sample:
            longest = csv.field_size_limit()
            reason = f"a cell of its first line has more than {longest:,} characters"
        raise ValueError(f"{faults.name} is not a table: {reason}.")
    if sep is None:
        sep = _infer_separator(tables, expected, faults)
    header, *rows = tables[sep]
    first = [row[0] for row in rows if len(row) == len(header) + 1 and row[-1]]
    begin = int(first[0]) if first and first[0].isdecimal() else 1  # of the numbers of rows
    if 1 < len(first) == len(rows) and first == [str(begin + i) for i in range(len(rows))]:
        header = [ROW_NAMES, *header]
    return Layout(encoding, sep, header, rows, skipped)


def _first_lines(data, count):
    """Return the first lines of bytes, in all at least `SAMPLE` bytes and this number of lines."""
    end = 0
    for _ in range(count):
        end = data.find(b"\n", end) + 1
        if not end:
            return data
    end = data.find(b"\n", max(end - 1, SAMPLE)) + 1
    return data[:end] if end else data


def _rows(text, sep):
    """Return the rows of a text that have a cell, without those that are not complete."""
    rows = []
    try:
        for row in csv.reader(io.StringIO(text, newline=None), delimiter=sep):
            if any(map(str.strip, row)) or not rows:
                rows.append(row)
    except csv.Error:
        pass
    return rows


def _infer_separator(tables, expected, faults):
    """Return the separator that gives rows of the length of the header."""
    fits = {
        sep: sum(not any(row[len(rows[0]) :]) and len(row) >= len(rows[0]) for row in rows)
        for sep, rows in tables.items()
        if rows and len(rows[0]) > 1 and sep != " "
    }
    if not fits:
        blanks = tables[" "]
        is_table = blanks and len(blanks[0]) > 1 and len({len(row) for row in blanks[1:]}) == 1
        return " " if is_table and len(blanks[1]) - len(blanks[0]) in (0, 1) else ","
    complete = [sep for sep in fits if fits[sep] == len(tables[sep])]
    if len(complete) > 1:
        known = [sep for sep in complete if _KNOWN & {x.strip().lower() for x in tables[sep][0]}]
        complete = known or complete
    if expected in complete:
        return expected
    if len(complete) > 1:
        first, second = (f"sep={x!r} (columns {tables[x][0][:3]})" for x in complete[:2])
        faults.stop(f"can be read with two separators: give {first} or {second}.")
    return complete[0] if complete else max(fits, key=lambda x: fits[x] / len(tables[x]))
