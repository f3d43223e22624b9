"""The discrete wavelet transform, as products of matrices."""

import functools
import itertools
import math

import keras
import numpy as np
from keras import ops

from kerastrans.utils.validation import suggest

ORDERS = {"db": range(1, 39), "sym": range(2, 21)}  # numbers of roots at -1
SPLINES = {1: (1, 3, 5), 2: (2, 4, 6, 8), 3: (1, 3, 5, 7, 9)}  # in synthesis: in analysis
WAVELETS = (
    "haar",
    *(f"{family}{order}" for family, orders in ORDERS.items() for order in orders),
    *(f"bior{order}.{dual}" for order, duals in SPLINES.items() for dual in duals),
)
REVERSED = (4, 6, 8, 10, 17, 18)  # symlets whose outermost root PyWavelets has outside the circle
NUM_ANGLES = 257  # grid from 0 to pi for the phase of a filter


@functools.cache
def wavelet_filters(wavelet):
    """Return the low-pass filters of a wavelet.

    Args:
        wavelet: Name of the wavelet as in PyWavelets: "haar"; "db1" to "db38", of Daubechies;
            "sym2" to "sym20", symlets; "bior1.1" to "bior3.9", biorthogonal splines. Numbers count
            the roots of the filters at -1, in synthesis and in analysis.

    Returns:
        `(analysis, synthesis)`, NumPy arrays of the same length whose sums are the root of 2. They
        are equal unless the wavelet is biorthogonal.

    Example:
        >>> analysis, synthesis = wavelet_filters("db2")
        >>> synthesis.round(4).tolist()
        [0.483, 0.8365, 0.2241, -0.1294]

    Source: Daubechies (1992), "Ten lectures on wavelets", chapters 6 and 8.
    """
    if wavelet.startswith("bior"):
        return _splines(*map(int, wavelet.removeprefix("bior").split(".")))
    if wavelet.startswith("sym"):
        filter_ = _symlet(int(wavelet.removeprefix("sym")))
    else:
        order = 1 if wavelet == "haar" else int(wavelet.removeprefix("db"))
        filter_ = _filter([_inner_root(y) for y in _roots(order)], order)
    return filter_, filter_


def check_wavelet(wavelet):
    """Raise ValueError for a name that `wavelet_filters` does not have."""
    if wavelet not in WAVELETS:
        raise ValueError(f"unknown wavelet {wavelet!r}: {suggest(wavelet, WAVELETS)}")


def _roots(order):
    """Return the roots y of the polynomial of Daubechies."""
    return np.roots([math.comb(order - 1 + k, k) for k in reversed(range(order))])


def _inner_root(y):
    """Return the root z inside the circle that y gives; the other one is 1 / z."""
    return min(np.roots([1.0, 4 * y - 2, 1.0]), key=abs)


def _filter(roots, order):
    """Return the filter with these roots and `order` more at -1."""
    filter_ = np.real(np.poly([*roots, *[-1.0] * order]))
    return filter_ * math.sqrt(2) / filter_.sum()


def _symlet(order):
    """Return the filter whose phase is nearest to a line, with z or 1 / z for each root."""
    pairs = []
    for y in _roots(order):
        if y.imag >= 0:  # the conjugate of y gives the conjugate of z
            z = _inner_root(y)
            pairs.append(np.array([z, z.conj()] if y.imag else [z]))
    outermost, *others = sorted(pairs, key=lambda pair: -abs(pair[0]))
    shares = np.linspace(0, 1, NUM_ANGLES)

    def asymmetry(roots):
        """Return how far the phase, between the angles 0 and pi, is from a line."""
        response = np.prod(np.exp(1j * np.pi * shares)[:, None] - roots, axis=1)
        phase = np.unwrap(np.angle(response))
        return np.sum(np.square(phase - phase[0] - shares * (phase[-1] - phase[0])))

    choices = itertools.product(*([pair, 1 / pair] for pair in others))
    roots = min((np.concatenate([outermost, *choice]) for choice in choices), key=asymmetry)
    filter_ = _filter(roots, order)
    return filter_[::-1] if order in REVERSED else filter_


def _splines(order, dual):
    """Return the filters of analysis and synthesis of a biorthogonal spline."""
    roots = [z for y in _roots((order + dual) // 2) for z in np.roots([1.0, 4 * y - 2, 1.0])]
    analysis, synthesis = _filter(roots, dual), _filter([], order)
    sides = (len(analysis) - len(synthesis)) // 2
    end = len(analysis) % 2  # so that the length is even
    return np.pad(analysis, (0, end)), np.pad(synthesis, (sides, sides + end))


def coefficient_lengths(length, wavelet, levels):
    """Return the number of coefficients of each level, the finest first."""
    lengths = []
    for _ in range(levels):
        length = (length + len(wavelet_filters(wavelet)[0]) - 1) // 2
        lengths.append(length)
    return lengths


def decompose(x, wavelet, levels):
    """Return the wavelet coefficients of series.

    The series are continued by zeros.

    Args:
        x: `(..., time)`.
        wavelet: Name of the wavelet, see `wavelet_filters`.
        levels: int, number of levels.

    Returns:
        `(approximation, details)`: the coarsest approximation `(..., coefficients)`, and a list of
        the details of each level, the finest first.
    """
    details = []
    for _ in range(levels):
        analysis, synthesis = wavelet_filters(wavelet)
        details.append(_product(x, _matrix(x.shape[-1], high_pass(synthesis))))
        x = _product(x, _matrix(x.shape[-1], analysis))
    return x, details


def reconstruct(approximation, details, wavelet):
    """Return the series with these coefficients, see `decompose`; their length is even."""
    x = approximation
    for detail in reversed(details):
        analysis, synthesis = wavelet_filters(wavelet)
        count = detail.shape[-1]
        length = 2 * count - len(synthesis) + 2
        low, high = (_matrix(length, filter_).T for filter_ in (synthesis, high_pass(analysis)))
        x = _product(x[..., :count], low) + _product(detail, high)
    return x


def high_pass(low):
    """Return the high-pass filter of one side from the low-pass filter of the other side."""
    return low[::-1] * (-1.0) ** np.arange(len(low))


def _matrix(length, filter_):
    """Return the matrix `(length, coefficients)` of a filter at every second step."""
    taps = len(filter_)
    count = (length + taps - 1) // 2
    # Coefficient i sees the steps from 2 i + 2 - taps; steps outside of the series are zero.
    steps = np.arange(length)[:, None] - (2 * np.arange(count) + 2 - taps)
    inside = (steps >= 0) & (steps < taps)
    return np.where(inside, filter_[np.where(inside, steps, 0)], 0.0)


def _product(x, matrix):
    return ops.matmul(x, matrix.astype(keras.backend.standardize_dtype(x.dtype)))
