"""Masks of the observed values of a series."""

import keras
from keras import ops

from kerastrans.utils.precision import full_precision


@keras.saving.register_keras_serializable(package="kerastrans")
class ObservedValues(keras.layers.Layer):
    """Returns the values with missing ones set to zero, and masks of values and steps.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor of any shape, NaN for missing values, infinite for steps outside the series.

    Returns:
        Three tensors of that shape: the values, zero where missing; 1 for observed values, 0
        elsewhere; 1 for steps of the series, 0 elsewhere.

    Example:
        >>> import numpy as np
        >>> values, observed, present = ObservedValues()(np.array([np.inf, np.nan, 2.0]))
        >>> [[int(x) for x in tensor] for tensor in (values, observed, present)]
        [[0, 0, 2], [0, 0, 1], [0, 1, 1]]
    """

    takes_missing = True

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})

    def call(self, inputs):
        observed = ops.isfinite(inputs)
        values = ops.where(observed, inputs, ops.zeros_like(inputs))
        present = ops.logical_not(ops.isinf(inputs))
        return values, ops.cast(observed, inputs.dtype), ops.cast(present, inputs.dtype)

    def compute_output_shape(self, inputs_shape):
        return (inputs_shape,) * 3
