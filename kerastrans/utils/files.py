"""Files: atomic creation, careful reading of JSON and Keras models, unpacking of archives."""

import contextlib
import hashlib
import json
import secrets
import shutil
import tarfile
import zipfile
from pathlib import Path

from kerastrans.utils.validation import check_new

MAX_BYTES = 2**28  # total size of the unpacked files
MAX_MEMBERS = 10_000  # number of files and folders in an archive

MAX_JSON = 2**26  # maximum size of a JSON file in bytes


@contextlib.contextmanager
def new_folder(path):
    """Create a folder atomically: write to a temporary folder that is renamed at the end.

    The temporary folder is next to `path`. Files and folders have the modes that the umask defines.

    Args:
        path: Path of the folder, which must not exist. Its parents are created.

    Yields:
        Path of the temporary folder. If the block raises an exception, the folder is removed.

    Raises:
        FileExistsError: If `path` exists, even as a broken link; it is not changed.

    Example:
        >>> import tempfile
        >>> parent = tempfile.TemporaryDirectory()
        >>> with new_folder(Path(parent.name, "results")) as folder:
        ...     _ = (folder / "scores.txt").write_text("0.5")
        >>> [path.name for path in Path(parent.name, "results").iterdir()]
        ['scores.txt']
        >>> parent.cleanup()
    """
    with _folder_beside(path) as folder:
        yield folder
        check_new(path)  # it may have appeared in the meantime, and `rename` would replace it
        folder.rename(path)


@contextlib.contextmanager
def new_file(path):
    """Create a file atomically: write to a temporary file that is renamed at the end.

    Args:
        path: Path of the file, which must not exist. Its parents are created.

    Yields:
        Path to write to, with the same name and suffix. If the block raises an exception, the file
        is removed.

    Raises:
        FileExistsError: If `path` exists, even as a broken link; it is not changed.

    Example:
        >>> import tempfile
        >>> parent = tempfile.TemporaryDirectory()
        >>> with new_file(Path(parent.name, "scores.txt")) as unfinished:
        ...     _ = unfinished.write_text("0.5")
        >>> Path(parent.name, "scores.txt").read_text()
        '0.5'
        >>> parent.cleanup()
    """
    with new_files(path) as (unfinished,):
        yield unfinished


@contextlib.contextmanager
def new_files(*paths, replace=False):
    """Create several files, all or none of them: as `new_file`, but it yields a list of paths.

    With `replace`, files that exist are replaced at the end; if that fails, they stay.
    """
    paths = [Path(path) for path in paths]
    with contextlib.ExitStack() as stack:
        folders = [stack.enter_context(_folder_beside(path, replace)) for path in paths]
        unfinished = [folder / path.name for folder, path in zip(folders, paths, strict=True)]
        yield unfinished
        former = [folder / "former" for folder in folders]
        created = []
        try:
            for source, path, old in zip(unfinished, paths, former, strict=True):
                if replace and path.is_file():
                    path.rename(old)
                check_new(path)
                source.rename(path)
                created.append(path)
        except BaseException:
            for path in created:
                path.unlink()
            for path, old in zip(paths, former, strict=True):
                if old.exists():
                    old.rename(path)
            raise


@contextlib.contextmanager
def _folder_beside(path, replace=False):
    """Yield a temporary folder next to `path`, which is removed at the end if it still exists."""
    path = Path(path)
    if not (replace and path.is_file()):
        check_new(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    folder.mkdir()  # unlike `mkdtemp`, whose folders only their owner can read
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_json(path, keys):
    """Return the object in a JSON file as a dict.

    Args:
        path: Path of the file.
        keys: Dict of required key -> type, or tuple of types, of its value.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the file is not JSON or not an object, or if a key is missing or its value
            has another type.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "card.json").write_text('{"format": 1}')
        ...     read_json(Path(folder, "card.json"), {"format": int})
        {'format': 1}
    """
    path = Path(path)
    if path.stat().st_size > MAX_JSON:
        raise ValueError(f"{path} has {path.stat().st_size} bytes, the limit is {MAX_JSON}.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {first_line(error)}.") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} must contain a JSON object, got a {type(content).__name__}.")
    for key, types in keys.items():
        if key not in content:
            raise ValueError(f"{path} has no {key!r}; it must have {', '.join(map(repr, keys))}.")
        if not isinstance(content[key], types):
            types = types if isinstance(types, tuple) else (types,)
            names = " or ".join(kind.__name__ for kind in types)
            raise ValueError(
                f"{path}: {key!r} must be of type {names}, got {type(content[key]).__name__}."
            )
    return content


