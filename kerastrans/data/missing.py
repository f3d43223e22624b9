"""Filling of missing values in histories."""

import numpy as np

from kerastrans.utils.validation import check_choice

FILLS = (None, "last", "zero")


def fill_gaps(history, fill):
    """Fill the missing values of histories `(batch, time, num_channels)` as `Windows` does.

    Args:
        history: Float array, NaN for missing values.
        fill: "last" for the last value before, "zero" for 0, or None to keep missing values.

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
    """Return the place of the last known value along the axis, 0 before the first known value."""
    places = np.arange(missing.shape[axis]).reshape(-1, 1)
    return np.maximum.accumulate(np.where(missing, 0, places), axis=axis)


def last_values(xp, values, last, rows):
    """Return contexts whose missing values are filled with the last known value before.

    Args:
        xp: Module that computes: NumPy, or TensorFlow's NumPy.
        values: `(rows, num_channels)`, values of a panel.
        last: `(rows, num_channels)`, the result of `last_rows` for the panel.
        rows: `(batch, context_length)`, rows of the contexts, 0 before a series begins.

    Returns:
        `(batch, context_length, num_channels)`, NaN before the first known value of a context.
    """
    channels = values.shape[1]
    last = xp.take(last, rows, axis=0)
    # A known value before the context does not count: row 0 of a panel is NaN.
    oldest = xp.min(xp.where(rows > 0, rows, rows[:, -1:]), axis=1)
    last = xp.where(last < oldest[:, None, None], 0, last)
    return xp.take(xp.reshape(values, (-1,)), last * channels + np.arange(channels))
