"""Folders that appear whole or not at all."""

import contextlib
import shutil
import tempfile
from pathlib import Path

from kerastrans.validation import check_new


@contextlib.contextmanager
def new_folder(path):
    """A folder beside `path` to write into, which takes its name once all is written.

    Raises:
        FileExistsError: there is something at `path`; nothing in it is touched.
    """
    path = Path(path)
    check_new(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        yield unfinished
        unfinished.rename(path)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
