"""Linear interpolation of missing steps."""

import keras
from keras import ops

from kerastrans.utils.precision import full_precision


@keras.saving.register_keras_serializable(package="kerastrans")
class LinearInterpolation(keras.layers.Layer):
    """Fills the missing steps of a series by linear interpolation between the known steps.

    Steps before the first known step get its value, and steps after the last known step get the
    value of the last. A series without a known step becomes zero.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time)`, NaN where missing.

    Returns:
        The filled series, and a mask that is 0 before the first known step and 1 from that step,
        each `(batch, time)`.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> nan = np.nan
        >>> filled, begun = LinearInterpolation()(np.array([[nan, 1.0, nan, nan, 4.0, nan]]))
        >>> ops.convert_to_numpy(filled).tolist()
        [[1.0, 1.0, 2.0, 3.0, 4.0, 4.0]]
    """

    takes_missing = True

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})

    def call(self, inputs):
        known = ops.logical_not(ops.isnan(inputs))
        values = ops.where(known, inputs, ops.zeros_like(inputs))
        length = inputs.shape[-1]
        steps = ops.arange(length, dtype=self.compute_dtype)
        # Position of the nearest known step before (-1 for none) and after (`length` for none).
        before = _running_maximum(ops.where(known, steps, -1.0))
        backwards = _running_maximum(ops.flip(ops.where(known, length - 1 - steps, -1.0), -1))
        after = length - 1 - ops.flip(backwards, -1)
        left, right = (
            ops.take_along_axis(values, ops.cast(ops.clip(step, 0, length - 1), "int32"), axis=-1)
            for step in (before, after)
        )
        share = (steps - before) / ops.maximum(after - before, 1.0)
        between = left + share * (right - left)
        filled = ops.where(before < 0, right, ops.where(after >= length, left, between))
        return ops.where(known, values, filled), ops.cast(before >= 0, self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape, inputs_shape


def _running_maximum(x):
    """Return the running maximum along the last axis; the reach doubles in each pass."""
    length, reach = x.shape[-1], 1
    while reach < length:
        x = ops.concatenate([x[..., :reach], ops.maximum(x[..., reach:], x[..., :-reach])], axis=-1)
        reach *= 2
    return x
