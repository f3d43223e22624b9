"""Files and folders that appear whole or not at all; JSON and models read with care."""

import contextlib
import json
import secrets
import shutil
from pathlib import Path

from kerastrans.utils.validation import check_new

MAX_JSON = 2**26  # bytes of a JSON file


@contextlib.contextmanager
def new_folder(path):
    """A folder beside `path` to write into, which takes its name once all is written.

    Folders and files get the modes that the umask gives them.

    Args:
        path: folder to write, which must not exist; its parents are made.

    Yields:
        The folder to write into. If the block raises, it is removed.

    Raises:
        FileExistsError: there is something at `path`, or a link; nothing in it is touched.

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
    """A file beside `path` to write, which takes its name once all is written.

    Args:
        path: file to write, which must not exist; its parents are made.

    Yields:
        The path to write to, with the same name and suffix. If the block raises, it is removed.

    Raises:
        FileExistsError: there is something at `path`, or a link; it is not touched.

    Example:
        >>> import tempfile
        >>> parent = tempfile.TemporaryDirectory()
        >>> with new_file(Path(parent.name, "scores.txt")) as unfinished:
        ...     _ = unfinished.write_text("0.5")
        >>> Path(parent.name, "scores.txt").read_text()
        '0.5'
        >>> parent.cleanup()
    """
    with _folder_beside(path) as folder:
        unfinished = folder / Path(path).name
        yield unfinished
        check_new(path)
        unfinished.rename(path)


@contextlib.contextmanager
def _folder_beside(path):
    path = Path(path)
    check_new(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    folder.mkdir()  # not `mkdtemp`, whose folders only their owner may read
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_json(path, keys):
    """The object in a JSON file, a dict.

    Args:
        path: file to read.
        keys: dict from each key that must be there to the type, or tuple of types, of its value.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: no JSON, no object, a key that is missing, or a value of another type.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "card.json").write_text('{"format": 1}')
        ...     read_json(Path(folder, "card.json"), {"format": int})
        {'format': 1}
    """
    path = Path(path)
    if path.stat().st_size > MAX_JSON:
        raise ValueError(f"{path} has {path.stat().st_size} bytes, at most {MAX_JSON} are read.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {first_line(error)}.") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold a JSON object, got a {type(content).__name__}.")
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


def first_line(error):
    """The first line of an error's message without its full stop, or the error's type."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(" .:")[:300]


def load_model(path):
    """A Keras model from a `.keras` file, of which no code is run.

    What the file declares is checked before it is believed: no weight is read that the model has
    not, and nothing is built that needs more weights than the file holds.

    Args:
        path: file that `keras.Model.save` wrote.

    Raises:
        ValueError: the file is damaged, holds code (a Lambda layer), declares more than it holds,
            or is no model of this Keras.
    """
    import keras  # which takes seconds: folders and archives need none

    from kerastrans.utils.keras_internals import is_code, without_draws
    from kerastrans.utils.model_files import check_model_file

    try:
        check_model_file(path)
        with without_draws():
            return keras.saving.load_model(path, safe_mode=True)
    except Exception as error:  # of zipfile, h5py, Keras and its back end: a file may hold anything
        why = first_line(error)
        if is_code(error):
            why = "it holds Python code (a Lambda layer), which is not run"
        raise ValueError(f"cannot load {path}: {why}.") from error
