"""Marks of the steps before a series begins."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.precision import full_precision


@keras.saving.register_keras_serializable(package="kerastrans")
class SeriesStart(keras.layers.Layer):
    """Replaces the missing values before the first known one by infinity.

    Networks that distinguish missing steps of a series, NaN, from steps before its start, infinite,
    then read a window that is padded with NaN as a shorter series.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, num_channels)`, NaN where missing.

    Returns:
        Tensor of the same shape.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> window = np.array([[[np.nan], [1.0], [np.nan], [3.0]]])
        >>> ops.convert_to_numpy(SeriesStart()(window)).ravel().tolist()
        [inf, 1.0, nan, 3.0]
    """

    takes_missing = True

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})

    def call(self, inputs):
        known = ops.cast(ops.logical_not(ops.isnan(inputs)), inputs.dtype)
        begun = ops.cumsum(known, axis=1) > 0
        return ops.where(begun, inputs, ops.full_like(inputs, np.inf))

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
