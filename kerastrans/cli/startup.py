"""Import of Keras without the messages that TensorFlow and its libraries print at start."""

import contextlib
import os


def start_keras():
    """Import Keras and start its backend silently.

    The libraries write directly to the file descriptor before they respect any logging level.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with _silent_stderr():
        import keras

        keras.ops.convert_to_numpy(keras.ops.zeros(()))  # makes the backend look for devices


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
