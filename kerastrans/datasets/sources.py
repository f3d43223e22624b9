"""Files of a data set: found in a folder or by one checksummed download, and read as frames."""

import os
from importlib.resources import files
from pathlib import Path

import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME, check_frame
from kerastrans.data.tables.reader import read_csv
from kerastrans.utils.files import sha256_of


def find_dataset_file(path, sha256=None, url=None):
    """Return the path of a data set's file; files without a checksum are in the package."""
    if sha256 is None:
        return Path(str(files(__package__) / "files" / path))
    return find_file(path, sha256, url, f"sha256:{sha256}")


def find_file(path, sha256, url, url_hash, member=None):
    """Return the path of a file in the folder KERASTRANS_DATA_DIR, or of a download.

    Args:
        path: Path relative to the folder that KERASTRANS_DATA_DIR names, if it is set.
        sha256: Expected checksum of that file.
        url: Address of the download that is used otherwise; None if there is none.
        url_hash: Expected checksum of the download, with the algorithm, such as "sha256:...".
        member: Path of the file in the downloaded archive; None if it is not an archive.

    Raises:
        FileNotFoundError: If the folder does not contain the file, or neither a folder nor a `url`
            is given.
        ValueError: If a checksum is wrong.
    """
    folder = os.environ.get("KERASTRANS_DATA_DIR")
    if folder:
        return _local_file(folder, path, sha256)
    if url is None:
        raise FileNotFoundError(
            f"{path} cannot be downloaded: put it (sha256 {sha256}) into a folder and set the "
            "environment variable KERASTRANS_DATA_DIR to that folder."
        )
    return _download(url, url_hash, member)


def _local_file(folder, path, sha256):
    """Return the file `path` in the folder KERASTRANS_DATA_DIR, after checking its checksum."""
    file = Path(folder) / path
    if not file.is_file():
        raise FileNotFoundError(f"KERASTRANS_DATA_DIR={folder} does not contain {path}.")
    digest = sha256_of(file)
    if digest != sha256:
        raise ValueError(
            f"{file} has sha256 {digest}, expected {sha256}: it may be another version."
        )
    return file


def _download(url, known_hash, member):
    """Return the file at `url`, or the `member` of the archive there, from the user's cache."""
    import pooch

    # The archive is unpacked next to itself, and pooch verifies it at every call.
    unpack = pooch.Unzip([member]) if member else None
    path = pooch.retrieve(
        url,
        known_hash=known_hash,
        fname=url.rsplit("/", 1)[-1],
        path=pooch.os_cache("kerastrans"),
        processor=unpack,
    )
    return path[0] if member else path


START = pd.Timestamp("2000-01-03")  # first time stamp of series published without dates
_FREQUENCIES = {"hourly": "h", "weekly": "W-MON", "every 10 minutes": "10min"}


def wide(dataset, path):
    """Read a file with one column per channel."""
    return check_frame(read_csv(path), name=str(path))


def rows_in_order(dataset, path):
    """Read a file with one column per channel; time stamps are counted from the first row's."""
    table = pd.read_csv(path, encoding="latin-1").rename(columns=str.strip)
    start = pd.to_datetime(table.pop("date").iloc[0])
    freq = _FREQUENCIES[dataset.frequency]
    index = pd.date_range(start, periods=len(table), freq=freq, name="date")
    return check_frame(table.set_index(index), name=str(path))


def columns(dataset, path):
    """Read a file with one series per column."""
    table = pd.read_csv(path, index_col=0)
    table.index = pd.to_datetime(table.index)
    long = table.rename_axis(index=TIME, columns=ID).T.stack().rename(TARGET)
    return long.astype("float64").reset_index()


def price(dataset, path):
    """Read a file with one series and the covariates that are known in advance."""
    table = pd.read_csv(path).rename(columns=str.strip)
    times = pd.to_datetime(table["date"])
    frame = pd.DataFrame({ID: path.stem, TIME: times, TARGET: table["OT"].astype("float64")})
    return frame.join(table[list(dataset.future)].astype("float64"))


def m4(dataset, training, test):
    """Read two files with one series per row, named in the first cell; all series end together."""
    parts = [pd.read_csv(path, index_col=0) for path in (training, test)]
    series = {
        name: pd.concat([part.loc[name].dropna() for part in parts]).to_numpy("float64")
        for name in parts[0].index
    }
    longest = max(map(len, series.values()))
    times = pd.date_range(START, periods=longest, freq=_FREQUENCIES[dataset.frequency])
    frames = [
        pd.DataFrame({ID: name, TIME: times[longest - len(values) :], TARGET: values})
        for name, values in series.items()
    ]
    return pd.concat(frames, ignore_index=True)
