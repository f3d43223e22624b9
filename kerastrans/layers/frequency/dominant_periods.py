"""The dominant periods of a series, found in its spectrum."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


@serializable
class DominantPeriods(keras.layers.Layer):
    """The periods of the significant peaks in the periodogram of a series.

    A peak is higher than both its neighbours, and has at least the share `log(n / alpha) / n` of
    the power of all n frequencies, which white noise rarely reaches. The layer has no weights.

    Args:
        count: int, maximum number of periods, the strongest first.
        min_period: int, the shortest period; the longest is that of the frequency next to half
            the length of the series.
        alpha: float in (0, 1], the probability that white noise has such a peak.

    Call arguments:
        values: `(batch, time)`.
        observed: `(batch, time)`, 1 for observed values; other values are replaced by the mean.

    Returns:
        `(batch, count)`, in whole steps, filled up with 0 if fewer periods are found.

    Raises:
        ValueError: If a size is below 1.

    Example:
        >>> import numpy as np
        >>> waves = np.sin(2 * np.pi * np.arange(96) / 12)[None]
        >>> periods = DominantPeriods(count=2)(waves, np.ones((1, 96)))
        >>> [int(period) for period in periods[0]]
        [12, 0]

    Source: Fisher (1929), "Tests of significance in harmonic analysis", with the threshold of the
    `tinycast` and `fracast` packages (2026).
    """

    def __init__(self, count, min_period=2, alpha=0.05, **kwargs):
        check_positive_integers(count=count, min_period=min_period)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.count = count
        self.min_period = min_period
        self.alpha = alpha

    def call(self, values, observed):
        length = values.shape[1]
        size = 1 << (max(2, length) - 1).bit_length()  # the next power of two
        number = ops.maximum(ops.sum(observed, axis=1, keepdims=True), 1)
        mean = ops.sum(values * observed, axis=1, keepdims=True) / number
        x = ops.where(observed > 0, values, mean)
        x = x - ops.mean(x, axis=1, keepdims=True)
        power = _power(ops.pad(x, [[0, 0], [0, size - length]]))
        share = power / ops.maximum(ops.sum(power, axis=1, keepdims=True), 1e-12)
        bins = size // 2
        count = min(self.count, bins)
        # Peaks: higher than both neighbours, above the threshold, at a permitted period.
        inner = share[:, 1:-1]
        threshold = np.log(max(2, bins) / self.alpha) / max(2, bins)
        is_peak = (inner > share[:, :-2]) & (inner > share[:, 2:]) & (inner >= threshold)
        is_peak = ops.logical_and(is_peak, self._in_range(size, length))
        peaks = ops.where(is_peak, inner, ops.zeros_like(inner))
        # The strongest peaks; place 0 is frequency 1, since the power has no frequency 0.
        scores, places = ops.top_k(ops.pad(peaks, [[0, 0], [1, 1]]), count)
        periods = ops.round(size / ops.cast(places + 1, scores.dtype))
        periods = ops.where(scores > 0, periods, ops.zeros_like(periods))
        return ops.pad(periods, [[0, 0], [0, self.count - count]])

    def _in_range(self, size, length):
        """Return which frequencies, except the first and last, belong to a permitted period."""
        bins = np.arange(1, size // 2 - 1)
        lowest = max(0, size // max(2, length // 2) - 1)
        highest = min(size // 2 - 1, max(0, size // max(2, self.min_period) - 1))
        return (lowest < highest) & (bins >= lowest) & (bins <= highest)

    def compute_output_shape(self, values_shape, observed_shape):
        return (values_shape[0], self.count)


def _power(x):
    """Return the power `(batch, n / 2)` of the frequencies 1 ... n / 2 of `(batch, n)`.

    The length n is a power of two. The transform is computed as two products with small matrices
    (Cooley and Tukey, 1965), because export formats may not have a Fourier transform, and the
    matrix of all waves of 2,048 steps would add 16 MB to an exported model.
    """
    size = x.shape[-1]
    rows = 1 << (size.bit_length() - 1) // 2
    columns = size // rows
    dtype = keras.backend.standardize_dtype(x.dtype)

    def waves(first, second, period):
        angles = -2 * np.pi / period * np.outer(np.arange(first), np.arange(second))
        # Tensors: PyTorch would convert a product with an array to an array.
        return [ops.convert_to_tensor(wave(angles), dtype) for wave in (np.cos, np.sin)]

    x = ops.reshape(x, (-1, rows, columns))
    real, imaginary = (ops.matmul(wave, x) for wave in waves(rows, rows, rows))
    cosine, sine = waves(rows, columns, size)
    real, imaginary = real * cosine - imaginary * sine, real * sine + imaginary * cosine
    cosine, sine = waves(columns, columns // 2 + 1, columns)
    real, imaginary = (
        ops.matmul(real, cosine) - ops.matmul(imaginary, sine),
        ops.matmul(real, sine) + ops.matmul(imaginary, cosine),
    )
    power = ops.transpose(real**2 + imaginary**2, (0, 2, 1))  # (batch, high digit, low digit)
    return ops.reshape(power, (-1, (columns // 2 + 1) * rows))[:, 1 : size // 2 + 1]
