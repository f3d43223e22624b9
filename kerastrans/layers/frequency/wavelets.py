"""The discrete wavelet transform with Daubechies wavelets, as products of matrices."""

import math

import keras
import numpy as np
from keras import ops


def daubechies(order):
    """Return the low-pass synthesis filter with this number of vanishing moments.

    Args:
        order: int, number of vanishing moments; 1 for the Haar wavelet.

    Returns:
        NumPy array `(2 * order,)`, whose sum is the root of 2.

    Example:
        >>> daubechies(2).round(4).tolist()
        [0.483, 0.8365, 0.2241, -0.1294]

    Source: Daubechies (1992), "Ten lectures on wavelets", section 6.1.
    """
    # Roots y of the polynomial of Daubechies, each of which gives the root z inside the circle.
    polynomial = [math.comb(order - 1 + k, k) for k in reversed(range(order))]
    filter_ = np.array([1.0])
    for y in np.roots(polynomial):
        z = np.roots([1.0, 4 * y - 2, 1.0])
        filter_ = np.convolve(filter_, [1.0, -z[np.argmin(np.abs(z))]])
    for _ in range(order):
        filter_ = np.convolve(filter_, [1.0, 1.0])
    filter_ = np.real(filter_)
    return filter_ * math.sqrt(2) / filter_.sum()


def coefficient_lengths(length, order, levels):
    """Return the number of coefficients of each level, the finest first."""
    lengths = []
    for _ in range(levels):
        length = (length + 2 * order - 1) // 2
        lengths.append(length)
    return lengths


def decompose(x, order, levels):
    """Return the wavelet coefficients of series.

    The series are continued by zeros.

    Args:
        x: `(..., time)`.
        order: int, number of vanishing moments.
        levels: int, number of levels.

    Returns:
        `(approximation, details)`: the coarsest approximation `(..., coefficients)`, and a list of
        the details of each level, the finest first.
    """
    details = []
    for _ in range(levels):
        low, high = _matrices(x.shape[-1], order)
        details.append(_product(x, high))
        x = _product(x, low)
    return x, details


def reconstruct(approximation, details, order):
    """Return the series with these coefficients, see `decompose`; their length is even."""
    x = approximation
    for detail in reversed(details):
        length = 2 * detail.shape[-1] - 2 * order + 2
        low, high = _matrices(length, order)
        x = _product(x[..., : detail.shape[-1]], low.T) + _product(detail, high.T)
    return x


def _matrices(length, order):
    """Return the matrices `(length, coefficients)` of the averages and of the differences."""
    low = daubechies(order)
    high = low[::-1] * (-1.0) ** np.arange(2 * order)
    count = (length + 2 * order - 1) // 2
    # Coefficient i sees the steps from 2 i + 2 - 2 order; steps outside of the series are zero.
    steps = np.arange(length)[:, None] - (2 * np.arange(count) + 2 - 2 * order)
    inside = (steps >= 0) & (steps < 2 * order)
    return tuple(np.where(inside, x[np.where(inside, steps, 0)], 0.0) for x in (low, high))


def _product(x, matrix):
    return ops.matmul(x, matrix.astype(keras.backend.standardize_dtype(x.dtype)))
