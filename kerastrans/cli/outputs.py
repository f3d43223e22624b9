"""Output files of commands, checked before the work and written completely or not at all."""

import contextlib
import sys
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class Outputs:
    """Files that a command writes: all of them, or none if an error occurs.

    Attributes:
        table: Path of the CSV file, or None to print the table.
        picture: Path of the picture, or None.
        report: Path of the report, or None.
        replace: bool, whether existing files are replaced.

    Raises:
        FileExistsError: If an output exists.
        FileNotFoundError: If its folder does not exist.
        PermissionError: If its folder is read-only.
        ValueError: If two outputs are the same file, or the suffix of a table, picture or report
            is that of another kind of file.
    """

    table: Path | None = None
    picture: Path | None = None
    report: Path | None = None
    replace: bool = False

    def __post_init__(self):
        table = self.table
        if table is not None and table.suffix.lower() in OTHER_TABLES:
            raise ValueError(
                f"tables are written as CSV: give a name such as a.csv, got {table.name!r}."
            )
        others = (self.picture, PICTURES, "a picture"), (self.report, REPORTS, "a report")
        for path, suffixes, kind in others:
            if path is not None and path.suffix.lower() not in suffixes:
                names = ", ".join(suffixes)
                raise ValueError(f"{kind}'s name must end in {names}, got {path.name!r}.")
        paths = [path for path in (table, self.picture, self.report) if path is not None]
        if len({path.resolve() for path in paths}) < len(paths):
            raise ValueError(f"two outputs have the same name: {paths[0]}.")
        for path in paths:
            check_can_create(path, self.replace and path.is_file())
            if not path.parent.is_dir():
                raise FileNotFoundError(f"no such folder: {path.parent}.")

    def write(self, frame, picture=None, report=None):
        """Write a frame as CSV, and the other files by functions that take a path."""
        writers = {self.picture: picture, self.report: report}
        writers[self.table] = lambda file: frame.to_csv(file, index=False)
        writers.pop(None, None)
        with new_files(*writers, replace=self.replace) as unfinished:
            for write, file in zip(writers.values(), unfinished, strict=True):
                write(file)
        if writers.pop(self.table, None):
            print(f"{len(frame)} rows: {self.table}")
        else:
            print(frame.to_string(index=False, max_rows=MAX_ROWS, float_format="{:.6g}".format))
        for path in writers:
            print(f"written: {path}")
