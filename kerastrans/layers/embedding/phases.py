"""Layers that take the periods of each series as an input."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


@serializable
class PhaseEncoding(keras.layers.Layer):
    """Sine and cosine of the phase of each step in each period.

    Args:
        length: int, number of steps.
        harmonics: int, number of multiples of the frequency of each period.

    Call arguments:
        periods: `(batch, count)` whole steps. The features of a period of 0 are zero.

    Returns:
        `(batch, length, 2 * count * harmonics)`.

    Raises:
        ValueError: If a size is below 1.

    Example:
        >>> import numpy as np
        >>> tuple(PhaseEncoding(length=10)(np.array([[4.0, 0.0]])).shape)
        (1, 10, 4)

    Source: the `tinycast` and `fracast` packages (2026).
    """

    def __init__(self, length, harmonics=1, **kwargs):
        check_positive_integers(length=length, harmonics=harmonics)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.length = length
        self.harmonics = harmonics

    def call(self, periods):
        periods = periods[:, None, :, None]
        steps = np.arange(self.length)[:, None, None] * np.arange(1, self.harmonics + 1)
        steps = ops.convert_to_tensor(steps[None], dtype=periods.dtype)
        # Reduce to the phase first, because the sine of a large angle loses digits.
        angles = 2 * np.pi * _phase(steps, periods)
        waves = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
        waves = ops.where(periods[..., None] > 0, waves, ops.zeros_like(waves))
        return ops.reshape(waves, (-1, *self.compute_output_shape(periods.shape[::2])[1:]))

    def compute_output_shape(self, periods_shape):
        return (periods_shape[0], self.length, 2 * periods_shape[1] * self.harmonics)


@serializable
class SeasonalFill(keras.layers.Layer):
    """The mean of the values observed at the same phase of the first period, per future step.

    A phase that was never observed gets the mean of all observed values.

    Args:
        steps: int, number of future steps.
        bins: int, number of bins that the phases of a period are sorted into.

    Call arguments:
        values: `(batch, time)` or `(batch, time, features)`.
        observed: `(batch, time)`, 1 for observed values and 0 elsewhere.
        periods: `(batch, count)` whole steps; only the first is used.

    Returns:
        `(batch, steps)` or `(batch, steps, features)`.

    Raises:
        ValueError: If a size is below 1.

    Example:
        >>> import numpy as np
        >>> values = np.tile([1.0, 2.0, 3.0], 4)[None]
        >>> fill = SeasonalFill(steps=3)(values, np.ones((1, 12)), np.array([[3.0]]))
        >>> [round(float(value)) for value in fill[0]]
        [1, 2, 3]

    Source: the `tinycast` and `fracast` packages (2026).
    """

    def __init__(self, steps, bins=16, **kwargs):
        check_positive_integers(steps=steps, bins=bins)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.steps = steps
        self.bins = bins

    def call(self, values, observed, periods):
        if len(values.shape) == 2:
            return self.call(values[..., None], observed, periods)[..., 0]
        length = values.shape[1]
        period = periods[:, :1]
        # Mean of the observed values of each bin, `(batch, bins, features)`.
        weights = self._assign_bins(0, length, period) * observed[..., None]
        number = ops.sum(weights, axis=1)[..., None]
        means = ops.einsum("blp,blf->bpf", weights, values) / ops.maximum(number, 1)
        # Empty bins get the mean of the whole series.
        observed = observed[..., None]
        total = ops.maximum(ops.sum(observed, axis=1, keepdims=True), 1)
        mean = ops.sum(values * observed, axis=1, keepdims=True) / total
        means = ops.where(number > 0, means, mean)
        return ops.einsum("bsp,bpf->bsf", self._assign_bins(length, self.steps, period), means)

    def _assign_bins(self, start, steps, period):
        """Return the bin of the phase of each step, one-hot `(batch, steps, bins)`."""
        steps = ops.convert_to_tensor(np.arange(start, start + steps)[None], dtype=period.dtype)
        numbers = ops.floor(_phase(steps, period) * self.bins)
        numbers = ops.minimum(ops.cast(numbers, "int32"), self.bins - 1)
        return ops.one_hot(numbers, self.bins, dtype=period.dtype)

    def compute_output_shape(self, values_shape, observed_shape, periods_shape):
        return (values_shape[0], self.steps, *values_shape[2:])


def _phase(steps, period):
    """Return the phase of each step in its period, in [0, 1)."""
    period = ops.maximum(period, 1)
    return ops.mod(steps, period) / period
