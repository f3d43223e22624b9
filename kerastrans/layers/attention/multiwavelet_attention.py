"""Attention on each scale of multiwavelets: frequencies of one sequence to those of another."""

import keras
from keras import ops

from kerastrans.layers.attention.fourier_attention import attend_to_frequencies
from kerastrans.layers.frequency.fourier import irfft, rfft
from kerastrans.layers.frequency.multiwavelets import MultiwaveletLayer, num_scales
from kerastrans.utils.validation import check_choice


@keras.saving.register_keras_serializable(package="kerastrans")
class MultiwaveletCrossAttention(MultiwaveletLayer):
    """Multiwavelet attention: on each scale, the query's frequencies attend to the memory's.

    Both sequences are decomposed as in `MultiwaveletBlock`. The memory is first cut to the length
    of the query, or continued by zeros. The attention itself has no weights. Its result is divided
    by `d_model ** 2`, as in the published code.

    Args:
        channels, num_polynomials: As in `MultiwaveletBlock`.
        modes: int, maximum number of frequencies of each scale, the lowest ones.
        activation: "tanh" or "softmax", see `FourierCrossAttention`.

    Call arguments:
        query: `(batch, time, d_model)` with a known number of steps.
        memory: `(batch, memory_time, memory_width)`.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If a size is below 1, or the query has a single step.
        ValueError: If `activation` is unknown.

    Example:
        >>> from keras import ops
        >>> layer = MultiwaveletCrossAttention(channels=2, num_polynomials=3)
        >>> ops.shape(layer(ops.ones((4, 36, 6)), ops.ones((4, 48, 6))))
        (4, 36, 6)

    Source: Zhou et al. (2022), section 3.3 (FEA-w); the division as in their code.
    """

    def __init__(self, channels, num_polynomials=8, modes=64, activation="tanh", **kwargs):
        check_choice("activation", activation, ("tanh", "softmax"))
        super().__init__(channels, num_polynomials, modes, **kwargs)
        self.activation = activation

    def build(self, query_shape, memory_shape):
        self.scales = num_scales(query_shape[1])
        width = self.channels * self.num_polynomials
        self.query_dense = self._dense(width, query_shape[-1], "query")
        self.key_dense = self._dense(width, memory_shape[-1], "key")
        self.output_dense = self._dense(query_shape[-1], width, "output")

    def call(self, query, memory):
        length, d_model = query.shape[1:]
        keys = self.key_dense(memory)[:, :length]
        keys = ops.pad(keys, ((0, 0), (0, length - keys.shape[1]), (0, 0)))
        queries = self._scales(self.query_dense(query), self.scales)
        keys = self._scales(keys, self.scales)
        parts = []
        for (q_average, q_detail), (k_average, k_detail) in zip(queries, keys, strict=True):
            details = self._attend(q_detail, k_detail)
            parts.append((details, details + self._attend(q_average, k_average)))
        coarsest = self._attend(queries[-1][0], keys[-1][0])
        # The restored sequence is linear in all parts.
        return self.output_dense(self._restore(coarsest, parts, length) / d_model**2)

    def _attend(self, query, memory):
        """Return the attention of one scale `(batch, time, channels, polynomials)`."""
        length = query.shape[1]
        count = min(length // 2, self.modes)
        if count == 0:
            return ops.zeros_like(query)

        def spectrum(x):
            """Return two parts `(batch, frequencies, polynomials, channels)`."""
            parts = rfft(ops.transpose(x, (0, 3, 2, 1)))
            return tuple(ops.transpose(part[..., :count], (0, 3, 1, 2)) for part in parts)

        def restore(x):
            missing = length // 2 + 1 - count
            return ops.pad(ops.transpose(x, (0, 2, 3, 1)), ((0, 0), (0, 0), (0, 0), (0, missing)))

        parts = attend_to_frequencies(spectrum(query), spectrum(memory), self.activation)
        return ops.transpose(irfft(*map(restore, parts), length), (0, 3, 2, 1))

    def compute_output_shape(self, query_shape, memory_shape):
        return query_shape

    def get_config(self):
        return {**super().get_config(), "activation": self.activation}
