"""Output files of commands, checked before the work and written completely or not at all."""

import contextlib
import sys

from kerastrans.utils.files import new_files
from kerastrans.utils.validation import check_can_create

MAX_ROWS = 60  # maximum number of rows of a printed table
PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg")
REPORTS = (".html", ".htm")
OTHER_TABLES = (".parquet", ".xlsx", ".xls", ".ods")  # which are not CSV


def note(text):
    """Print a line on the standard error, unless that is closed or cannot be written to."""
    if sys.stderr is not None:  # otherwise `print` would write to the standard output
        with contextlib.suppress(OSError):
            print(text, file=sys.stderr, flush=True)


def check_outputs(table, picture=None, report=None):
    """Check the paths of all outputs of a command; None for an output that is not requested.

    Raises:
        FileExistsError: If an output exists.
        FileNotFoundError: If its folder does not exist.
        PermissionError: If its folder is read-only.
        ValueError: If two outputs are the same file, or the suffix of a table, picture or report
            is that of another kind of file.
    """
    if table is not None and table.suffix.lower() in OTHER_TABLES:
        raise ValueError(
            f"tables are written as CSV: give a name such as a.csv, got {table.name!r}."
        )
    for path, suffixes, kind in ((picture, PICTURES, "a picture"), (report, REPORTS, "a report")):
        if path is not None and path.suffix.lower() not in suffixes:
            raise ValueError(f"{kind}'s name must end in {', '.join(suffixes)}, got {path.name!r}.")
    paths = [path for path in (table, picture, report) if path is not None]
    places = [path.resolve() for path in paths]
    if len(set(places)) < len(places):
        raise ValueError(f"two outputs have the same name: {paths[0]}.")
    for path in paths:
        check_can_create(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"no such folder: {path.parent}.")


def write_table(frame, path, *others):
    """Write a frame as CSV and other files: all of them, or none if an error occurs.

    Args:
        frame: DataFrame.
        path: CSV file to write, or None to print the frame.
        *others: Pairs of a file to write, or None, and the function that writes it to a path.
    """
    writers = [(path, lambda file: frame.to_csv(file, index=False)), *others]
    writers = [(output, write) for output, write in writers if output is not None]
    with new_files(*(output for output, _ in writers)) as unfinished:
        for (_, write), file in zip(writers, unfinished, strict=True):
            write(file)
    if path is None:
        print(frame.to_string(index=False, max_rows=MAX_ROWS, float_format="{:.6g}".format))
    else:
        print(f"{len(frame)} rows: {path}")
    for output, _ in writers[path is not None :]:
        print(f"written: {output}")
