"""Windows relative to their own level and size, so that float32 is precise for all values."""

import numpy as np

# Changes of a window that change its forecast in the same way, from none to scale and shift.
EQUIVARIANCES = ("", "scale", "affine")


def pivot_windows(history, equivariance, xp=np):
    """Return windows minus a pivot and divided by a unit, and the pivot and the unit.

    If the forecast of such windows is multiplied by the unit and the pivot is added, it is the
    forecast of the given windows, but float32 neither overflows nor loses small changes of a large
    level.

    Args:
        history: `(batch, time, num_channels)`, NaN for missing values; float64 in NumPy.
        equivariance: "affine" for the middle of the range as pivot and its size as unit; "scale"
            for a pivot of 0 and the largest magnitude as unit; "" for 0 and 1.
        xp: Module that computes: NumPy or `keras.ops`.

    Returns:
        `(windows, pivot, unit)`, the last two `(batch, 1, num_channels)`. A constant window is 0
        and its unit its magnitude, or 1.

    Example:
        >>> windows, pivot, unit = pivot_windows(np.array([[[1e8], [1e8 + 4]]]), "affine")
        >>> windows.ravel(), pivot.item(), unit.item()
        (array([-1.,  1.]), 100000002.0, 2.0)
    """
    known = xp.logical_not(xp.isnan(history))
    values = xp.where(known, history, xp.zeros_like(history))
    magnitude = xp.max(xp.abs(values), axis=1, keepdims=True)
    if not equivariance:
        return history, xp.zeros_like(magnitude), xp.ones_like(magnitude)
    # Divide by the magnitude first, so that no difference underflows.
    whole = _power_of_two(magnitude, xp)
    history, magnitude = history / whole, magnitude / whole
    if equivariance == "scale":
        return history, xp.zeros_like(whole), whole
    highest = xp.max(xp.where(known, history, -magnitude), axis=1, keepdims=True)
    lowest = xp.min(xp.where(known, history, magnitude), axis=1, keepdims=True)
    size = xp.maximum(highest / 2 - lowest / 2, xp.zeros_like(magnitude))
    # In float64 a range of a few rounding errors counts as constant. In float32 all values were
    # rounded in the same way, so every range counts.
    limits = np.finfo("float64" if xp is np else "float32")
    is_constant = size <= (4 * limits.eps if xp is np else 0.0) * magnitude
    ones = xp.ones_like(magnitude)
    pivot = xp.where(is_constant, highest, highest / 2 + lowest / 2)
    pivot = xp.where(highest >= lowest, pivot, xp.zeros_like(pivot))  # no value at all
    level = xp.where(magnitude > 0, magnitude, ones)
    unit = xp.where(is_constant, level, _power_of_two(size, xp))
    # `unit * whole` has to be a normal number.
    unit = xp.clip(unit, limits.smallest_normal / whole, limits.max / 2 / whole)
    windows = (history - pivot) / unit
    windows = xp.where(xp.logical_and(is_constant, known), 0.0, windows)
    return windows, pivot * whole, unit * whole


def _power_of_two(size, xp):
    """Return a power of two near each size, so that a division is exact; 1 for a size of 0."""
    if xp is np:
        with np.errstate(divide="ignore"):
            exponent = np.floor(np.log2(size))
        return np.where(size > 0, np.exp2(np.clip(exponent, -1000, 1000)), 1.0)
    # In float32, with comparisons that every runtime of an exported file supports.
    unit = xp.ones_like(size)
    for power in (32, 64, 96):
        unit = xp.where(size >= 2.0 ** (power - 16), 2.0**power, unit)
        is_small = xp.logical_and(size < 2.0 ** (16 - power), size > 0.0)
        unit = xp.where(is_small, 2.0**-power, unit)
    return unit


def common_equivariance(equivariances):
    """Return the weakest of several equivariances, which all of them include.

    Example:
        >>> common_equivariance(["affine", "scale"])
        'scale'
    """
    return EQUIVARIANCES[min(map(EQUIVARIANCES.index, equivariances))]
