"""Attention in the frequency domain, from one sequence to another."""

from keras import ops

from kerastrans.layers.attention.multi_head_attention import softmax_over_keys
from kerastrans.layers.frequency.fourier import FourierLayer
from kerastrans.utils.keras_internals import KeepsQuantization
from kerastrans.utils.model_files import serializable
from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import check_choice


@serializable
class FourierCrossAttention(KeepsQuantization, FourierLayer):
    """Frequency-enhanced attention: the query's frequencies attend to the value's.

    The weights are the complex tanh of the complex scores, or the softmax of their absolute values
    over the value's frequencies. The result is divided by `dim ** 2`, as in the reference code.
    The initial matrices are equally small, so at the start of training the value hardly changes
    the result.

    Args:
        num_heads, dim, modes, seed, reference_layout, project, mode_selection: As in
            `FourierBlock`; the frequencies are not moved.
        memory_seed: int, seed of the choice of the value's frequencies; None draws one, so that
            the value keeps other frequencies than the query.
        scale: float, factor of the result; None for `1 / dim ** 2`.
        activation: "tanh" of the complex scores, or "softmax" of their absolute values.

    Call arguments:
        query: `(batch, time, d_model)`.
        value: `(batch, value_time, value_width)`.

    Returns:
        `(batch, time, d_model)`.

    Example:
        >>> from keras import ops
        >>> layer = FourierCrossAttention(num_heads=2, dim=8, modes=16)
        >>> ops.shape(layer(ops.ones((4, 36, 6)), ops.ones((4, 48, 6))))
        (4, 36, 6)

    Source: Zhou et al. (2022), equations 6-7 (FEA-f); the division as in their code.
    """

    def __init__(
        self,
        num_heads,
        dim,
        modes=64,
        seed=None,
        memory_seed=None,
        scale=None,
        activation="tanh",
        **kwargs,
    ):
        check_choice("activation", activation, ("tanh", "softmax"))
        super().__init__(num_heads, dim, modes, seed, **kwargs)
        self.activation = activation
        self.memory_seed = draw_seed() if memory_seed is None else memory_seed
        self.scale = 1 / dim**2 if scale is None else scale

    def build(self, query_shape, value_shape):
        self.frequencies = self._choose(query_shape[1], self.seed)
        self.value_frequencies = self._choose(value_shape[1], self.memory_seed)
        self.query_dense = self._dense(self.dim, query_shape, "query")
        self.key_dense = self._dense(self.dim, value_shape, "key")
        self.output_dense = self._dense(query_shape[-1], (*query_shape[:-1], self.dim), "output")
        self._add_weight(self.frequencies)

    def call(self, query, value):
        spectrum = attend_to_frequencies(
            self._transform(self.query_dense(query), self.frequencies),
            self._transform(self.key_dense(value), self.value_frequencies),
            self.activation,
        )
        spectrum = self._weigh(*spectrum)
        x = self._inverse(*spectrum, self.frequencies, query.shape[1])
        return self.output_dense(x * self.scale)

    def compute_output_shape(self, query_shape, value_shape):
        return query_shape


def attend_to_frequencies(query, value, activation):
    """Return the attention of the complex frequencies of a query to the frequencies of a value.

    Args:
        query: Real and imaginary part, each `(batch, frequencies, heads, width)`.
        value: The same of the value, with its own frequencies.
        activation: "tanh" or "softmax", see `FourierCrossAttention`.

    Returns:
        Real and imaginary part, each of the shape of the query.

    Source: Zhou et al. (2022), equation 6.
    """
    (q_real, q_imaginary), (k_real, k_imaginary) = query, value

    def scores(a, b):
        return ops.einsum("bqhw,bkhw->bhqk", a, b)

    def attend(weights, x):
        return ops.einsum("bhqk,bkhw->bqhw", weights, x)

    # The product of complex numbers, without conjugation: (batch, heads, query, key).
    real = scores(q_real, k_real) - scores(q_imaginary, k_imaginary)
    imaginary = scores(q_real, k_imaginary) + scores(q_imaginary, k_real)
    if activation == "softmax":
        real, imaginary = softmax_over_keys(_absolute(real, imaginary)), ops.zeros_like(real)
    else:
        real, imaginary = _complex_tanh(real, imaginary)
    return (
        attend(real, k_real) - attend(imaginary, k_imaginary),
        attend(real, k_imaginary) + attend(imaginary, k_real),
    )


def _absolute(real, imaginary):
    """Return absolute values, whose gradient at 0 is 0."""
    return ops.sqrt(ops.maximum(ops.square(real) + ops.square(imaginary), 1e-30))


def _complex_tanh(real, imaginary):
    """Return the real and imaginary part of tanh, which is finite for large real parts too."""
    decay = ops.exp(-2 * ops.abs(real))
    inverse = 2 * decay / (1 + ops.square(decay))  # 1 / cosh(2 * real)
    # The function has poles at multiples of i * pi / 2.
    denominator = ops.maximum(1 + ops.cos(2 * imaginary) * inverse, 1e-12)
    return ops.tanh(2 * real) / denominator, ops.sin(2 * imaginary) * inverse / denominator
