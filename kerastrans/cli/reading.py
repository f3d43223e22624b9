"""Reading of named series and files, before anything heavy is imported."""

from pathlib import Path

from kerastrans.cli.options import FORMAT, flags
from kerastrans.cli.outputs import note

SUFFIXES = (".csv", ".tsv", ".txt", ".gz", ".zip", ".parquet", ".xlsx")


def read_series(data, reading, covariates=(), *, like=None, with_values=True):
    """Return the frame of a named dataset or of a file, see `kerastrans.data.read_table`.

    For a file, a line on stderr says how it was read.

    Args:
        data: str, name of the dataset or path of the file.
        reading: Dict of arguments of `read_table`, the options in `DOOR`.
        covariates: Names of the columns that may contain text.
        like: Dict of how a related file was read, or None.
        with_values: bool, whether the file has values of the series.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the name is unknown, or the file has faults.
        ValueError: If options for files are given for a dataset.
    """
    from kerastrans.data.tables.reader import read_table, reading_of, size_of

    if Path(data).is_dir():
        raise ValueError(f"{Path(data)} is a folder, expected a named dataset or a file.")
    is_file = Path(data).is_file() or Path(data).is_fifo()  # such as <(zcat a.gz) of a shell
    if Path(data).suffix.lower() not in SUFFIXES and not is_file:
        if Path(data).name != str(data):
            raise FileNotFoundError(f"no such file: {data}.")
        from kerastrans import datasets

        frame = datasets.load(data)
        unused = sorted(set(reading) - {"columns", "freq"})
        if unused:
            flag = unused[0].replace("_", "-")
            raise ValueError(f"{data} is a named dataset: --{flag} is for files only.")
        return _select_columns(frame, reading.get("columns"), data)
    options = {"covariates": covariates, "like": like, "with_values": with_values}
    frame = read_table(data, **options, **reading)
    size = f"; {size_of(frame, covariates)}" if with_values else ""
    note(f"{data} {reading_of(frame)}{size}")
    return frame


def read_static(path, reading, like=None):
    """Return the frame of static covariates, or None if `path` is None.

    Args:
        path: Path of the file, or None.
        reading: Dict of the options in `DOOR` that were given; those in `FORMAT` are used.
        like: Dict of how the data were read, or None.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file has faults, or no column "unique_id".
    """
    from kerastrans.data.tables import reader

    options = {name: reading[name] for name in flags(FORMAT) if name in reading}
    return path and reader.read_static(path, like=like, **options)


def _select_columns(frame, columns, name):
    """Return these columns of a named dataset, or all of them if `columns` is None."""
    from kerastrans.data.frames import ID, TIME, is_wide

    if columns is not None and not is_wide(frame):
        columns = list(dict.fromkeys([ID, TIME, *columns]))
    missing = [column for column in columns or () if column not in frame.columns]
    if missing:
        raise ValueError(f"{name} has no column {missing[0]!r}, only {list(frame.columns)}.")
    return frame if columns is None else frame[columns]
