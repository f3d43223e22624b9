"""The last steps of an input of any length, in operators that every format has."""

import numpy as np
from keras import ops


def last_steps(x, length, short):
    """Return the last steps of a tensor.

    Args:
        x: Tensor `(batch, time, size)`, of any time.
        length: int, number of steps to return.
        short: "pad" to put missing values, NaN or the code 0, before fewer steps; "refuse" for an
            error of the runtime.

    Returns:
        Tensor `(batch, length, size)`.

    Example:
        >>> last_steps(ops.convert_to_tensor([[[1.0], [2.0], [3.0]]]), 2, "refuse").shape[1]
        2
    """
    batch, _, size = ops.shape(x)
    missing = np.nan if "float" in str(x.dtype) else 0
    before = ops.full((batch, length, size), missing, dtype=x.dtype)
    padded = ops.concatenate([before, x], axis=1)[:, -length:]
    if short == "refuse":
        # Lengths must agree here. Without this, an exported graph would answer a shorter input.
        padded = ops.concatenate([x[:, -length:], padded[..., :1]], axis=-1)[..., :-1]
    return ops.reshape(padded, (x.shape[0] or -1, length, size))
