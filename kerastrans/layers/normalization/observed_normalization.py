"""Normalization by observed statistics: those of a window, and those of a batch."""

import keras
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive


@serializable
class ObservedNormalization(keras.layers.Layer):
    """Subtracts the mean of a window's observed values and divides by their standard deviation.

    A constant window is divided by `epsilon` instead. A window without observed values has mean 0
    and deviation 1.

    Args:
        epsilon: float above 0, deviation of a constant window.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(..., time)`, NaN where missing.
        visible: Boolean tensor of the same shape, true for values to return; by default all that
            are not missing. A value that is not visible still counts in mean and deviation.

    Returns:
        Four tensors: the normalised values, 0 where not visible, and a mask that is 1 for visible
        values, each `(..., time)`; the mean and the deviation, each `(..., 1)`.

    Example:
        >>> from keras import ops
        >>> window = ops.convert_to_tensor([[1.0, float("nan"), 3.0]])
        >>> [ops.convert_to_numpy(x).tolist() for x in ObservedNormalization()(window)]
        [[[-1.0, 0.0, 1.0]], [[1.0, 0.0, 1.0]], [[2.0]], [[1.0]]]

    Source: Ansari et al. (2024), Chronos-Bolt.
    """

    takes_missing = True

    def __init__(self, epsilon=1e-5, **kwargs):
        check_positive(epsilon=epsilon)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.epsilon = epsilon

    def call(self, inputs, visible=None):
        observed = ops.logical_not(ops.isnan(inputs))
        count = ops.sum(ops.cast(observed, inputs.dtype), axis=-1, keepdims=True)
        divisor = ops.maximum(count, 1)
        mean = ops.sum(ops.where(observed, inputs, 0.0), axis=-1, keepdims=True) / divisor
        distances = ops.where(observed, inputs - mean, 0.0)
        deviation = ops.sqrt(ops.sum(ops.square(distances), axis=-1, keepdims=True) / divisor)
        deviation = ops.where(deviation > 0, deviation, self.epsilon)
        deviation = ops.where(count > 0, deviation, 1.0)
        visible = observed if visible is None else visible
        values = ops.where(visible, distances / deviation, 0.0)
        return values, ops.cast(visible, values.dtype), mean, deviation

    def compute_output_shape(self, inputs_shape, visible_shape=None):
        one = (*inputs_shape[:-1], 1)
        return tuple(inputs_shape), tuple(inputs_shape), one, one


def masked_mean(values, mask, keepdims=False):
    """Return the mean of `(..., time)` over the steps whose mask is 1, 0 if there are none.

    Example:
        >>> x, mask = ops.convert_to_tensor([1.0, 5.0, 3.0]), ops.convert_to_tensor([1.0, 0.0, 1.0])
        >>> float(masked_mean(x, mask))
        2.0
    """
    count = ops.maximum(ops.sum(mask, axis=-1, keepdims=keepdims), 1)
    return ops.sum(values * mask, axis=-1, keepdims=keepdims) / count


@serializable
class BatchNormalization(keras.layers.BatchNormalization):
    """Batch normalization whose moving variance is that of PyTorch.

    The variance that is kept for forecasts has the divisor n - 1, where n is the number of values
    of a feature in the batch; Keras keeps the one with n, by which both normalize in training. The
    difference is large in small batches. A single value, which PyTorch refuses, has variance 0.
    Arguments and weights are those of `keras.layers.BatchNormalization`.

    Example:
        >>> from keras import ops
        >>> layer = BatchNormalization(momentum=0.9)
        >>> _ = layer(ops.convert_to_tensor([[1.0], [3.0]]), training=True)
        >>> ops.convert_to_numpy(layer.moving_variance).round(2)  # 0.9 * 1 + 0.1 * 2
        array([1.1], dtype=float32)

    Source: Ioffe, Szegedy (2015), algorithm 2.
    """

    def call(self, inputs, training=None, mask=None):
        kept = self.momentum * self.moving_variance
        outputs = super().call(inputs, training=training, mask=mask)
        if training and self.trainable:
            values = ops.size(inputs) // kept.shape[0]
            if mask is not None:
                values = ops.sum(ops.cast(mask, "int32"))
            others = ops.cast(ops.maximum(values - 1, 1), kept.dtype)
            self.moving_variance.assign_add((self.moving_variance - kept) / others)
        return outputs
