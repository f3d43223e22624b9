"""Linear recurrences, computed in parallel."""

from keras import ops


def linear_recurrence(decay, driven):
    """Return `s[t] = decay[t] s[t - 1] + driven[t]` of all steps along axis 1, from 0.

    Each pass adds the states of twice as many earlier steps: one step, two, four ... so
    `log2(time)` passes suffice. If no decay exceeds one, nothing overflows.

    Args:
        decay: `(batch, time, ...)`.
        driven: Tensor of the same shape.

    Example:
        >>> decay, driven = ops.convert_to_tensor([[0.5, 0.5, 0.5]]), ops.ones((1, 3))
        >>> ops.convert_to_numpy(linear_recurrence(decay, driven)).tolist()
        [[1.0, 1.5, 1.75]]
    """
    length, reach = decay.shape[1], 1
    after = [[0, 0]] * (len(decay.shape) - 2)
    while reach < length:
        shift = [[0, 0], [reach, 0], *after]
        driven = driven + decay * ops.pad(driven[:, :-reach], shift)
        decay = decay * ops.pad(decay[:, :-reach], shift)
        reach *= 2
    return driven
