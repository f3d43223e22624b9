"""A series beside itself, some steps earlier: for each of several lags that a row has."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers

FAR = 1e30  # no value is there; runtimes that take steps by a product would make NaN of infinity


@keras.saving.register_keras_serializable(package="kerastrans")
class LagChanges(keras.layers.Layer):
    """How much each of the last values differs from the one that is a lag earlier.

    Args:
        length: int, how many of the last values; the others are only what they differ from.
        **kwargs: more arguments of `keras.layers.Layer`.

    Call arguments:
        values: `(batch, time)`, 0 where missing.
        observed: `(batch, time)`, 1 where there is a value and 0 elsewhere.
        lags: `(batch, count)` whole steps.

    Returns:
        Two tensors `(batch, count, length)`: the differences, 0 where one of the two is missing,
        and 1 where both are there, 0 elsewhere.

    Raises:
        ValueError: `length` is below 1.

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
        before, seen = _take(values, observed, places)
        paired = observed[:, None, -self.length :] * seen
        return (values[:, None, -self.length :] - before) * paired, paired

    def compute_output_shape(self, values_shape, observed_shape, lags_shape):
        return ((*lags_shape, min(self.length, values_shape[1])),) * 2

    def get_config(self):
        return {**super().get_config(), "length": self.length}


@keras.saving.register_keras_serializable(package="kerastrans")
class SamePhase(keras.layers.Layer):
    """The last values of the past at the phase of each future step, for each of several lags.

    Args:
        cycles: int, how many values, the newest first.
        **kwargs: more arguments of `keras.layers.Layer`.

    Call arguments:
        values: `(batch, time)`, 0 where missing.
        observed: `(batch, time)`, 1 where there is a value and 0 elsewhere.
        lags: `(batch, count)` whole steps.
        steps: `(batch, future)` whole steps after the last one of the past, from 1.

    Returns:
        Two tensors `(batch, future, count, cycles)`: the values, and 1 where there is one, 0
        elsewhere.

    Raises:
        ValueError: `cycles` is below 1.

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
        lags = ops.cast(lags, "int32")[:, None]
        steps = ops.cast(steps, "int32")[..., None]
        back = (steps + lags - 1) // lags  # whole cycles to the last one that is past
        more = ops.convert_to_tensor(np.arange(self.cycles)[None, None, None], "int32")
        places = steps[..., None] - lags[..., None] * (back[..., None] + more)
        past, seen = _take(values, observed, values.shape[1] - 1 + places)
        return past, seen

    def compute_output_shape(self, values_shape, observed_shape, lags_shape, steps_shape):
        return ((*steps_shape, lags_shape[1], self.cycles),) * 2

    def get_config(self):
        return {**super().get_config(), "cycles": self.cycles}


def _take(values, observed, places):
    """What is at each row's places `(batch, ...)`, at most `time` - 1, and where anything is."""
    flat = ops.reshape(ops.maximum(places, 0), (ops.shape(places)[0], -1))
    marked = ops.where(observed > 0, values, FAR)  # so that one look finds both
    found = ops.reshape(ops.take_along_axis(marked, flat, axis=1), ops.shape(places))
    is_seen = (places >= 0) & (found < FAR)
    return ops.where(is_seen, found, 0.0), ops.cast(is_seen, values.dtype)
