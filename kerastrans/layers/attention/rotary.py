"""Rotary positions: the features of a token are turned by an angle for its position."""

import keras
import numpy as np
from keras import ops


def rotate(x, positions, theta=10000.0):
    """Turn pairs of features by angles that grow with the position.

    Feature i of the first half and feature i of the second half are a pair, which turns by
    `position / theta^(2i / width)`. The product of a query and a key then depends on their
    distance. The angles are at least float32, so that distant positions stay apart under mixed
    precision.

    Args:
        x: Tensor `(batch, heads, time, width)` with an even width.
        positions: Tensor `(batch, time)`; positions may be negative.
        theta: float, base of the angles; the larger it is, the slower the last pairs turn.

    Returns:
        Tensor with the shape and dtype of `x`.

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
