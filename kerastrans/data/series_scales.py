"""The scale of whole series, the yardstick for the scale of one window."""

import numpy as np

from kerastrans.data.scaling import LEAST_SPACINGS

_CHUNK = 2**22  # number of values that are copied at once, more if one series has more


def series_scales(panel, scaler, series, ends):
    """Return the scale of all known values of each window's series before a row.

    Args:
        panel: `Panel`.
        scaler: `WindowScaler` that measures the scale.
        series: `(windows,)`, series of each window.
        ends: `(windows,)`, first row that is not used: the end of the training rows, or the cut of
            the window.

    Returns:
        `(scales, places)`: the distinct scales `(distinct, num_channels)` in the units of the
        series, 0 without a scale, and the place of each window's scale among them, `(windows,)`.

    Example:
        >>> import pandas as pd
        >>> from kerastrans.data import WindowScaler, read_panel
        >>> dates = pd.date_range("2024-01-01", periods=4)
        >>> panel = read_panel(pd.DataFrame({"load": [1.0, 3.0, 1.0, 3.0]}, dates))
        >>> scales, _ = series_scales(panel, WindowScaler("standard"), np.array([0]), panel.cuts)
        >>> scales
        array([[1.]])
    """
    # Each distinct pair of a series and an end is measured once; one number identifies a pair.
    size = len(panel.values) + 1
    pairs, places = np.unique(series * size + ends, return_inverse=True)
    scales = np.zeros((len(pairs), panel.num_channels))
    if scaler.is_identity:
        return scales, places
    begins, ends = panel.begins[pairs // size], pairs % size
    chosen = np.flatnonzero(ends > begins)
    for part in np.split(chosen, _splits(begins[chosen], ends[chosen], panel.num_channels)):
        if len(part):
            scales[part] = _expanding_scales(panel.values, scaler, begins[part], ends[part])
    return scales, places


def _splits(begins, ends, num_channels):
    """Return where to split sorted pairs into whole series of about `_CHUNK` values together."""
    first = np.flatnonzero(np.diff(begins, prepend=-1))
    lengths = np.diff(ends[np.append(first[1:], len(ends)) - 1] - begins[first], prepend=0)
    chunk = np.cumsum(lengths) * num_channels // _CHUNK
    return first[1:][np.diff(chunk) > 0]


@np.errstate(over="ignore", invalid="ignore")  # readers refuse values that float32 cannot hold
def _expanding_scales(values, scaler, begins, ends):
    """Return the scale of the rows from each begin to each end, `(pairs, num_channels)`.

    Pairs are sorted by begin and end. The parts between two ends of a series are measured, and
    combined one after the other: reading all rows before each of many ends takes their square.
    """
    is_first = np.diff(begins, prepend=-1) > 0
    series = np.cumsum(is_first) - 1
    starts = np.where(is_first, begins, np.roll(ends, 1))
    lengths = ends - starts
    offsets = np.cumsum(lengths) - lengths
    rows = np.repeat(starts - offsets, lengths) + np.arange(lengths.sum())
    seen = values[rows].astype("float64")
    known = ~np.isnan(seen)
    # In units of the largest magnitude of a series, squares do not overflow.
    units = np.maximum.reduceat(np.where(known, np.abs(seen), 0.0), offsets)
    (units,) = _accumulated(series, lambda a, b: (np.maximum(a, b),), units)
    last = np.append(np.flatnonzero(is_first)[1:], len(begins)) - 1
    largest = np.where(units[last] > 0, units[last], 1.0)[series]

    if scaler.kind == "mean_abs":
        x = np.abs(seen)
    elif scaler.kind == "standard":
        # Relative to the first known value, a large level does not hide a small range.
        places = np.where(known, np.arange(len(rows))[:, None], len(rows) - 1)
        places = np.minimum.reduceat(places, offsets[is_first])
        x = seen - np.repeat(np.take_along_axis(seen, places, axis=0)[series], lengths, axis=0)
    else:
        earlier = rows - scaler.season
        x = np.abs(seen - values[np.where(earlier < np.repeat(begins, lengths), 0, earlier)])
        known = ~np.isnan(x)
    x = np.where(known, x, 0.0) / np.repeat(largest, lengths, axis=0)

    number = np.add.reduceat(known.astype("float64"), offsets)
    mean = np.add.reduceat(x, offsets) / np.maximum(number, 1.0)
    squares = np.where(known, x - np.repeat(mean, lengths, axis=0), 0.0) ** 2
    squares = np.add.reduceat(squares, offsets)
    number, mean, squares = _accumulated(series, _merge, number, mean, squares)
    if scaler.kind == "mean_abs":
        return mean * largest
    scale = mean if scaler.kind == "mase" else np.sqrt(squares / np.maximum(number, 1.0))
    scale = scale * largest
    return np.where(scale > LEAST_SPACINGS * np.finfo(values.dtype).eps * units, scale, 0.0)


def _accumulated(series, combine, *parts):
    """Combine each part with all before it of its series, in log2(parts) rounds."""
    shift = 1
    while (same := series[shift:] == series[:-shift]).any():
        before = [part[:-shift][same] for part in parts]
        after = [part[shift:][same] for part in parts]
        parts = [part.copy() for part in parts]
        for part, found in zip(parts, combine(*before, *after), strict=True):
            part[shift:][same] = found
        shift *= 2
    return parts


def _merge(number, mean, squares, other_number, other_mean, other_squares):
    """Return number, mean and sum of squared deviations of two parts (Chan et al., 1979)."""
    total = number + other_number
    share = other_number / np.maximum(total, 1.0)
    step = other_mean - mean
    return total, mean + step * share, squares + other_squares + step**2 * number * share
