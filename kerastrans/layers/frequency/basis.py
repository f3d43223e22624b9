"""Basis expansion: from a few coefficients to a curve over time."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_choice, check_positive_integers


def _polynomial(size, time, harmonics):
    """Return the powers 0, 1, ... of the time."""
    return time ** np.arange(size)[:, None]


def _fourier(size, time, harmonics):
    """Return the curves 1, then cosine and sine of 1, 1 + 1 / `harmonics`, ... periods."""
    waves = np.arange(1, size + 1) // 2
    waves = np.where(waves, (waves - 1 + harmonics) / harmonics, 0).astype(time.dtype)
    angles = waves[:, None] * (2 * np.pi * time)
    return np.where(np.arange(size)[:, None] % 2, np.cos(angles), np.sin(angles)) + (
        np.arange(size)[:, None] == 0
    )


def _linear(size, time, harmonics):
    """Return the curves that interpolate `size` values at the middles of equal shares of time."""
    knots = (np.arange(size) + 0.5) / size
    middles = time + 0.5 / len(time)
    return np.stack([np.interp(middles, knots, unit) for unit in np.eye(size)])


BASES = {"polynomial": _polynomial, "fourier": _fourier, "linear": _linear}


@serializable
class BasisExpansion(keras.layers.Layer):
    """Coefficients times fixed curves over `length` steps.

    Args:
        basis: "polynomial" (powers 0, 1, 2, ... of t in [0, 1)), "fourier" (1, then cosine and
            sine of one, two, ... periods) or "linear" (the coefficients are values at equally
            spaced knots, interpolated).
        length: int, number of steps of the curve.
        start: int, time of the first step, in steps.
        step: int, 1 if time runs forwards, -1 if it runs backwards.
        period: int, number of steps of the period of "fourier", and of the unit of time of
            "polynomial"; `length` by default.
        harmonics: int, number of curves of "fourier" from one number of periods to the next: with
            2 there are cosine and sine of 1, 1.5, 2, ... periods.
        curve_dtype: dtype of the angles of the curves: "float64", or "float32", which rounds
            them, as the reference of N-BEATS does.

    Call arguments:
        inputs: `(..., coefficients)`.

    Returns:
        `(..., length)`.

    Raises:
        ValueError: If `basis` or `curve_dtype` is unknown, or `step` is not 1 or -1.
        ValueError: If `length`, `period` or `harmonics` is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(BasisExpansion("fourier", length=24)(ops.ones((4, 5))))
        (4, 24)

    Source: Oreshkin et al. (2020), section 3.3; "linear": Challu et al. (2023), equation 3.
    """

    def __init__(
        self,
        basis,
        length,
        start=0,
        step=1,
        period=None,
        harmonics=1,
        curve_dtype="float64",
        **kwargs,
    ):
        check_choice("basis", basis, tuple(BASES))
        check_choice("step", step, (1, -1))
        check_choice("curve_dtype", curve_dtype, ("float64", "float32"))
        period = length if period is None else period
        check_positive_integers(length=length, period=period, harmonics=harmonics)
        super().__init__(**kwargs)
        self.basis = basis
        self.length = length
        self.start = start
        self.step = step
        self.period = period
        self.harmonics = harmonics
        self.curve_dtype = curve_dtype

    def call(self, inputs):
        time = (self.start + self.step * np.arange(self.length)) / self.period
        time = time.astype(self.curve_dtype)
        curves = BASES[self.basis](inputs.shape[-1], time, self.harmonics)  # (coefficients, length)
        return ops.matmul(inputs, ops.convert_to_tensor(curves, inputs.dtype))
