"""Random numbers that depend on a seed alone, without a trace in the process's generators."""

import contextlib
import random


@contextlib.contextmanager
def seeded(seed):
    """Layers and weights made inside depend on `seed`; outside nothing has changed.

    Keras seeds each layer's generator and each initializer from Python's `random`.

    Args:
        seed: int.
    """
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)
