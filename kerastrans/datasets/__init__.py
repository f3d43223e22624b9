"""Named real series: small ones in the package, larger ones by checksummed download."""

import functools
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from kerastrans.datasets import readers
from kerastrans.datasets.sources import find_dataset_file
from kerastrans.utils.validation import suggest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset", "info", "load", "names"]


@dataclass(frozen=True)
class Dataset:
    """The description of a named data set.

    Attributes:
        description: what was measured, in which units.
        rows: int, rows of the frame.
        frequency: of the rows, in words.
        season: int, rows in the period that a seasonal-naive forecast should repeat; 1 where there
            is none.
        licence: terms of use.
        source: where the figures come from.
        files: tuple of dicts: "path" under the folder that KERASTRANS_DATA_DIR names, or in the
            package; "sha256" of a file that is not in the package, and "url" of its download.
        channels: int, of a wide frame.
        series: int, of a long frame; None for a wide one.
        splits: training, validation and test part of a wide frame, as fractions or row counts.
        horizon: int, steps at the end of each series that published results forecast.
        future: tuple of str, covariates that are known ahead.
        reader: name of the function of `kerastrans.datasets.readers` that reads the files.
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
    """Every `Dataset` by its name, in the order of `names`."""
    entries = tomllib.loads((files(__package__) / "catalog.toml").read_text(encoding="utf-8"))
    return {
        name: Dataset(**{k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()})
        for name, entry in entries.items()
    }


def names() -> list[str]:
    """The names that `load` and `info` take.

    Example:
        >>> names()[:2]
        ['air_passengers', 'nyc_departures']
    """
    return list(_datasets())


def info(name: str) -> Dataset:
    """The `Dataset` called `name`, not loaded.

    Raises:
        ValueError: an unknown name; the nearest one is suggested.

    Example:
        >>> info("air_passengers").season
        12
    """
    if name not in _datasets():
        raise ValueError(f"unknown dataset {name!r}: {suggest(name, _datasets())}")
    return _datasets()[name]


def load(name: str) -> "pd.DataFrame":
    """Load a named data set, downloading it once where it is not in the package.

    A download goes to the user's cache folder, and is kept only if its checksum is right. Where
    the environment variable KERASTRANS_DATA_DIR names a folder, the files are read from there.

    Args:
        name: one of `names()`.

    Returns:
        Where `info(name).series` is None a wide DataFrame: a DatetimeIndex of known frequency, one
        column a channel. Otherwise a long one: "unique_id", "ds", "y", and a column for each
        covariate that is known ahead.

    Raises:
        ValueError: an unknown name.
        ValueError: a file whose checksum is wrong.
        FileNotFoundError: KERASTRANS_DATA_DIR does not hold the file, or names no folder and no
            download of the file is known.

    Example:
        >>> frame = load("air_passengers")
        >>> frame.shape, frame.index.freqstr
        ((144, 1), 'MS')
    """
    dataset = info(name)
    paths = [find_dataset_file(**file) for file in dataset.files]
    return getattr(readers, dataset.reader)(dataset, *paths)
