"""Covariates relative to their mean in the context."""

import keras
from keras import ops

from kerastrans.utils.precision import full_precision


@keras.saving.register_keras_serializable(package="kerastrans")
class CenteredCovariates(keras.layers.Layer):
    """Subtracts from each covariate its mean over the steps of the context with a known value.

    A model that subtracts the mean of its window sees deviations from that mean, and should see
    covariates in the same way. Otherwise it would have to learn the effect of their level from the
    way that level drifts. A step of the context without a known value, such as a step before the
    series began, becomes 0, and so does a missing covariate.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, columns)`, covariates of the context, optionally followed by those
            of future steps, NaN for missing values.
        history: `(batch, context_length, num_channels)`, NaN for missing values.

    Returns:
        A tensor of the shape of the inputs.

    Example:
        >>> import numpy as np
        >>> price = np.array([[[9.0], [2.0], [4.0], [5.0]]])
        >>> history = np.array([[[np.nan], [0.0], [1.0]]])
        >>> np.asarray(CenteredCovariates()(price, history)).ravel().tolist()
        [0.0, -1.0, 1.0, 2.0]
    """

    takes_missing = True

    def __init__(self, **kwargs):
        super().__init__(**{"dtype": full_precision(), **kwargs})

    def call(self, inputs, history):
        context_length = history.shape[1]
        given = ops.logical_not(ops.isnan(inputs))
        values = ops.where(given, inputs, ops.zeros_like(inputs))
        observed = ops.logical_not(ops.all(ops.isnan(history), axis=2, keepdims=True))
        known = ops.cast(ops.logical_and(given[:, :context_length], observed), inputs.dtype)
        count = ops.maximum(ops.sum(known, axis=1, keepdims=True), 1.0)
        mean = ops.sum(values[:, :context_length] * known, axis=1, keepdims=True) / count
        ahead = ops.cast(given[:, context_length:], inputs.dtype)
        return (values - mean) * ops.concatenate([known, ahead], axis=1)

    def compute_output_shape(self, inputs_shape, history_shape):
        return inputs_shape
