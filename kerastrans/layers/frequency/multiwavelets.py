"""Multiwavelets of Legendre polynomials, and a block that learns on each of their scales."""

import math

import keras
import numpy as np
from keras import ops

from kerastrans.layers.frequency.fourier import irfft, rfft
from kerastrans.layers.initializers import FanInUniform
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_integer, check_positive_integers


def legendre_filters(count):
    """Return the orthogonal matrix from two halves of an interval to its averages and details.

    The basis of an interval are the Legendre polynomials of degree 0 to `count - 1`, scaled to norm
    1. Those of its two halves are a basis twice as large. In this, the first `count` rows of the
    matrix are the polynomials of the whole interval, the others the multiwavelets: what Gram and
    Schmidt leave of the polynomials of the first half.

    Args:
        count: int, number of polynomials.

    Returns:
        NumPy array `(2 * count, 2 * count)`.

    Example:
        >>> legendre_filters(1).round(4).tolist()
        [[0.7071, 0.7071], [0.7071, -0.7071]]

    Source: Alpert (1993), "A class of bases in L2 for the sparse representation of integral
    operators"; Gupta et al. (2021), "Multiwavelet-based operator learning for differential
    equations", section 2.2.
    """
    nodes, weights = np.polynomial.legendre.leggauss(count)  # exact up to degree 2 * count - 1
    norms = np.sqrt(2 * np.arange(count) + 1)

    def polynomials(x):
        """Return the polynomials at points of [-1, 1], `(points, count)`."""
        return np.polynomial.legendre.legvander(x, count - 1) * norms

    half = polynomials(nodes) * (weights / 2)[:, None]
    halves = [polynomials((nodes + side) / 2).T @ half / math.sqrt(2) for side in (-1, 1)]
    averages = np.concatenate(halves, axis=1)
    both = np.concatenate([averages, np.eye(count, 2 * count)])
    rows, triangle = np.linalg.qr(both.T)
    return (rows * np.sign(np.diag(triangle))).T


def wrap_to_power(x):
    """Repeat the first steps of `(batch, time, ...)` until their number is a power of 2."""
    length = x.shape[1]
    missing = 2 ** math.ceil(math.log2(length)) - length
    return ops.concatenate([x, x[:, :missing]], axis=1) if missing else x


def num_scales(length, skipped_levels=0):
    """Return the number of scales of a sequence: how often it is halved.

    Args:
        length: int, number of steps.
        skipped_levels: int, number of the coarsest scales that are left out.

    Raises:
        ValueError: If no scale is left.
    """
    scales = math.floor(math.log2(length)) - skipped_levels
    if scales < 1:
        raise ValueError(
            f"skipped_levels must be less than the base 2 logarithm of the {length} steps of a "
            f"sequence, got {skipped_levels}."
        )
    return scales


def decompose(x, filters, scales):
    """Return the averages and the details of each scale, the finest first.

    Args:
        x: `(batch, time, channels, polynomials)`, a power of 2 of steps.
        filters: Matrix of `legendre_filters`.
        scales: int, number of scales.

    Returns:
        List of pairs `(averages, details)`, each of the shape of `x` with half as many steps as the
        scale before.
    """
    _, _, channels, count = x.shape
    found = []
    for _ in range(scales):
        x = ops.reshape(x, (-1, x.shape[1] // 2, 2, channels, count))
        x = ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4)), (-1, x.shape[1], channels, 2 * count))
        x = ops.matmul(x, ops.convert_to_tensor(filters.T, x.dtype))
        x, details = x[..., :count], x[..., count:]
        found.append((x, details))
    return found


def reconstruct(x, parts, filters):
    """Undo `decompose`.

    Args:
        x: Averages of the coarsest scale.
        parts: List of pairs of each scale, the finest first: what is added to the averages, and the
            details.
        filters: Matrix of `legendre_filters`.

    Returns:
        `(batch, time, channels, polynomials)`.
    """
    _, _, channels, count = x.shape
    for added, details in reversed(parts):
        x = ops.concatenate([x + added, details], axis=-1)
        x = ops.matmul(x, ops.convert_to_tensor(filters, x.dtype))
        x = ops.reshape(x, (-1, x.shape[1], channels, 2, count))
        x = ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4)), (-1, 2 * x.shape[1], channels, count))
    return x


