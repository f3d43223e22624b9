"""Missing values replaced by the last known ones, in a graph."""

import numpy as np
from keras import ops


def forward_fill(values):
    """Replace each NaN of `(batch, time, ...)` by the last value before it that is known, if any.

    Each pass looks back twice as far: one step, two, four ... so `log2(time)` passes suffice.

    Example:
        >>> x = ops.convert_to_tensor([[np.nan, 1.0, np.nan, np.nan]])
        >>> ops.convert_to_numpy(forward_fill(x)).tolist()
        [[nan, 1.0, 1.0, 1.0]]
    """
    length, distance = values.shape[1], 1
    after = [[0, 0]] * (len(values.shape) - 2)
    while distance < length:
        widths = [[0, 0], [distance, 0], *after]
        before = ops.pad(values[:, :-distance], widths, constant_values=np.nan)
        values = ops.where(ops.isnan(values), before, values)
        distance *= 2
    return values
