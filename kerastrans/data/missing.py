"""Missing values in histories: gaps are filled, and missing ends belong to the horizon."""

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


def count_missing_ends(history, is_shared, xp=np):
    """Return how many values are missing at the end of histories, 0 if none of them is known.

    Args:
        history: `(batch, time, num_channels)`, NaN for missing values.
        is_shared: bool, whether all channels end at the last step at which any of them is known.
        xp: Module that computes: NumPy or `keras.ops`.

    Returns:
        `(batch, 1, num_channels)`, or `(batch, 1, 1)` if the end is shared; int32.

    Example:
        >>> count_missing_ends(np.array([[[1.0], [2.0], [np.nan]]]), True).item()
        1
    """
    length = history.shape[1]
    after = xp.reshape(xp.arange(1, length + 1, dtype="int32"), (1, length, 1))
    ends = xp.max(xp.where(xp.isnan(history), 0 * after, after), axis=1, keepdims=True)
    if is_shared:
        ends = xp.max(ends, axis=2, keepdims=True)
    return xp.where(ends > 0, length - ends, 0 * ends)


def after_missing_ends(outputs, gaps, xp=np):
    """Return forecasts from the last known values as those of the steps after the last rows.

    Args:
        outputs: `(batch, prediction_length, num_channels, ...)`.
        gaps: Numbers that `count_missing_ends` returned.
        xp: Module that computes: NumPy or `keras.ops`.

    Returns:
        Array like `outputs`, whose last steps, as many as are missing, are NaN.

    Example:
        >>> after_missing_ends(np.array([[[1.0], [2.0]]]), np.array([[[1]]])).ravel()
        array([ 2., nan])
    """
    steps = outputs.shape[1]
    gaps = xp.reshape(gaps, (*xp.shape(gaps), *[1] * (len(outputs.shape) - 3)))
    return move_steps(outputs, xp.minimum(gaps, steps), steps, xp, is_later=False)


def move_steps(x, steps, most, xp=np, *, is_later=True):
    """Move arrays `(batch, time, ...)` along time by a number of steps that differs by row.

    Args:
        x: Array or tensor. Steps without a value become NaN, or 0 for integers.
        steps: Ints `(batch, 1, ...)`, at most `most`.
        most: int, the largest possible number of steps.
        xp: Module that computes: NumPy or `keras.ops`. Its operators exist in every format.
        is_later: bool, whether values move to later steps, or to earlier ones.

    Example:
        >>> move_steps(np.array([[1.0, 2.0, 3.0]]), np.array([[1]]), 2)
        array([[nan,  1.,  2.]])
    """
    missing = np.nan if "float" in str(x.dtype) else 0
    power = 1
    while power <= most:
        parts = [xp.full_like(x[:, :power], missing)]
        if power < x.shape[1]:
            parts = [*parts, x[:, :-power]] if is_later else [x[:, power:], *parts]
        x = xp.where((steps // power) % 2 == 1, xp.concatenate(parts, axis=1), x)
        power *= 2
    return x
