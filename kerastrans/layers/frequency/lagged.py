"""Layers that read the values of a series at several lags, which differ by series."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers

# Marks a missing value. It is finite, because runtimes that gather by a matrix product would turn
# infinity into NaN.
_MISSING = 1e30


@serializable
class LagChanges(keras.layers.Layer):
    """Differences between the last values of a series and the values one lag earlier.

    Args:
        length: int, number of last values to take differences of; earlier values are only
            subtracted.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        values: `(batch, time)`, 0 where missing.
        observed: `(batch, time)`, 1 for observed values and 0 elsewhere.
        lags: `(batch, count)` whole steps.

    Returns:
        Two tensors `(batch, count, length)`: the differences, 0 if one of the two values is
        missing; and 1 if both values are observed, 0 otherwise.

    Raises:
        ValueError: If `length` is below 1.

    Example:
        >>> import numpy as np
        >>> values = np.array([[1.0, 2.0, 4.0]])
        >>> changes, _ = LagChanges(length=3)(values, np.ones((1, 3)), np.array([[1.0, 2.0]]))
        >>> [[int(x) for x in row] for row in changes[0]]
        [[0, 1, 2], [0, 0, 3]]
    """

    def __init__(self, length, **kwargs):
        check_positive_integers(length=length)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.length = length

    def call(self, values, observed, lags):
        steps = np.arange(values.shape[1])[None, None, -self.length :]
        places = ops.convert_to_tensor(steps, "int32") - ops.cast(lags, "int32")[..., None]
        earlier, is_observed = _take(values, observed, places)
        paired = observed[:, None, -self.length :] * is_observed
        return (values[:, None, -self.length :] - earlier) * paired, paired

    def compute_output_shape(self, values_shape, observed_shape, lags_shape):
        return ((*lags_shape, min(self.length, values_shape[1])),) * 2


@serializable
class SamePhase(keras.layers.Layer):
    """The last past values at the phase of each future step, for each of several lags.

    Args:
        cycles: int, number of values, the newest first.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        values: `(batch, time)`, 0 where missing.
        observed: `(batch, time)`, 1 for observed values and 0 elsewhere.
        lags: `(batch, count)` whole steps.
        steps: `(batch, future)` whole steps after the end of the past, counted from 1.

    Returns:
        Two tensors `(batch, future, count, cycles)`: the values; and 1 for observed values, 0
        elsewhere.

    Raises:
        ValueError: If `cycles` is below 1.

    Example:
        >>> import numpy as np
        >>> values = np.array([[1.0, 2.0, 3.0, 4.0]])
        >>> layer = SamePhase(cycles=2)
        >>> past, _ = layer(values, np.ones((1, 4)), np.array([[2.0]]), np.array([[1.0, 4.0]]))
        >>> [[int(x) for x in cycles] for cycles in past[0, :, 0]]
        [[3, 1], [4, 2]]
    """

    def __init__(self, cycles, **kwargs):
        check_positive_integers(cycles=cycles)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.cycles = cycles

    def call(self, values, observed, lags, steps):
        return _take(values, observed, values.shape[1] - 1 + self.places(lags, steps))

    def places(self, lags, steps):
        """Return the places of the past values, `(batch, future, count, cycles)`.

        The last step of the past has the place 0, and the step before it -1.
        """
        lags = ops.cast(lags, "int32")[:, None]
        steps = ops.cast(steps, "int32")[..., None]
        # Subtracted, because Keras on TensorFlow takes what is added for a bias of the second axis
        # if a single row has as many steps as lags, or as cycles (Keras 3.15).
        nearest = ops.subtract(steps, 1 - lags) // lags  # cycles back to the newest past value
        # An array, not a tensor: a graph outside of the layer would capture a tensor, and could not
        # be exported.
        cycles = np.arange(self.cycles, dtype="int32")[None, None, None]
        nearest = ops.subtract(nearest[..., None], -cycles)
        return steps[..., None] - lags[..., None] * nearest

    def compute_output_shape(self, values_shape, observed_shape, lags_shape, steps_shape):
        return ((*steps_shape, lags_shape[1], self.cycles),) * 2


def _take(values, observed, places):
    """Return the values at the places `(batch, ...)` of each row, and 1 for observed values.

    Places are at most `time - 1`; those below 0 count as missing.
    """
    flat = ops.reshape(ops.maximum(places, 0), (ops.shape(places)[0], -1))
    marked = ops.where(observed > 0, values, _MISSING)  # one gather reads both value and mask
    taken = ops.reshape(ops.take_along_axis(marked, flat, axis=1), ops.shape(places))
    is_observed = (places >= 0) & (taken < _MISSING)
    return ops.where(is_observed, taken, 0.0), ops.cast(is_observed, values.dtype)
