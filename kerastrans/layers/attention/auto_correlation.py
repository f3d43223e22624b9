"""Auto-correlation: attention to delays instead of positions."""

import math

import keras
from keras import ops

from kerastrans.layers.frequency.fourier import irfft, rfft
from kerastrans.layers.initializers import FanInUniform
from kerastrans.utils.keras_internals import KeepsQuantization
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


@serializable
class AutoCorrelation(KeepsQuantization, keras.layers.Layer):
    """Sum of the values, shifted by the delays with the largest correlations.

    The correlation at every delay comes from one Fourier transform; the `factor * ln(length)`
    strongest delays of each sequence are weighted by the softmax of their correlation. Both run
    in full precision. Keys and values of another length are cut, or padded with zeros, to the
    length of the query.

    Args:
        dim: int, width of queries, keys and values.
        factor: int, number of delays kept per unit of ln(length).
        reference_delays: bool, whether the delays are chosen as in the published code: in training
            for the whole batch; of an odd length without the largest delay, from a correlation
            that is one step shorter.

    Call arguments:
        query: `(batch, time, d_model)`.
        value: `(batch, value_time, value_width)`; None for the query itself.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If `dim` or `factor` is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(AutoCorrelation(dim=8)(ops.ones((4, 48, 16))))
        (4, 48, 16)

    Source: Wu et al. (2021), equations 5-8.
    """

    def __init__(self, dim, factor=1, reference_delays=False, **kwargs):
        check_positive_integers(dim=dim, factor=factor)
        super().__init__(**kwargs)
        self.dim = dim
        self.factor = factor
        self.reference_delays = reference_delays

    def build(self, query_shape, value_shape=None):
        value_shape = value_shape or query_shape

        def dense(units, shape, name):
            layer = keras.layers.Dense(
                units, kernel_initializer=FanInUniform(), dtype=self.dtype_policy, name=name
            )
            layer.build(shape)
            return layer

        self.query_dense = dense(self.dim, query_shape, "query")
        self.key_dense = dense(self.dim, value_shape, "key")
        self.value_dense = dense(self.dim, value_shape, "value")
        self.output_dense = dense(query_shape[-1], (*query_shape[:-1], self.dim), "output")

    def call(self, query, value=None, training=False):
        length = query.shape[1]
        value = query if value is None else value
        queries, keys, values = (
            # (batch, dim, time)
            ops.transpose(ops.cast(_resize(dense(x), length), full_precision()), (0, 2, 1))
            for dense, x in (
                (self.query_dense, query),
                (self.key_dense, value),
                (self.value_dense, value),
            )
        )
        # The correlation at all delays is the inverse transform of this product.
        spectrum = _times_conjugate(rfft(queries), rfft(keys))  # (batch, dim, frequency)
        mean_spectrum = tuple(ops.mean(part, axis=1) for part in spectrum)
        num_delays = max(1, length - length % 2) if self.reference_delays else length
        correlation = irfft(*mean_spectrum, num_delays)  # (batch, delay)
        weights = self._strongest(correlation, length, training and self.reference_delays)
        weights = ops.pad(weights, ((0, 0), (0, length - num_delays)))
        weights = rfft(ops.expand_dims(weights, 1))  # (batch, 1, frequency)
        # Weighted sum of the values at all delays, again as a product: (batch, dim, time).
        shifted = irfft(*_times_conjugate(rfft(values), weights), length)
        return self.output_dense(ops.transpose(shifted, (0, 2, 1)))

    def _strongest(self, correlation, length, of_batch=False):
        """Return the softmax over the strongest delays, zero at the others, `(batch, delay)`."""
        count = min(correlation.shape[1], max(1, int(self.factor * math.log(length))))
        strength = ops.mean(correlation, axis=0, keepdims=True) if of_batch else correlation
        strongest, _ = ops.top_k(strength, count)
        kept = strength >= strongest[:, -1:]
        return ops.softmax(ops.where(kept, correlation, -1e9))

    def compute_output_shape(self, query_shape, value_shape=None):
        return query_shape


def _times_conjugate(a, b):
    """Return a * conj(b) of complex numbers given as (real, imaginary)."""
    return a[0] * b[0] + a[1] * b[1], a[1] * b[0] - a[0] * b[1]


def _resize(x, length):
    missing = length - x.shape[1]
    return x[:, :length] if missing <= 0 else ops.pad(x, ((0, 0), (0, missing), (0, 0)))
