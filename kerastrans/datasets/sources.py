"""Lookup of a data set's files: in the user's folder, or by one checksummed download."""

import os
from importlib.resources import files
from pathlib import Path

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
