"""Import of Keras, without messages and without libraries that no command uses."""

import contextlib
import os
import sys

from kerastrans.cli.compilation_cache import use_compilation_cache
from kerastrans.utils.lazy import naming_backends

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
