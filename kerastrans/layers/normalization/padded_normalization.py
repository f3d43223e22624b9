"""Normalization of windows that may begin before their series."""

import keras
from keras import ops

from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive


@keras.saving.register_keras_serializable(package="kerastrans")
class PaddedNormalization(keras.layers.Layer):
    """Subtracts the mean of a window's known values and divides by their standard deviation.

    A missing step is NaN, and a step before the start of the series is infinite, so that a network
    can distinguish them. If the deviation is at most `epsilon`, the divisor is 1.

    Args:
        epsilon: float above 0, largest deviation that is not divided by.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time)`.

    Returns:
        Five tensors: the normalised values, 0 where not known; 1 for known values, 0 elsewhere; 0
        before the start of the series, 1 from the start, each `(batch, time)`; the mean and the
        divisor, each `(batch, 1)`.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> window = ops.convert_to_tensor([[np.inf, 1.0, np.nan, 3.0]])
        >>> [ops.convert_to_numpy(x).tolist() for x in PaddedNormalization()(window)[:3]]
        [[[0.0, -1.0, 0.0, 1.0]], [[0.0, 1.0, 0.0, 1.0]], [[0.0, 1.0, 1.0, 1.0]]]

    Source: PatchTST-FM (IBM, 2026).
    """

    takes_missing = True

    def __init__(self, epsilon=1e-5, **kwargs):
        check_positive(epsilon=epsilon)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.epsilon = epsilon

    def call(self, inputs):
        begun = ops.logical_not(ops.isinf(inputs))
        known = ops.logical_and(begun, ops.logical_not(ops.isnan(inputs)))
        weights, zero = ops.cast(known, inputs.dtype), ops.zeros_like(inputs)
        count = ops.maximum(ops.sum(weights, axis=-1, keepdims=True), 1)
        mean = ops.sum(ops.where(known, inputs, zero), axis=-1, keepdims=True) / count
        distances = ops.where(known, inputs - mean, zero)
        deviation = ops.sqrt(ops.sum(ops.square(distances), axis=-1, keepdims=True) / count)
        divisor = ops.where(deviation > self.epsilon, deviation, ops.ones_like(deviation))
        return distances / divisor, weights, ops.cast(begun, inputs.dtype), mean, divisor

    def compute_output_shape(self, inputs_shape):
        one = (*inputs_shape[:-1], 1)
        return inputs_shape, inputs_shape, inputs_shape, one, one

    def get_config(self):
        return {**super().get_config(), "epsilon": self.epsilon}
