"""The lag with the highest autocorrelation in each octave."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class OctaveLags(keras.layers.Layer):
    """Finds the lag with the highest autocorrelation in each octave of lags: 1, 2-3, 4-7, ...

    The linear trend of the series is removed first. Local maxima are preferred to other lags. The
    layer has no weights.

    Args:
        octaves: int, number of octaves.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        values: `(batch, time)`, 0 where missing.
        observed: `(batch, time)`, 1 for observed values and 0 elsewhere.

    Returns:
        Three tensors `(batch, octaves)`: the lags, in whole steps; the autocorrelations at these
        lags; and 1 if enough pairs of values are that far apart (at least half as many as the
        lag), 0 otherwise.

    Raises:
        ValueError: If `octaves` is below 1.

    Example:
        >>> import numpy as np
        >>> waves = np.sin(2 * np.pi * np.arange(96) / 12)[None]
        >>> lags, correlations, usable = OctaveLags(octaves=5)(waves, np.ones((1, 96)))
        >>> int(lags[0, 3]), int(lags[0, 4])
        (12, 24)

    Source: Wiener (1930) and Khinchin (1934), for computing the autocorrelation from the spectrum.
    """

    def __init__(self, octaves, **kwargs):
        check_positive_integers(octaves=octaves)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.octaves = octaves

    def call(self, values, observed):
        max_lag = 2**self.octaves
        # Autocorrelation: mean product of all pairs of observed values at each lag.
        pairs = _sum_lagged_products(observed, max_lag)
        x = _remove_trend(values, observed)
        products = _sum_lagged_products(x, max_lag)
        power = products[:, :1] / ops.maximum(pairs[:, :1], 1) + 1e-6
        correlation = products / ops.maximum(pairs, 1) / power
        inner = correlation[:, 1:-1]
        is_peak = (inner >= correlation[:, :-2]) & (inner > correlation[:, 2:])
        lags = np.arange(1, max_lag)
        min_pairs = ops.convert_to_tensor(np.maximum(1, lags / 2)[None] - 0.5, inner.dtype)
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

    def get_config(self):
        return {**super().get_config(), "octaves": self.octaves}


def _remove_trend(values, observed):
    """Subtract the least-squares line from the series; missing values become 0."""
    length = values.shape[1]
    time = ops.convert_to_tensor(np.linspace(-1, 1, length)[None], values.dtype) * observed
    number = ops.maximum(ops.sum(observed, axis=1, keepdims=True), 1)
    middle = ops.sum(time, axis=1, keepdims=True) / number
    mean = ops.sum(values * observed, axis=1, keepdims=True) / number
    time = (time - middle) * observed
    x = (values - mean) * observed
    slope = ops.sum(time * x, axis=1, keepdims=True)
    slope = slope / (ops.sum(ops.square(time), axis=1, keepdims=True) + 1e-6)
    return x - slope * time


def _sum_lagged_products(x, max_lag):
    """Return the sum of the products of all values k steps apart, `(batch, max_lag + 1)`.

    The lag k runs from 0 to `max_lag`. The sums are the inverse transform of the power spectrum.
    """
    size = x.shape[1] + max_lag  # long enough that no product wraps around the end
    frequencies = np.arange(size // 2 + 1)
    angles = 2 * np.pi / size * (np.outer(np.arange(x.shape[1]), frequencies) % size)
    waves = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    spectrum = ops.square(ops.matmul(x, ops.convert_to_tensor(waves, x.dtype)))
    power = spectrum[:, : len(frequencies)] + spectrum[:, len(frequencies) :]
    double = np.where((frequencies == 0) | (2 * frequencies == size), 1, 2)[:, None] / size
    angles = 2 * np.pi / size * (np.outer(frequencies, np.arange(max_lag + 1)) % size)
    return ops.matmul(power, ops.convert_to_tensor(np.cos(angles) * double, x.dtype))
