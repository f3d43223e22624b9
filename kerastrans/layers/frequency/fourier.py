"""Layers in the frequency domain, over a fixed random choice of frequencies."""

import keras
import numpy as np
from keras import ops

from kerastrans.layers.initializers import FanInUniform
from kerastrans.utils.precision import full_precision
from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import check_divides, check_positive_integers


class FourierLayer(keras.layers.Layer):
    """Projections, the chosen frequencies' transforms, and one complex weight per frequency."""

    def __init__(self, num_heads, dim, modes=64, seed=None, **kwargs):
        check_positive_integers(num_heads=num_heads, dim=dim, modes=modes)
        check_divides(num_heads=num_heads, dim=dim)
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.dim = dim
        self.modes = modes
        # Drawn here, so that the configuration has it and a loaded layer keeps its frequencies.
        self.seed = draw_seed() if seed is None else seed

    def _dense(self, units, shape, name):
        layer = keras.layers.Dense(
            units, kernel_initializer=FanInUniform(), dtype=self.dtype_policy, name=name
        )
        layer.build(shape)
        return layer

    def _add_weight(self, frequencies):
        """Complex weights `(frequency, head, in, out)` as a pair of real ones."""
        width = self.dim // self.num_heads
        shape = (len(frequencies), self.num_heads, width, width)
        for part in ("real", "imaginary"):
            initializer = keras.initializers.RandomUniform(0, 1 / self.dim**2)
            setattr(self, part, self.add_weight(shape=shape, initializer=initializer, name=part))

    def _choose(self, length, seed):
        """Sorted frequencies, at most `modes` of those below length / 2; all heads share them."""
        count = max(1, length // 2)
        chosen = np.random.default_rng(seed).permutation(count)[: self.modes]
        return np.sort(chosen)

    def _transform(self, x, frequencies):
        """`(batch, time, dim)` -> real and imaginary part `(batch, frequency, head, width)`."""
        x = ops.cast(x, full_precision())
        angles = _angles(x.shape[1], frequencies)
        shape = (-1, len(frequencies), self.num_heads, self.dim // self.num_heads)
        return tuple(
            ops.reshape(ops.einsum("btd,tf->bfd", x, ops.convert_to_tensor(wave, x.dtype)), shape)
            for wave in (np.cos(angles), -np.sin(angles))
        )

    def _inverse(self, real, imaginary, frequencies, length):
        """The series `(batch, time, dim)` that has these frequencies and no others."""
        angles = _angles(length, frequencies)
        share = np.where(frequencies == 0, 1.0, 2.0) / length
        waves = (np.cos(angles) * share, -np.sin(angles) * share)
        shape = (-1, len(frequencies), self.dim)
        return sum(
            ops.einsum(
                "bfd,tf->btd", ops.reshape(part, shape), ops.convert_to_tensor(wave, part.dtype)
            )
            for part, wave in zip((real, imaginary), waves, strict=True)
        )

    def _weigh(self, real, imaginary):
        """Complex product with the layer's weights, frequency by frequency, head by head."""

        def product(x, weight):
            return ops.einsum("bfhi,fhio->bfho", x, ops.cast(weight, x.dtype))

        return (
            product(real, self.real) - product(imaginary, self.imaginary),
            product(real, self.imaginary) + product(imaginary, self.real),
        )

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "dim": self.dim,
            "modes": self.modes,
            "seed": self.seed,
        }


@keras.saving.register_keras_serializable(package="kerastrans")
class FourierBlock(FourierLayer):
    """Frequency-enhanced block: some frequencies of the sequence, each times a learnt matrix.

    The transforms run in full precision.

    Args:
        num_heads: int, which divides `dim`: the matrices mix features within a head.
        dim: int, width inside.
        modes: int, frequencies kept at most.
        seed: int, of their choice; None draws one, so that every block keeps other frequencies.

    Call arguments:
        inputs: `(batch, time, d_model)`.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: a size below 1.
        ValueError: heads that do not divide `dim`.

    Example:
        >>> from keras import ops
        >>> ops.shape(FourierBlock(num_heads=2, dim=8, modes=16)(ops.ones((4, 48, 6))))
        (4, 48, 6)

    Source: Zhou et al. (2022), equations 3-4 (FEB-f).
    """

    def build(self, inputs_shape):
        self.frequencies = self._choose(inputs_shape[1], self.seed)
        self.query_dense = self._dense(self.dim, inputs_shape, "query")
        self.output_dense = self._dense(inputs_shape[-1], (*inputs_shape[:-1], self.dim), "output")
        self._add_weight(self.frequencies)

    def call(self, inputs):
        spectrum = self._transform(self.query_dense(inputs), self.frequencies)
        spectrum = self._weigh(*spectrum)
        return self.output_dense(self._inverse(*spectrum, self.frequencies, inputs.shape[1]))

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


def _angles(length, frequencies):
    return 2 * np.pi / length * np.arange(length)[:, None] * frequencies


def rfft(x):
    """Real and imaginary part `(..., frequency)` of the Fourier transform of `(..., time)`.

    A product with the waves, as in the layers above: an exported model runs it where there is no
    Fourier transform (LiteRT, ONNX), and over the lengths of a context it costs no more.
    """
    angles = _angles(x.shape[-1], np.arange(x.shape[-1] // 2 + 1))
    dtype = keras.backend.standardize_dtype(x.dtype)
    return tuple(ops.matmul(x, wave.astype(dtype)) for wave in (np.cos(angles), -np.sin(angles)))


def irfft(real, imaginary, length):
    """The series `(..., time)` of this length whose `rfft` these are."""
    frequencies = np.arange(length // 2 + 1)
    angles = _angles(length, frequencies)
    share = np.where((frequencies == 0) | (2 * frequencies == length), 1.0, 2.0) / length
    waves = (np.cos(angles) * share, -np.sin(angles) * share)
    dtype = keras.backend.standardize_dtype(real.dtype)
    return sum(
        ops.matmul(part, wave.T.astype(dtype))
        for part, wave in zip((real, imaginary), waves, strict=True)
    )