class MultiwaveletLayer(keras.layers.Layer):
    """Base layer: projections to coefficients of polynomials, and their scales."""

    def __init__(self, channels, num_polynomials, modes, **kwargs):
        check_positive_integers(channels=channels, num_polynomials=num_polynomials, modes=modes)
        super().__init__(**kwargs)
        self.channels = channels
        self.num_polynomials = num_polynomials
        self.modes = modes
        self.filters = legendre_filters(num_polynomials)

    def _dense(self, units, width, name):
        layer = keras.layers.Dense(
            units, kernel_initializer=FanInUniform(), dtype=self.dtype_policy, name=name
        )
        layer.build((None, None, width))
        return layer

    def _scales(self, x, scales):
        """Return the `decompose`d scales of `(batch, time, channels * num_polynomials)`."""
        x = ops.reshape(x, (-1, x.shape[1], self.channels, self.num_polynomials))
        return decompose(wrap_to_power(ops.cast(x, full_precision())), self.filters, scales)

    def _restore(self, coarsest, parts, length):
        """Return the sequence `(batch, length, channels * num_polynomials)` of these scales."""
        x = reconstruct(coarsest, parts, self.filters)[:, :length]
        return ops.reshape(x, (-1, length, self.channels * self.num_polynomials))

    def get_config(self):
        return {
            **super().get_config(),
            "channels": self.channels,
            "num_polynomials": self.num_polynomials,
            "modes": self.modes,
        }


@serializable
class MultiwaveletBlock(MultiwaveletLayer):
    """Multiwavelet block: on each scale, learnt matrices multiply the lowest frequencies.

    A sequence is mapped to coefficients of Legendre polynomials, and halved again and again into
    averages and details. On each scale, three kernels, whose weights are the same for all scales,
    give new details and what is added to the averages; both restore the sequence. The transforms
    run in full precision.

    Args:
        channels: int, number of coefficients of each polynomial.
        num_polynomials: int, number of Legendre polynomials.
        modes: int, maximum number of frequencies of the kernels.
        skipped_levels: int, number of the coarsest scales that are left out.

    Call arguments:
        inputs: `(batch, time, d_model)` with a known number of steps.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If a size is below 1, or `skipped_levels` is negative.
        ValueError: If the sequence is too short for `skipped_levels`.

    Example:
        >>> from keras import ops
        >>> layer = MultiwaveletBlock(channels=2, num_polynomials=3)
        >>> ops.shape(layer(ops.ones((4, 48, 6))))
        (4, 48, 6)

    Source: Zhou et al. (2022), section 3.3 (FEB-w); Gupta et al. (2021), section 3.
    """

    def __init__(self, channels, num_polynomials=8, modes=16, skipped_levels=0, **kwargs):
        check_integer("skipped_levels", skipped_levels, 0)
        super().__init__(channels, num_polynomials, modes, **kwargs)
        self.skipped_levels = skipped_levels

    def build(self, inputs_shape):
        _, length, d_model = inputs_shape
        self.scales = num_scales(length, self.skipped_levels)
        width = self.channels * self.num_polynomials
        self.input_dense = self._dense(width, d_model, "input")
        self.output_dense = self._dense(d_model, width, "output")
        self.coarsest_dense = keras.layers.Dense(
            self.num_polynomials,
            kernel_initializer=FanInUniform(),
            dtype=full_precision(),
            name="coarsest",
        )
        self.coarsest_dense.build((None, None, None, self.num_polynomials))
        finest = 2 ** math.ceil(math.log2(length)) // 2  # number of steps
        shape = (min(self.modes, finest // 2 + 1), width, width)
        initializer = keras.initializers.RandomUniform(0, 1 / width**2)
        self.kernels = {
            name: [
                self.add_weight(shape=shape, initializer=initializer.clone(), name=f"{name}_{part}")
                for part in ("real", "imaginary")
            ]
            for name in ("detail", "average", "added")
        }

    def call(self, inputs):
        parts = self._scales(self.input_dense(inputs), self.scales)
        changed = [
            (
                self._convolve(details, "added"),
                self._convolve(details, "detail") + self._convolve(averages, "average"),
            )
            for averages, details in parts
        ]
        coarsest = self.coarsest_dense(parts[-1][0])
        return self.output_dense(self._restore(coarsest, changed, inputs.shape[1]))

    def _convolve(self, x, name):
        """Multiply the lowest frequencies of `(batch, time, channels, polynomials)` by a kernel."""
        _, length, *shape = x.shape
        x = ops.transpose(ops.reshape(x, (-1, length, math.prod(shape))), (0, 2, 1))
        real, imaginary = rfft(x)  # (batch, width, frequencies)
        missing = max(0, real.shape[-1] - self.kernels[name][0].shape[0])
        count = real.shape[-1] - missing
        a, b = (ops.cast(kernel[:count], x.dtype) for kernel in self.kernels[name])

        def product(x, kernel):
            x = ops.einsum("bif,fio->bof", x[..., :count], kernel)
            return ops.pad(x, ((0, 0), (0, 0), (0, missing)))

        x = irfft(
            product(real, a) - product(imaginary, b),
            product(real, b) + product(imaginary, a),
            length,
        )
        return ops.reshape(ops.transpose(x, (0, 2, 1)), (-1, length, *shape))

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
