"""Reading of named series and CSV files, before anything heavy is imported."""

import re
from pathlib import Path

from kerastrans.cli.options import DOOR, given

SUFFIXES = (".csv", ".tsv", ".txt", ".gz")


def read_series(data, options, covariates=(), **kwargs):
    """Return the frame of a named dataset or of a CSV file, see `kerastrans.data.read_csv`.

    Args:
        data: str, name of the dataset or path of the file.
        options: Parsed options, some of them from `DOOR`.
        covariates: Names of the columns that may contain text.
        **kwargs: Arguments of `read_csv`.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the name is unknown, or the file has faults.
        ValueError: If options for CSV files are given for a dataset.
    """
    from kerastrans import datasets
    from kerastrans.data.csv.reader import read_csv

    csv_options = given(options, DOOR)
    if Path(data).is_dir():
        raise ValueError(f"{data} is a folder, expected a named dataset or a CSV file.")
    if Path(data).suffix.lower() not in SUFFIXES and not Path(data).is_file():
        frame = datasets.load(data)
        unused = sorted(set(csv_options) - {"columns", "freq"})
        if unused:
            flag = unused[0].replace("_", "-")
            raise ValueError(f"{data} is a named dataset: --{flag} is for CSV files only.")
        return _select_columns(frame, csv_options.get("columns"), data)
    try:
        return read_csv(data, covariates=covariates, **csv_options, **kwargs)
    except ValueError as error:
        raise ValueError(_as_options(str(error))) from None


def read_static(options):
    """Return the frame of static covariates, or None if it is not given.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is not a table, or has no column "unique_id".
    """
    import pandas as pd

    from kerastrans.utils.files import first_line

    path = getattr(options, "static", None)
    if path is None:
        return None
    csv_options = {
        name: value for name, value in given(options, DOOR).items() if name in ("sep", "decimal")
    }
    if not path.is_file():
        raise FileNotFoundError(f"no such CSV file: {path}.")
    try:
        frame = pd.read_csv(path, **csv_options)
    except ValueError as error:
        raise ValueError(f"cannot read {path}: {first_line(error)}.") from None
    if "unique_id" not in frame.columns:
        raise ValueError(f"{path} has no column 'unique_id', only {list(frame.columns)}.")
    return frame


def _as_options(text):
    """Replace argument names in a message of `read_csv` by the options of the command line."""
    text = text.replace("covariates=", "--past or --future-columns")
    text = text.replace("dayfirst=True", "--dayfirst")  # a flag
    for flag in DOOR:
        text = re.sub(rf"\b{flag[2:].replace('-', '_')}=", f"{flag} ", text)
    if "has no date column called" in text:
        text += " Name the date column with --date-column."
    return text.replace(" ,", ",")


def _select_columns(frame, columns, name):
    """Return these columns of a named dataset, or all of them if `columns` is None."""
    missing = [column for column in columns or () if column not in frame.columns]
    if missing:
        raise ValueError(f"{name} has no column {missing[0]!r}, only {list(frame.columns)}.")
    return frame if columns is None else frame[columns]
