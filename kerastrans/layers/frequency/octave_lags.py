"""The lag with the highest autocorrelation in each octave."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


@serializable
class OctaveLags(keras.layers.Layer):
    """Finds the lag with the highest autocorrelation in each octave of lags: 1, 2-3, 4-7, ...

    The linear trend of the series is removed first. Local maxima are preferred to other lags. The
    layer has no weights.

    Args:
        octaves: int, number of octaves.
        trend_length: int, number of steps in which the time of the trend increases from -1 to 1;
            by default all steps of the series. The last steps of a series that begins with missing
            values then have the same lags as the whole series.
        paired: bool, whether the autocorrelation of a lag is divided by the mean square of the
            values in its pairs, instead of that of all values. In a series with gaps or few cycles
            the two differ.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        values: `(batch, time)`, 0 where missing.
        observed: `(batch, time)`, 1 for observed values and 0 elsewhere.

    Returns:
        Three tensors `(batch, octaves)`: the lags, in whole steps; the autocorrelations at these
        lags; and 1 if enough pairs of values are that far apart (at least half as many as the
        lag), 0 otherwise.

    Raises:
        ValueError: If a size is below 1.

    Example:
        >>> import numpy as np
        >>> waves = np.sin(2 * np.pi * np.arange(96) / 12)[None]
        >>> lags, correlations, usable = OctaveLags(octaves=5)(waves, np.ones((1, 96)))
        >>> int(lags[0, 3]), int(lags[0, 4])
        (12, 24)

    Source: Wiener (1930) and Khinchin (1934), for computing the autocorrelation from the spectrum.
    """

    def __init__(self, octaves, trend_length=None, paired=False, **kwargs):
        sizes = {} if trend_length is None else {"trend_length": trend_length}
        check_positive_integers(octaves=octaves, **sizes)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.octaves = octaves
        self.trend_length = trend_length
        self.paired = paired

    def call(self, values, observed):
        max_lag = 2**self.octaves
        # Autocorrelation: mean product of all pairs of observed values at each lag, by their power.
        # All sums are computed together, because each copy of the waves makes exports larger.
        rest = _remove_trend(values, observed, self.trend_length or values.shape[1])
        series, factors = [observed, rest], [(0, 0), (1, 1)]
        if self.paired:
            series, factors = [*series, ops.square(rest)], [*factors, (0, 2)]
        sums = _sum_lagged_products(ops.stack(series, axis=1), factors, max_lag)
        pairs, products = sums[:, 0], sums[:, 1]
        power = products[:, :1] / ops.maximum(pairs[:, :1], 1)
        if self.paired:
            # A thousandth of the power of all values is above the rounding errors of the sums.
            power = sums[:, 2] / ops.maximum(pairs, 1) + 0.001 * power
        correlation = products / ops.maximum(pairs, 1) / (power + 1e-6)
        inner = correlation[:, 1:-1]
        is_peak = (inner >= correlation[:, :-2]) & (inner > correlation[:, 2:])
        lags = np.arange(1, max_lag)
        # Less a quarter: sums of whole numbers have rounding errors, and half a lag may be a half.
        min_pairs = ops.convert_to_tensor(np.maximum(1, lags / 2)[None] - 0.25, inner.dtype)
        has_pairs = pairs[:, 1:-1] >= min_pairs
        # Rank peaks above other lags, and lags with enough pairs above those without.
        rank = ops.where(is_peak, inner, inner - 4)
        rank = ops.where(has_pairs, rank, inner - 8)
        starts = 2 ** np.arange(self.octaves)
        # `top_k` instead of `argmax`, which Keras implements on TensorFlow with bit operations
        # that LiteRT does not support.
        best = [ops.top_k(rank[:, i - 1 : 2 * i - 1], 1)[1] + int(i) for i in starts]
        best = ops.cast(ops.concatenate(best, axis=1), "int32")
        highest = ops.take_along_axis(inner, best - 1, axis=1)
        usable = ops.take_along_axis(ops.cast(has_pairs, inner.dtype), best - 1, axis=1)
        return ops.cast(best, inner.dtype), ops.clip(highest, -1, 1) * usable, usable

    def compute_output_shape(self, values_shape, observed_shape):
        return ((values_shape[0], self.octaves),) * 3


def _remove_trend(values, observed, length):
    """Subtract the least-squares line from the series; missing values become 0.

    The last `length` steps are from -1 to 1, whatever the number of steps.
    """
    time = 1 + 2 * np.arange(1 - values.shape[1], 1)[None] / max(1, length - 1)
    time = ops.convert_to_tensor(time, values.dtype) * observed
    number = ops.maximum(ops.sum(observed, axis=1, keepdims=True), 1)
    middle = ops.sum(time, axis=1, keepdims=True) / number
    mean = ops.sum(values * observed, axis=1, keepdims=True) / number
    time = (time - middle) * observed
    x = (values - mean) * observed
    slope = ops.sum(time * x, axis=1, keepdims=True)
    slope = slope / (ops.sum(ops.square(time), axis=1, keepdims=True) + 1e-6)
    return x - slope * time


def _sum_lagged_products(series, factors, max_lag):
    """Return the sums of the products of values k steps apart, for the lags k up to `max_lag`.

    A product is the mean of that of a value of one series with the value of another k steps before
    it, and that with the value k steps after it. The sums are the inverse transform of the real
    part of the cross spectrum.

    Args:
        series: `(batch, count, time)`.
        factors: List of pairs of int, the places of the two series of each product.
        max_lag: int.

    Returns:
        Tensor `(batch, products, max_lag + 1)`.
    """
    count, length = series.shape[1:]
    size = length + max_lag  # long enough that no product wraps around the end
    rows = int(np.ceil(np.sqrt(size)))
    columns = -(-size // rows)
    x = ops.pad(series, [[0, 0], [0, 0], [0, rows * columns - length]])
    parts = _transform(ops.reshape(x, (-1, rows, columns)))
    parts = [ops.reshape(part, (-1, count, rows * columns)) for part in parts]
    power = [sum(part[:, i] * part[:, j] for part in parts) for i, j in factors]
    power = ops.stack(power, axis=1) / (rows * columns)
    # It is symmetric, so its inverse transform is the real part of another transform.
    sums = _transform(ops.reshape(power, (-1, rows, columns)))[0][:, : max_lag + 1]
    return ops.reshape(sums, (-1, len(factors), max_lag + 1))


def _transform(x):
    """Return the real and imaginary parts of the discrete Fourier transform of real series.

    Step `columns * i + j` of a series of `rows * columns` steps is at row i and column j. Each
    column is transformed, rotated by its offset j, and the rows are transformed: two small matrix
    products instead of one whose matrix has millions of entries, in operations that every exported
    format has.

    Args:
        x: `(batch, rows, columns)`.

    Returns:
        Two tensors `(batch, rows * columns)`.

    Source: Cooley and Tukey (1965), "An algorithm for the machine calculation of complex Fourier
    series", with two factors.
    """
    rows, columns = x.shape[1:]
    x = ops.transpose(x, (0, 2, 1))  # (batch, columns, rows)
    real, imaginary = (ops.matmul(x, wave) for wave in _waves(rows, rows, rows, x.dtype))
    # (batch, columns, frequencies of a column)
    cos, sin = _waves(columns, rows, rows * columns, x.dtype)
    real, imaginary = real * cos - imaginary * sin, real * sin + imaginary * cos
    cos, sin = _waves(columns, columns, columns, x.dtype)
    # (batch, frequencies of a row, frequencies of a column), which is the order of the frequencies
    whole = ops.matmul(cos, real) - ops.matmul(sin, imaginary)
    other = ops.matmul(sin, real) + ops.matmul(cos, imaginary)
    return tuple(ops.reshape(part, (-1, rows * columns)) for part in (whole, other))


def _waves(rows, columns, period, dtype):
    """Return cosine and sine of the angles `-2 pi i j / period`, each `(rows, columns)`."""
    angles = -2 * np.pi / period * (np.outer(np.arange(rows), np.arange(columns)) % period)
    return [ops.convert_to_tensor(wave(angles), dtype) for wave in (np.cos, np.sin)]
