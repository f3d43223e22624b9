"""Where a data set's file comes from: the user's folder, or one checksummed download."""

import hashlib
import os
from importlib.resources import files
from pathlib import Path


def find_dataset_file(path, sha256=None, url=None):
    """A file of a data set: in the package, where it has no checksum, or as `find_file` does."""
    if sha256 is None:
        return Path(str(files(__package__) / "files" / path))
    return find_file(path, sha256, url, f"sha256:{sha256}")


def find_file(path, sha256, url, url_hash, member=None):
    """`path` in the folder that KERASTRANS_DATA_DIR names, or what is at `url` where it names none.

    Each with the checksum that it must have; `member` is the file in the archive at `url`.

    Raises:
        FileNotFoundError: no such file, or neither a folder nor a `url`.
        ValueError: a checksum that is wrong.
    """
    folder = os.environ.get("KERASTRANS_DATA_DIR")
    if folder:
        return _local_file(folder, path, sha256)
    if url is None:
        raise FileNotFoundError(
            f"{path} has no known download: put it (sha256 {sha256}) into a folder that the "
            "environment variable KERASTRANS_DATA_DIR names."
        )
    return _download(url, url_hash, member)


def _local_file(folder, path, sha256):
    """The file `path` in the folder that KERASTRANS_DATA_DIR names, its checksum verified."""
    file = Path(folder) / path
    if not file.is_file():
        raise FileNotFoundError(f"KERASTRANS_DATA_DIR={folder} holds no {path}.")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digest != sha256:
        raise ValueError(f"{file} has sha256 {digest}, wanted {sha256}: another version?")
    return file


def _download(url, known_hash, member):
    """The file at `url`, or the `member` of the archive there, from the user's cache folder."""
    import pooch

    # Unpacked beside the archive, which pooch verifies at every call.
    unpack = pooch.Unzip([member]) if member else None
    path = pooch.retrieve(
        url,
        known_hash=known_hash,
        fname=url.rsplit("/", 1)[-1],
        path=pooch.os_cache("kerastrans"),
        processor=unpack,
    )
    return path[0] if member else path
