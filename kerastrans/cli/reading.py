"""The door: named series and CSV files become frames, before anything heavy is imported."""

import re
from pathlib import Path

from kerastrans.cli.options import DOOR, given

SUFFIXES = (".csv", ".tsv", ".txt", ".gz")


def read_series(data, options, covariates=(), **kwargs):
    """The frame of a named dataset or of a CSV file, see `kerastrans.data.read_csv`.

    Args:
        data: str, name or path.
        options: parsed, with some of `DOOR`.
        covariates: names of columns that may hold text.
        **kwargs: of `read_csv`.

    Raises:
        FileNotFoundError: no such file.
        ValueError: an unknown name, or a file with faults.
        ValueError: options that are for CSV files only.
    """
    from kerastrans import datasets
    from kerastrans.data.csv.reader import read_csv

    door = given(options, DOOR)
    if Path(data).is_dir():
        raise ValueError(f"{data} is a folder, wanted a named dataset or a CSV file.")
    if Path(data).suffix.lower() not in SUFFIXES and not Path(data).is_file():
        frame = datasets.load(data)
        unused = sorted(set(door) - {"columns", "freq"})
        if unused:
            flag = unused[0].replace("_", "-")
            raise ValueError(f"{data} is a named dataset: --{flag} is for CSV files only.")
        return _chosen(frame, door.get("columns"), data)
    try:
        return read_csv(data, covariates=covariates, **door, **kwargs)
    except ValueError as error:
        raise ValueError(_as_options(str(error))) from None


def read_static(options):
    """The frame of static covariates that was given, or None.

    Raises:
        FileNotFoundError: no such file.
        ValueError: no table, or one without "unique_id".
    """
    import pandas as pd

    from kerastrans.utils.files import first_line

    path = getattr(options, "static", None)
    if path is None:
        return None
    door = {
        name: value for name, value in given(options, DOOR).items() if name in ("sep", "decimal")
    }
    if not path.is_file():
        raise FileNotFoundError(f"no such CSV file: {path}.")
    try:
        frame = pd.read_csv(path, **door)
    except ValueError as error:
        raise ValueError(f"cannot read {path}: {first_line(error)}.") from None
    if "unique_id" not in frame.columns:
        raise ValueError(f"{path} has no column 'unique_id', only {list(frame.columns)}.")
    return frame


def _as_options(text):
    """A message of `read_csv` with the command line's names of its arguments."""
    text = text.replace("covariates=", "--past or --future-columns")
    text = text.replace("dayfirst=True", "--dayfirst")  # a flag
    for flag in DOOR:
        text = re.sub(rf"\b{flag[2:].replace('-', '_')}=", f"{flag} ", text)
    if "has no date column called" in text:
        text += " Name the one with the dates by --date-column."
    return text.replace(" ,", ",")


def _chosen(frame, columns, name):
    """These columns of a named dataset."""
    missing = [column for column in columns or () if column not in frame.columns]
    if missing:
        raise ValueError(f"{name} has no column {missing[0]!r}, only {list(frame.columns)}.")
    return frame if columns is None else frame[columns]
