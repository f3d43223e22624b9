"""Rotary positions: where a token is, as the angle by which its features are turned."""

import keras
import numpy as np
from keras import ops


def rotate(x, positions, theta=10000.0):
    """Turn pairs of features by angles that grow with the position.

    Feature i of the first half and feature i of the second half are a pair, which turns by
    `position / theta^(2i / width)`: the product of a query and a key then depends on how far they
    are apart. The angles are at least float32, so that distant positions stay apart under mixed
    precision.

    Args:
        x: `(batch, heads, time, width)`, of an even width.
        positions: `(batch, time)`, of any sign.
        theta: float, at which the slowest pair turns.

    Returns:
        As `x`.

    Example:
        >>> import numpy as np
        >>> x = np.array([[[[1.0, 0.0]]]])
        >>> np.round(rotate(x, np.array([[np.pi / 2]])), 6).tolist()
        [[[[0.0, 1.0]]]]

    Source: Su et al. (2021), "RoFormer: Enhanced Transformer with rotary position embedding",
    section 3.2; the halves as in GPT-NeoX (Black et al., 2022).
    """
    half = x.shape[-1] // 2
    dtype = keras.backend.result_type(x.dtype, "float32")
    speeds = ops.convert_to_tensor(theta ** (-np.arange(half) / half), dtype)
    angles = ops.cast(positions, dtype)[:, None, :, None] * speeds
    sine, cosine = ops.cast(ops.sin(angles), x.dtype), ops.cast(ops.cos(angles), x.dtype)
    first, second = x[..., :half], x[..., half:]
    return ops.concatenate(
        [first * cosine - second * sine, second * cosine + first * sine], axis=-1
    )
