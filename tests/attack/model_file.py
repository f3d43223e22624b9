"""A `.keras` file taken apart and put together, and how one is refused."""

import tracemalloc
import zipfile

import pytest

from kerastrans.utils.files import load_model

WEIGHTS = "model.weights.h5"


def read(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def refused(path, message=None):
    """Assert that loading is refused in one line, with `message`; returns the peak of memory."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message) as caught:
            load_model(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"cannot load {path}: ")
    return peak
