"""Layers that work on a fixed selection of frequencies."""

import keras
import numpy as np
from keras import ops

from kerastrans.layers.initializers import FanInUniform
from kerastrans.utils.precision import full_precision
from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import check_choice, check_divides, check_positive_integers


class FourierLayer(keras.layers.Layer):
    """Base layer: projections, transforms to selected frequencies, complex weights for each."""

    def __init__(
        self,
        num_heads,
        dim,
        modes=64,
        seed=None,
        reference_layout=False,
        project=True,
        mode_selection="random",
        **kwargs,
    ):
        check_choice("mode_selection", mode_selection, ("random", "low"))
        check_positive_integers(num_heads=num_heads, dim=dim, modes=modes)
        check_divides(num_heads=num_heads, dim=dim)
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.dim = dim
        self.modes = modes
        self.reference_layout = reference_layout
        self.project = project
        self.mode_selection = mode_selection
        # Drawn here so that the config stores it and a loaded layer keeps its frequencies.
        self.seed = draw_seed() if seed is None else seed

    def _dense(self, units, shape, name):
        """Return a projection, or the identity if the caller projects."""
        if not self.project:
            return lambda x: x
        layer = keras.layers.Dense(
            units, kernel_initializer=FanInUniform(), dtype=self.dtype_policy, name=name
        )
        layer.build(shape)
        return layer

    def _add_weight(self, frequencies):
        """Add complex weights `(frequency, head, in, out)` as a pair of real weights."""
        width = self.dim // self.num_heads
        shape = (len(frequencies), self.num_heads, width, width)
        for part in ("real", "imaginary"):
            initializer = keras.initializers.RandomUniform(0, 1 / self.dim**2)
            setattr(self, part, self.add_weight(shape=shape, initializer=initializer, name=part))

    def _choose(self, length, seed):
        """Return at most `modes` sorted frequencies below length / 2, shared by all heads."""
        count = max(1, length // 2)
        if self.mode_selection == "low":
            return np.arange(count)[: self.modes]
        chosen = np.random.default_rng(seed).permutation(count)[: self.modes]
        return np.sort(chosen)

    def _transform(self, x, frequencies):
        """Transform `(batch, time, dim)` to two parts `(batch, frequency, head, width)`.

        The parts are the real and the imaginary part.
        """
        x = ops.cast(x, full_precision())
        angles = _angles(x.shape[1], frequencies)
        shape = (-1, len(frequencies), self.num_heads, self.dim // self.num_heads)
        return tuple(
            ops.reshape(ops.einsum("btd,tf->bfd", x, ops.convert_to_tensor(wave, x.dtype)), shape)
            for wave in (np.cos(angles), -np.sin(angles))
        )

    def _inverse(self, real, imaginary, frequencies, length):
        """Return the series `(batch, time, dim)` with these frequencies and no others.

        In the published code its features are read as steps and its steps as features
        (`reference_layout`).
        """
        angles = _angles(length, frequencies)
        share = np.where(frequencies == 0, 1.0, 2.0) / length
        waves = (np.cos(angles) * share, -np.sin(angles) * share)
        shape = (-1, len(frequencies), self.dim)
        equation = "bfd,tf->bdt" if self.reference_layout else "bfd,tf->btd"
        x = sum(
            ops.einsum(equation, ops.reshape(part, shape), ops.convert_to_tensor(wave, part.dtype))
            for part, wave in zip((real, imaginary), waves, strict=True)
        )
        return ops.reshape(x, (-1, length, self.dim)) if self.reference_layout else x

    def _weigh(self, real, imaginary):
        """Multiply by the complex weights of the layer, per frequency and head."""

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
            "reference_layout": self.reference_layout,
            "project": self.project,
            "mode_selection": self.mode_selection,
        }


@keras.saving.register_keras_serializable(package="kerastrans")
class FourierBlock(FourierLayer):
    """Frequency-enhanced block: multiplies selected frequencies by learnt matrices.

    The transforms run in full precision.

    Args:
        num_heads: int, number of heads, a divisor of `dim`; the matrices mix features within a
            head.
        dim: int, width inside the block.
        modes: int, maximum number of frequencies to keep.
        seed: int, seed of the selection; None draws a seed, so that every block keeps different
            frequencies.
        reference_layout: bool, whether the selected frequencies are moved to the lowest ones, and
            steps and features are mixed at the end, as in the published code.
        project: bool, whether the layer projects its inputs and outputs. Layers that share their
            complex weights are one layer without projections.
        mode_selection: "random" to draw the frequencies, or "low" for the lowest ones, as published
            code offers.

    Call arguments:
        inputs: `(batch, time, d_model)`.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If a size is below 1.
        ValueError: If `num_heads` does not divide `dim`.
        ValueError: If `mode_selection` is unknown.

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
        places = np.arange(len(self.frequencies)) if self.reference_layout else self.frequencies
        return self.output_dense(self._inverse(*spectrum, places, inputs.shape[1]))

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


def _angles(length, frequencies):
    """Return the angle of each frequency at each step, `(length, frequencies)`."""
    return 2 * np.pi / length * np.arange(length)[:, None] * frequencies


def rfft(x):
    """Return the real and imaginary part `(..., frequency)` of the transform of `(..., time)`.

    Like the layers above, it multiplies by a matrix of waves, so that exported models also run in
    formats without a Fourier transform (LiteRT, ONNX). For the lengths of a context this is not
    slower.
    """
    angles = _angles(x.shape[-1], np.arange(x.shape[-1] // 2 + 1))
    dtype = keras.backend.standardize_dtype(x.dtype)
    return tuple(ops.matmul(x, wave.astype(dtype)) for wave in (np.cos(angles), -np.sin(angles)))


def irfft(real, imaginary, length):
    """Return the series `(..., time)` of this length with the given `rfft`."""
    frequencies = np.arange(length // 2 + 1)
    angles = _angles(length, frequencies)
    share = np.where((frequencies == 0) | (2 * frequencies == length), 1.0, 2.0) / length
    waves = (np.cos(angles) * share, -np.sin(angles) * share)
    dtype = keras.backend.standardize_dtype(real.dtype)
    return sum(
        ops.matmul(part, wave.T.astype(dtype))
        for part, wave in zip((real, imaginary), waves, strict=True)
    )
