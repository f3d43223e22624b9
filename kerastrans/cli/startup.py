"""Keras is imported without what TensorFlow and its libraries print while they start."""

import contextlib
import os


def start_keras():
    """Import Keras and start its backend in silence.

    The libraries write to the file descriptor itself, before they heed any level of logging.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with _silent_stderr():
        import keras

        keras.ops.convert_to_numpy(keras.ops.zeros(()))  # devices are looked for now


@contextlib.contextmanager
def _silent_stderr():
    try:
        kept = os.dup(2)
    except OSError:  # there is none
        yield
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
