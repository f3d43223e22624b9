"""The lag of each octave at which a series is most like itself."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class OctaveLags(keras.layers.Layer):
    """Finds in each octave of lags, 1, 2 to 3, 4 to 7 and so on, the highest autocorrelation.

    A line is taken out of the series first. A local maximum goes before other lags. The layer has
    no weights.

    Args:
        octaves: int, how many.
        **kwargs: more arguments of `keras.layers.Layer`.

    Call arguments:
        values: `(batch, time)`, 0 where missing.
        observed: `(batch, time)`, 1 where there is a value and 0 elsewhere.

    Returns:
        Three tensors `(batch, octaves)`: the lags, in whole steps; the autocorrelations there; and
        1 where enough pairs of values are that far apart, half as many as the lag, 0 elsewhere.

    Raises:
        ValueError: `octaves` is below 1.

    Example:
        >>> import numpy as np
        >>> waves = np.sin(2 * np.pi * np.arange(96) / 12)[None]
        >>> lags, correlations, usable = OctaveLags(octaves=5)(waves, np.ones((1, 96)))
        >>> int(lags[0, 3]), int(lags[0, 4])
        (12, 24)

    Source: Wiener (1930) and Khinchin (1934) for the autocorrelation by the spectrum.
    """

    def __init__(self, octaves, **kwargs):
        check_positive_integers(octaves=octaves)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.octaves = octaves

    def call(self, values, observed):
        most = 2**self.octaves
        pairs = _products(observed, most)
        x = _without_line(values, observed)
        products = _products(x, most)
        power = products[:, :1] / ops.maximum(pairs[:, :1], 1) + 1e-6
        correlation = products / ops.maximum(pairs, 1) / power
        inner = correlation[:, 1:-1]
        is_peak = (inner >= correlation[:, :-2]) & (inner > correlation[:, 2:])
        lags = np.arange(1, most)
        enough = ops.convert_to_tensor(np.maximum(1, lags / 2)[None] - 0.5, inner.dtype)
        has_pairs = pairs[:, 1:-1] >= enough
        rank = ops.where(is_peak, inner, inner - 4)
        rank = ops.where(has_pairs, rank, inner - 8)
        starts = 2 ** np.arange(self.octaves)
        # `top_k` and not `argmax`, for which Keras has TensorFlow look at bits that LiteRT cannot.
        best = [ops.top_k(rank[:, i - 1 : 2 * i - 1], 1)[1] + int(i) for i in starts]
        best = ops.cast(ops.concatenate(best, axis=1), "int32")
        found = ops.take_along_axis(inner, best - 1, axis=1)
        usable = ops.take_along_axis(ops.cast(has_pairs, inner.dtype), best - 1, axis=1)
        return ops.cast(best, inner.dtype), ops.clip(found, -1, 1) * usable, usable

    def compute_output_shape(self, values_shape, observed_shape):
        return ((values_shape[0], self.octaves),) * 3

    def get_config(self):
        return {**super().get_config(), "octaves": self.octaves}


def _without_line(values, observed):
    """The series less its least-squares line, 0 where missing."""
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


def _products(x, most):
    """Sums of the products of all values that are 0 to `most` steps apart, `(batch, most + 1)`."""
    size = x.shape[1] + most  # so that no product goes round the end
    frequencies = np.arange(size // 2 + 1)
    angles = 2 * np.pi / size * (np.outer(np.arange(x.shape[1]), frequencies) % size)
    waves = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
    spectrum = ops.square(ops.matmul(x, ops.convert_to_tensor(waves, x.dtype)))
    power = spectrum[:, : len(frequencies)] + spectrum[:, len(frequencies) :]
    double = np.where((frequencies == 0) | (2 * frequencies == size), 1, 2)[:, None] / size
    back = np.cos(2 * np.pi / size * (np.outer(frequencies, np.arange(most + 1)) % size)) * double
    return ops.matmul(power, ops.convert_to_tensor(back, x.dtype))
