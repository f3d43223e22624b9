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


def draw_seed():
    """A seed for a layer that is given none, from the generator that Keras seeds layers from.

    It depends on `seeded` or `keras.utils.set_random_seed`, as the weights do.

    Returns:
        int from 0 to 2**31 - 1.

    Example:
        >>> with seeded(0):
        ...     first = draw_seed()
        >>> with seeded(0):
        ...     first == draw_seed()
        True
    """
    return random.randrange(2**31)
