"""Persistent cache of the programs that JAX compiles, for the command line."""

import contextlib
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from kerastrans.utils.user_warnings import warn_user
from kerastrans.version import __version__

MAX_BYTES = 2**28  # size of the cache beyond which a command empties it before it starts
VARIABLE = "KERASTRANS_CACHE_DIR"


def use_compilation_cache():
    """Make JAX read and write the cache, or warn and compile without it.

    Raises nothing: if the folder cannot be written, a command runs as it does without a cache. JAX
    itself warns of an entry that is damaged, and compiles its program again.
    """
    import jax

    if jax.config.jax_compilation_cache_dir:  # the user has chosen a folder
        return
    try:
        folder = _prepare_folder(cache_folder(), _key())
    except (OSError, RuntimeError) as error:  # RuntimeError without a home folder
        warn_user(f"no compilation cache: {error}; {VARIABLE} names another folder.")
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")


def cache_folder():
    """Return the folder of the cache: that of the environment variable, or the system's usual one.

    Example:
        >>> cache_folder().name
        'kerastrans'
    """
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE], "kerastrans")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", tempfile.gettempdir()), "kerastrans")
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "kerastrans"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache", "kerastrans")


def _key():
    """Return the name of the folder of these versions on this processor.

    A compiled program runs only on processors that have the instructions that it was compiled for.
    """
    import jaxlib
    import keras

    versions = [__version__, keras.__version__, jaxlib.__version__]
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        named = ("model name", "flags", "Features", "CPU part")
        versions += sorted({line for line in lines if line.startswith(named)})
    text = "\n".join([*versions, platform.machine(), platform.processor()])
    return f"jax-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _prepare_folder(parent, key):
    """Create the folder of a key, and empty the cache of everything else and if it is too large.

    Raises:
        OSError: If it cannot be created or written to.
    """
    folder = parent / key
    is_new = not folder.is_dir()
    if is_new or sum(x.stat().st_size for x in folder.iterdir()) > MAX_BYTES:
        for old in parent.glob("jax-*"):
            if old != folder or not is_new:  # another process may have made it by now
                shutil.rmtree(old, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):  # raises
        return folder
