"""Named real series: small ones are included in the package, larger ones are downloaded once."""

import functools
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from kerastrans.datasets import sources
from kerastrans.datasets.sources import find_dataset_file
from kerastrans.utils.validation import suggest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset", "info", "load", "names"]


@dataclass(frozen=True)
class Dataset:
    """The description of a named data set.

    Attributes:
        description: Measured quantity and its units.
        rows: int, number of rows of the frame.
        frequency: Frequency of the rows, in words.
        season: int, number of rows in the period that a seasonal naive forecast should repeat; 1
            for data without a season.
        licence: Terms of use.
        source: Origin of the data.
        files: Tuple of dicts with the key "path", relative to the folder KERASTRANS_DATA_DIR or to
            the package; "sha256" if the file is not in the package, and "url" if it can be
            downloaded.
        channels: int, number of channels of a wide frame.
        series: int, number of series of a long frame; None for a wide frame.
        splits: Training, validation and test part of a wide frame, as fractions or row counts.
        horizon: int, number of steps at the end of each series that published results forecast.
        future: Tuple of str, names of the covariates that are known in advance.
        reader: Name of the function in `kerastrans.datasets.sources` that reads the files.
    """

    description: str
    rows: int
    frequency: str
    season: int
    licence: str
    source: str
    files: tuple
    channels: int = 1
    series: int | None = None
    splits: tuple = ()
    horizon: int | None = None
    future: tuple = ()
    reader: str = "wide"


@functools.cache
def _datasets():
    """Return a dict of name -> `Dataset`, in the order of `names`."""
    entries = tomllib.loads((files(__package__) / "catalog.toml").read_text(encoding="utf-8"))
    return {
        name: Dataset(**{k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()})
        for name, entry in entries.items()
    }


def names() -> list[str]:
    """Return the names that `load` and `info` accept.

    Example:
        >>> names()[:2]
        ['air_passengers', 'nyc_departures']
    """
    return list(_datasets())


def info(name: str) -> Dataset:
    """Return the description of a data set without loading the data.

    Raises:
        ValueError: If the name is unknown; the nearest one is suggested.

    Example:
        >>> info("air_passengers").season
        12
    """
    if name not in _datasets():
        raise ValueError(f"unknown dataset {name!r}: {suggest(name, _datasets())}")
    return _datasets()[name]


def load(name: str) -> "pd.DataFrame":
    """Load a named data set, downloading it once if it is not included in the package.

    Downloads are stored in the user's cache folder and kept only if their checksum is right. If the
    environment variable KERASTRANS_DATA_DIR names a folder, the files are read from there instead.

    Args:
        name: str, one of `names()`.

    Returns:
        DataFrame. If `info(name).series` is None it is wide, with a DatetimeIndex of known
        frequency and one column per channel. Otherwise it is long, with the columns "unique_id",
        "ds", "y" and one column per covariate that is known in advance. Its `attrs["dataset"]` is
        the name, so that a forecaster with published weights can report if they were trained on it.

    Raises:
        ValueError: If the name is unknown or the checksum of a file is wrong.
        FileNotFoundError: If the folder KERASTRANS_DATA_DIR does not contain the file, or if the
            variable is not set and the file has no known download.

    Example:
        >>> frame = load("air_passengers")
        >>> frame.shape, frame.index.freqstr
        ((144, 1), 'MS')
    """
    dataset = info(name)
    paths = [find_dataset_file(**file) for file in dataset.files]
    frame = getattr(sources, dataset.reader)(dataset, *paths)
    frame.attrs["dataset"] = name
    return frame