def sha256_of(path):
    """Return the sha256 checksum of a file, as hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def first_line(error):
    """Return the first line of an error's message without its full stop, or the error's type."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(" .:")[:300]


def load_model(path):
    """Load a Keras model from a `.keras` file without running any code from the file.

    The file is checked first: it must not contain weights that the model does not have, and the
    model must not need more weights than the file contains.

    Args:
        path: Path of a file written by `keras.Model.save`.

    Raises:
        ValueError: If the file is damaged, contains code (a Lambda layer), declares more than it
            contains, or is not a model that this version of Keras can read.
    """
    import keras  # imported here because it takes seconds, which folders and archives do not need

    from kerastrans.utils.keras_internals import is_code, without_draws
    from kerastrans.utils.model_files import check_model_file

    try:
        check_model_file(path)
        with without_draws():
            return keras.saving.load_model(path, safe_mode=True)
    except Exception as error:  # from zipfile, h5py, Keras or the backend
        why = first_line(error)
        if is_code(error):
            why = "it contains Python code (a Lambda layer), which is not run"
        raise ValueError(f"cannot load {path}: {why}.") from error


def unpack(archive, folder):
    """Unpack a .zip or .tar archive of plain files.

    Args:
        archive: Path of the archive.
        folder: Path of the folder to create, which must not exist.

    Raises:
        FileExistsError: If `folder` exists.
        ValueError: If the file is not an archive or is damaged; if it contains a path outside the
            folder, a link or a device; or if it has more than 256 MiB of content or more than
            10,000 files. Nothing is unpacked then.
    """
    try:
        with new_folder(folder) as unfinished:
            # A .tar of a .keras file ends like a .zip, so that its kind is asked first.
            if not tarfile.is_tarfile(archive) and zipfile.is_zipfile(archive):
                with zipfile.ZipFile(archive) as opened:
                    members = ((x.filename, x.file_size, True) for x in opened.infolist())
                    _check_members(archive, members, unfinished)
                    opened.extractall(unfinished)
            else:
                with _open_tar(archive) as opened:
                    # Lazily, so that nothing after a declared size that is too large is read.
                    members = ((x.name, x.size, x.isfile() or x.isdir()) for x in opened)
                    _check_members(archive, members, unfinished)
                    opened.extractall(unfinished, filter="data")
    except Exception as error:  # zlib, lzma, zipfile and tarfile have separate exceptions
        is_known = isinstance(error, ValueError | FileExistsError)
        if is_known or getattr(error, "errno", None) is not None:  # e.g. the disk is full
            raise
        raise ValueError(f"{archive} is damaged: {first_line(error)}.") from None


def _open_tar(archive):
    """Open a .tar archive; raise ValueError if the file is something else."""
    try:
        return tarfile.open(archive)
    except tarfile.ReadError:
        raise ValueError(f"{archive} is neither a .zip nor a .tar archive.") from None


def _check_members(archive, members, folder):
    """Raise ValueError for unsafe paths, links, devices, or too much content."""
    folder, total = Path(folder).resolve(), 0
    for count, (name, size, is_plain) in enumerate(members, 1):
        if not is_plain or not (folder / name).resolve().is_relative_to(folder):
            raise ValueError(f"{archive} contains {name!r}, which is not a file inside it.")
        total += size
        if total > MAX_BYTES:
            raise ValueError(f"{archive} unpacks to {total} bytes, the limit is {MAX_BYTES}.")
        if count > MAX_MEMBERS:
            raise ValueError(f"{archive} contains more than {MAX_MEMBERS} files.")
