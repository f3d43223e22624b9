"""Folders that appear whole or not at all; archives and model files of others, read with care."""

import contextlib
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

from kerastrans.utils.validation import check_new

MAX_BYTES = 2**28  # that an archive may unpack to


@contextlib.contextmanager
def new_folder(path):
    """A folder beside `path` to write into, which takes its name once all is written.

    Raises:
        FileExistsError: there is something at `path`; nothing in it is touched.
    """
    with _folder_beside(path) as folder:
        yield folder
        folder.rename(path)


@contextlib.contextmanager
def new_file(path):
    """A file beside `path` to write, which takes its name once all is written.

    Raises:
        FileExistsError: there is something at `path`; it is not touched.
    """
    with _folder_beside(path) as folder:
        yield folder / Path(path).name
        (folder / Path(path).name).rename(path)


@contextlib.contextmanager
def _folder_beside(path):
    path = Path(path)
    check_new(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unpack(archive, folder):
    """Unpack a .zip or .tar archive of plain files.

    Raises:
        ValueError: no archive; a path outside the folder, a link or a device in it; more than
            256 MiB of content. Nothing is unpacked then.
    """
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            members = [(x.filename, x.file_size, True) for x in opened.infolist()]
            _check_members(archive, members, folder)
            opened.extractall(folder)
        return
    try:
        with tarfile.open(archive) as opened:
            members = [(x.name, x.size, x.isfile() or x.isdir()) for x in opened]
            _check_members(archive, members, folder)
            opened.extractall(folder, filter="data")
    except tarfile.ReadError:
        raise ValueError(f"{archive} is neither a .zip nor a .tar archive.") from None


def _check_members(archive, members, folder):
    folder = Path(folder).resolve()
    for name, _, is_plain in members:
        if not is_plain or not (folder / name).resolve().is_relative_to(folder):
            raise ValueError(f"{archive} holds {name!r}, which is not a file inside it.")
    total = sum(size for _, size, _ in members)
    if total > MAX_BYTES:
        raise ValueError(f"{archive} unpacks to {total} bytes, at most {MAX_BYTES} are read.")


def load_model(path):
    """A Keras model from a `.keras` file, of which no code is run.

    Raises:
        ValueError: the file holds code (a Lambda layer), or is no model of this Keras.
    """
    import keras  # which takes seconds: folders and archives need none

    try:
        return keras.saving.load_model(path, safe_mode=True)
    except (TypeError, ValueError, KeyError, OSError) as error:
        why = str(error).strip().splitlines()[0]
        from kerastrans.utils.keras_internals import is_code

        if is_code(error):
            why = "it holds Python code (a Lambda layer), which is not run."
        raise ValueError(f"cannot load {path}: {why}") from error
