"""The batch sizes that models are compiled for."""

import numpy as np

BATCH = 256  # rows that a model computes at once
BATCHES = (1, 8, 64, BATCH)  # sizes that a model is compiled for


def run_padded(function, arrays, at_least=1):
    """Return `function(*arrays)` of a batch that is padded to one of a few sizes.

    Args:
        function: Function of arrays `(size, ...)` that returns a list of arrays `(size, ...)`. Its
            rows do not depend on each other.
        arrays: List of arrays `(batch, ...)`.
        at_least: int, smallest size; the size of earlier batches, for which the function is
            compiled.

    Returns:
        List of NumPy arrays `(batch, ...)`.

    Example:
        >>> sizes = []
        >>> def double(x):
        ...     sizes.append(len(x))
        ...     return [2 * x]
        >>> run_padded(double, [np.arange(3)])[0].tolist()
        [0, 2, 4]
        >>> run_padded(double, [np.arange(3)], at_least=256)[0].tolist()
        [0, 2, 4]
        >>> sizes
        [8, 256]
    """
    count = len(arrays[0])
    least = max(count, at_least)
    size = next(size for size in (*BATCHES, least) if size >= least)
    padded = [np.concatenate([x, np.repeat(x[-1:], size - count, axis=0)]) for x in arrays]
    return [np.asarray(x)[:count] for x in function(*padded)]
