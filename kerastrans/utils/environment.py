"""Versions, backend and machine, recorded with benchmark results."""

import contextlib
import os
import platform
from importlib import metadata

import keras

from kerastrans.version import __version__

PACKAGES = ("keras", "tensorflow", "jax", "torch", "numpy", "pandas")


def environment():
    """Return a dict of the versions, the Keras backend and the machine of this process.

    Example:
        >>> import kerastrans
        >>> environment()["kerastrans"] == kerastrans.__version__
        True
    """
    versions = {}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "kerastrans": __version__,
        "python": platform.python_version(),
        **versions,
        "backend": keras.backend.backend(),
        "platform": platform.platform(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }
