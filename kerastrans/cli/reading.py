"""Reading of named series and files, before anything heavy is imported."""

from pathlib import Path

from kerastrans.cli.options import DOOR, FORMAT, given
from kerastrans.cli.outputs import note

SUFFIXES = (".csv", ".tsv", ".txt", ".gz", ".zip", ".parquet", ".xlsx")


def read_series(data, options, covariates=(), **kwargs):
    """Return the frame of a named dataset or of a file, see `kerastrans.data.read_table`.

    For a file, a line on stderr says how it was read.

    Args:
        data: str, name of the dataset or path of the file.
        options: Parsed options, some of them from `DOOR`.
        covariates: Names of the columns that may contain text.
        **kwargs: Arguments of `read_table`, which replace the options.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the name is unknown, or the file has faults.
        ValueError: If options for files are given for a dataset.
    """
    from kerastrans.data.tables.reader import read_table, reading_of

    file_options = given(options, DOOR)
    if Path(data).is_dir():
        raise ValueError(f"{Path(data)} is a folder, expected a named dataset or a file.")
    is_file = Path(data).is_file() or Path(data).is_fifo()  # such as <(zcat a.gz) of a shell
    if Path(data).suffix.lower() not in SUFFIXES and not is_file:
        if Path(data).name != str(data):
            raise FileNotFoundError(f"no such file: {data}.")
        from kerastrans import datasets

        frame = datasets.load(data)
        unused = sorted(set(file_options) - {"columns", "freq"})
        if unused:
            flag = unused[0].replace("_", "-")
            raise ValueError(f"{data} is a named dataset: --{flag} is for files only.")
        return _select_columns(frame, file_options.get("columns"), data)
    frame = read_table(data, covariates=covariates, **(file_options | kwargs))
    note(f"{data} {reading_of(frame)}")
    return frame


def read_static(options, like=None):
    """Return the frame of static covariates, or None if it is not given.

    Args:
        options: Parsed options.
        like: Dict of how the training data were read, or None.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file has faults, or no column "unique_id".
    """
    from kerastrans.data.tables import reader

    path = getattr(options, "static", None)
    return path and reader.read_static(path, like=like, **given(options, FORMAT))


def _select_columns(frame, columns, name):
    """Return these columns of a named dataset, or all of them if `columns` is None."""
    from kerastrans.data.frames import ID, TIME, is_wide

    if columns is not None and not is_wide(frame):
        columns = list(dict.fromkeys([ID, TIME, *columns]))
    missing = [column for column in columns or () if column not in frame.columns]
    if missing:
        raise ValueError(f"{name} has no column {missing[0]!r}, only {list(frame.columns)}.")
    return frame if columns is None else frame[columns]
