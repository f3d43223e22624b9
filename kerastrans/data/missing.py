"""What a model sees of a missing value."""

import numpy as np

from kerastrans.utils.validation import check_choice

FILLS = (None, "last", "zero")


def fill_gaps(history, fill):
    """Histories `(batch, time, num_channels)` with their missing values filled as `Windows` does.

    Args:
        history: float array, NaN where a value is missing.
        fill: None for as it is, "last" for the last value before, "zero".

    Example:
        >>> import numpy as np
        >>> fill_gaps(np.array([[[np.nan], [1.0], [np.nan]]]), "last").ravel()
        array([nan,  1.,  1.])
    """
    check_choice("fill", fill, FILLS)
    if fill == "zero":
        return np.where(np.isnan(history), 0.0, history)
    if fill == "last":
        return np.take_along_axis(history, last_rows(np.isnan(history), axis=1), axis=1)
    return history


def last_rows(missing, axis):
    """The place along the axis of the last value that is not missing, 0 before the first one."""
    places = np.arange(missing.shape[axis]).reshape(-1, 1)
    return np.maximum.accumulate(np.where(missing, 0, places), axis=axis)


def last_values(xp, values, last, rows):
    """The last known value of each row of some contexts, NaN where there is none before in it.

    Args:
        xp: the module that computes: NumPy, or TensorFlow's NumPy.
        values: `(rows, num_channels)`, of a panel.
        last: what `last_rows` returns for them.
        rows: `(batch, context_length)`, 0 before a series begins.

    Returns:
        `(batch, context_length, num_channels)`.
    """
    channels = values.shape[1]
    last = xp.take(last, rows, axis=0)
    oldest = xp.min(xp.where(rows > 0, rows, rows[:, -1:]), axis=1)
    last = xp.where(last < oldest[:, None, None], 0, last)
    return xp.take(xp.reshape(values, (-1,)), last * channels + np.arange(channels))
