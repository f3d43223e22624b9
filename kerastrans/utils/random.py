"""Random numbers that depend only on a seed and leave the process's generators unchanged."""

import contextlib
import random


@contextlib.contextmanager
def seeded(seed):
    """Make layers and weights created inside this context depend on `seed`.

    Keras seeds each layer's generator and each initializer from Python's `random`, whose state is
    restored at the end.

    Args:
        seed: int, seed of Python's `random`.
    """
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


def draw_seed():
    """Return a seed for layers or data without one, from the generator that Keras uses for such.

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
