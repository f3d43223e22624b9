"""Attention in the frequency domain: frequencies of one sequence to those of another."""

import keras
from keras import ops

from kerastrans.layers.frequency.fourier import FourierLayer
from kerastrans.utils.random import draw_seed


@keras.saving.register_keras_serializable(package="kerastrans")
class FourierCrossAttention(FourierLayer):
    """Frequency-enhanced attention: the query's frequencies attend to those of the memory.

    The weights are the tanh of the real and of the imaginary part of the complex scores. The result
    is divided by `dim ** 2`, as in the reference code. The initial matrices are equally small, so
    at the start of training the memory hardly changes the result.

    Args:
        num_heads, dim, modes, seed: as in `FourierBlock`.
        memory_seed: int, seed of the choice of the memory's frequencies; None draws one, so that
            the memory keeps other frequencies than the query.
        scale: float, factor of the result; None for `1 / dim ** 2`.

    Call arguments:
        query: `(batch, time, d_model)`.
        memory: `(batch, memory_time, memory_width)`.

    Returns:
        `(batch, time, d_model)`.

    Example:
        >>> from keras import ops
        >>> layer = FourierCrossAttention(num_heads=2, dim=8, modes=16)
        >>> ops.shape(layer(ops.ones((4, 36, 6)), ops.ones((4, 48, 6))))
        (4, 36, 6)

    Source: Zhou et al. (2022), equations 6-7 (FEA-f with tanh); the division as in their code.
    """

    def __init__(self, num_heads, dim, modes=64, seed=None, memory_seed=None, scale=None, **kwargs):
        super().__init__(num_heads, dim, modes, seed, **kwargs)
        self.memory_seed = draw_seed() if memory_seed is None else memory_seed
        self.scale = 1 / dim**2 if scale is None else scale

    def build(self, query_shape, memory_shape):
        self.frequencies = self._choose(query_shape[1], self.seed)
        self.memory_frequencies = self._choose(memory_shape[1], self.memory_seed)
        self.query_dense = self._dense(self.dim, query_shape, "query")
        self.key_dense = self._dense(self.dim, memory_shape, "key")
        self.output_dense = self._dense(query_shape[-1], (*query_shape[:-1], self.dim), "output")
        self._add_weight(self.frequencies)

    def call(self, query, memory):
        q_real, q_imaginary = self._transform(self.query_dense(query), self.frequencies)
        k_real, k_imaginary = self._transform(self.key_dense(memory), self.memory_frequencies)

        def scores(a, b):
            return ops.einsum("bqhw,bkhw->bhqk", a, b)

        def attend(weights, x):
            return ops.einsum("bhqk,bkhw->bqhw", weights, x)

        real = ops.tanh(scores(q_real, k_real) - scores(q_imaginary, k_imaginary))
        imaginary = ops.tanh(scores(q_real, k_imaginary) + scores(q_imaginary, k_real))
        spectrum = self._weigh(
            attend(real, k_real) - attend(imaginary, k_imaginary),
            attend(real, k_imaginary) + attend(imaginary, k_real),
        )
        x = self._inverse(*spectrum, self.frequencies, query.shape[1])
        return self.output_dense(x * self.scale)

    def compute_output_shape(self, query_shape, memory_shape):
        return query_shape

    def get_config(self):
        return {**super().get_config(), "memory_seed": self.memory_seed, "scale": self.scale}

    @classmethod
    def from_config(cls, config):
        """Create the layer; a file of version 0.1 has one seed for both, and no division."""
        return cls(**{"memory_seed": config.get("seed"), "scale": 1.0, **config})
