"""Start of Keras, without messages and unused libraries, with a cache of compiled programs."""

import contextlib
import hashlib
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

from kerastrans.utils.lazy import naming_backends
from kerastrans.utils.user_warnings import warn_user
from kerastrans.version import __version__

MAX_BYTES = 2**28  # size of the cache beyond which the programs that are not in use are deleted
MAX_SECONDS = 60 * 24 * 3600  # since the last use of a program, after which it is deleted
VARIABLE = "KERASTRANS_CACHE_DIR"

# Libraries that Keras imports if they are installed, for its scikit-learn wrappers, its pictures
# of images and its editor of weights in notebooks. They take a third of its import on JAX.
UNUSED = ("sklearn", "matplotlib", "IPython")


def start_keras(backend=None):
    """Import Keras and start its backend silently.

    The libraries write directly to the file descriptor before they respect any logging level.

    Args:
        backend: Name of the backend unless Keras is imported already; None for the one that Keras
            is set to.
    """
    if backend is not None and "keras" not in sys.modules:
        os.environ["KERAS_BACKEND"] = backend  # of this process, which runs one command
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with naming_backends(), _silent_stderr(), _absent(UNUSED):
        import keras

        keras.ops.convert_to_numpy(keras.ops.zeros(()))  # makes the backend look for devices
    if keras.backend.backend() == "jax":
        use_compilation_cache()


@contextlib.contextmanager
def _absent(names):
    """Let imports of libraries fail as if they were not installed, unless they are imported."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


@contextlib.contextmanager
def _silent_stderr():
    """Redirect the file descriptor of stderr to the null device."""
    try:
        stderr_copy = os.dup(2)
    except OSError:  # the process has no stderr
        yield
        return
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(stderr_copy, 2)
        os.close(stderr_copy)
        os.close(null)


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
    """Create the folder of a key, and delete the programs of all keys that are not in use.

    Programs of the cache are run, so that nobody else may write them.

    Raises:
        OSError: If it cannot be created or written to, or belongs to others.
    """
    folder = parent / key
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022):
        raise OSError(f"{folder} can be written by others: it must be yours, with the mode 700")
    total, files = 0, [(path, path.stat()) for path in parent.glob("jax-*/*")]
    for path, file in sorted(files, key=lambda x: -x[1].st_atime):  # the latest read first
        total += file.st_size
        if total > MAX_BYTES or file.st_atime < time.time() - MAX_SECONDS:
            path.unlink(missing_ok=True)
    with tempfile.TemporaryFile(dir=folder):  # raises
        return folder
