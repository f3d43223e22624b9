"""Auto-correlation: attention to delays instead of positions."""

import math

import keras
from keras import ops

from kerastrans.layers.frequency.fourier import irfft, rfft
from kerastrans.layers.initializers import FanInUniform
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class AutoCorrelation(keras.layers.Layer):
    """Sum of the values, shifted by the delays with the largest correlations.

    The correlation at every delay comes from one Fourier transform; the `factor * ln(length)`
    strongest delays of each sequence are weighted by the softmax of their correlation. Both run
    in full precision. A memory of another length is cut or padded with zeros to the query's length.

    Args:
        dim: int, width of queries, keys and values.
        factor: int, number of delays kept per unit of ln(length).

    Call arguments:
        query: `(batch, time, d_model)`.
        memory: `(batch, memory_time, memory_width)`; None for the query itself.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If `dim` or `factor` is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(AutoCorrelation(dim=8)(ops.ones((4, 48, 16))))
        (4, 48, 16)

    Source: Wu et al. (2021), equations 5-8. In training the published code chooses the delays
    for a whole batch; here each sequence has its own, in training and in inference.
    """

    def __init__(self, dim, factor=1, **kwargs):
        check_positive_integers(dim=dim, factor=factor)
        super().__init__(**kwargs)
        self.dim = dim
        self.factor = factor

    def build(self, query_shape, memory_shape=None):
        memory_shape = memory_shape or query_shape

        def dense(units, shape, name):
            layer = keras.layers.Dense(
                units, kernel_initializer=FanInUniform(), dtype=self.dtype_policy, name=name
            )
            layer.build(shape)
            return layer

        self.query_dense = dense(self.dim, query_shape, "query")
        self.key_dense = dense(self.dim, memory_shape, "key")
        self.value_dense = dense(self.dim, memory_shape, "value")
        self.output_dense = dense(query_shape[-1], (*query_shape[:-1], self.dim), "output")

    def call(self, query, memory=None):
        length = query.shape[1]
        memory = _resize(query if memory is None else memory, length)
        queries, keys, values = (
            # (batch, dim, time)
            ops.transpose(ops.cast(dense(x), full_precision()), (0, 2, 1))
            for dense, x in (
                (self.query_dense, query),
                (self.key_dense, memory),
                (self.value_dense, memory),
            )
        )
        spectrum = _times_conjugate(rfft(queries), rfft(keys))
        mean_spectrum = tuple(ops.mean(part, axis=1) for part in spectrum)
        correlation = irfft(*mean_spectrum, length)  # (batch, delay)
        weights = self._strongest(correlation, length)
        weights = rfft(ops.expand_dims(weights, 1))  # (batch, 1, frequency)
        shifted = irfft(*_times_conjugate(rfft(values), weights), length)
        return self.output_dense(ops.transpose(shifted, (0, 2, 1)))

    def _strongest(self, correlation, length):
        """Return the softmax over the strongest delays, zero at the others, `(batch, delay)`."""
        count = min(length, max(1, int(self.factor * math.log(length))))
        strongest, _ = ops.top_k(correlation, count)
        kept = correlation >= strongest[:, -1:]
        return ops.softmax(ops.where(kept, correlation, -1e9))

    def compute_output_shape(self, query_shape, memory_shape=None):
        return query_shape

    def get_config(self):
        return {**super().get_config(), "dim": self.dim, "factor": self.factor}


def _times_conjugate(a, b):
    """Return a * conj(b) of complex numbers given as (real, imaginary)."""
    return a[0] * b[0] + a[1] * b[1], a[1] * b[0] - a[0] * b[1]


def _resize(memory, length):
    missing = length - memory.shape[1]
    return memory[:, :length] if missing <= 0 else ops.pad(memory, ((0, 0), (0, missing), (0, 0)))
