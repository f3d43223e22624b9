"""Scales for windows of few or equal values, from their whole series and from other windows."""

from dataclasses import replace

import numpy as np

from kerastrans.data.scaling import ENOUGH, WindowScaler
from kerastrans.data.time.seasons import season_of

MAX_READS = 8  # of all rows; for more ends than that, each series is read once, which takes a loop
_CHUNK = 2**22  # number of rows that are copied at once
_MAX_WINDOWS = 4096  # number of windows whose scales are compared


@np.errstate(over="ignore", invalid="ignore")  # readers refuse values that float32 cannot hold
def series_scales(panel, series, ends, kind="deviation"):
    """Return the scale of all known values of each window's series before a row.

    Args:
        panel: `Panel`.
        series: `(windows,)`, series of each window.
        ends: `(windows,)`, first row that is not used: the end of the training rows, or the cut of
            the window.
        kind: "deviation" for the standard deviation, "change" for the mean absolute change from one
            step to the next, or "level" for the mean absolute value.

    Returns:
        `(scales, places)`: the distinct scales `(distinct, num_channels)` in the units of the
        series, 0 without a scale, and the place of each window's scale among them, `(windows,)`.

    Example:
        >>> import pandas as pd
        >>> from kerastrans.data import read_panel
        >>> dates = pd.date_range("2024-01-01", periods=4)
        >>> panel = read_panel(pd.DataFrame({"load": [1.0, 3.0, 1.0, 3.0]}, dates))
        >>> scales, _ = series_scales(panel, np.array([0]), panel.cuts)
        >>> scales
        array([[1.]])
    """
    # Each distinct pair of a series and an end is measured once; one number identifies a pair.
    size = len(panel.values) + 1
    pairs, places = np.unique(series * size + ends, return_inverse=True)
    begins, ends = panel.begins[pairs // size], pairs % size
    lengths = ends - begins
    scales = np.zeros((len(pairs), panel.num_channels))
    if (total := lengths.sum()) <= MAX_READS * len(panel.values):
        known = np.flatnonzero(lengths > 0)
        for part in np.array_split(known, -(-total // _CHUNK)) if len(known) else ():
            scales[part] = _scales_between(panel.values, begins[part], ends[part], kind)
        return scales, places
    numbers, firsts = np.unique(pairs // size, return_index=True)
    for number, first, last in zip(numbers, firsts, [*firsts[1:], len(pairs)], strict=True):
        begin, counts = panel.begins[number], lengths[first:last]
        if (length := counts[-1]) > 0:
            found = _expanding_scales(panel.values[begin : begin + length], kind)
            scales[first:last][counts > 0] = found[counts[counts > 0] - 1]
    return scales, places


def _scales_between(values, begins, ends, kind):
    """Return the scale of the rows from each begin to each end, `(parts, num_channels)`."""
    lengths = ends - begins
    firsts = np.cumsum(lengths) - lengths
    values = values[np.repeat(begins - firsts, lengths) + np.arange(lengths.sum())]
    if kind == "change":
        values = np.abs(np.diff(values, axis=0, prepend=np.nan))
        values[firsts] = np.nan
    known = ~np.isnan(values)
    if kind == "deviation":
        rows = np.where(known, np.arange(len(values))[:, None], len(values) - 1)
        origins = np.take_along_axis(values, np.minimum.reduceat(rows, firsts), axis=0)
        values = values - np.repeat(origins, lengths, axis=0)
    values = np.where(known, values, 0.0)
    units = np.maximum.reduceat(np.abs(values), firsts)
    units = np.maximum(units, np.finfo("float64").tiny)
    values /= np.repeat(units, lengths, axis=0)
    counts = np.maximum(np.add.reduceat(known.astype("float64"), firsts), 1.0)
    if kind != "deviation":
        return np.add.reduceat(np.abs(values), firsts) / counts * units
    mean, square = (np.add.reduceat(values**n, firsts) / counts for n in (1, 2))
    return np.sqrt(np.maximum(square - mean**2, 0.0)) * units


def _expanding_scales(values, kind):
    """Return the scales of the rows up to each row of a series `(rows, num_channels)`."""
    if kind == "change":
        values = np.abs(np.diff(values, axis=0, prepend=np.nan))
    known = ~np.isnan(values)
    # Relative to the first value, and in units of the largest: neither is a small deviation lost
    # in a large level, nor do squares overflow.
    if kind == "deviation":
        values = values - np.take_along_axis(values, known.argmax(axis=0)[None], axis=0)
    values = np.where(known, values, 0.0)
    unit = np.abs(values).max(axis=0, initial=np.finfo("float64").tiny)
    count = np.maximum(np.cumsum(known, axis=0), 1)
    if kind != "deviation":
        return np.cumsum(np.abs(values / unit), axis=0) / count * unit
    mean, square = (np.cumsum((values / unit) ** n, axis=0) / count for n in (1, 2))
    return np.sqrt(np.maximum(square - mean**2, 0.0)) * unit


def learn_scales(scaler, panel, ends, context_length):
    """Return a `WindowScaler` with what the windows of some rows show of scales, see there.

    Args:
        scaler: `WindowScaler`.
        panel: `Panel`.
        ends: `(series,)`, row after the last training row of each series.
        context_length: int, number of steps of a window.
    """
    series = np.repeat(np.arange(len(panel)), ends - panel.begins)
    rows = np.concatenate([np.arange(*x) for x in zip(panel.begins, ends, strict=True)])
    chosen = slice(None, None, -(-len(rows) // _MAX_WINDOWS) or 1)
    rows, series = rows[chosen], series[chosen]
    steps = rows[:, None] + np.arange(1 - context_length, 1)
    seen = panel.values[np.where(steps < panel.begins[series][:, None], 0, steps)]
    number = (~np.isnan(seen)).sum(axis=1, keepdims=True)
    scale, level = (WindowScaler(x)._measured(seen, np)[1] for x in ("standard", "mean_abs"))
    moves, zeros, enough = scale > 0, level == 0, max(ENOUGH, season_of(panel.clock.freq))
    still = ~moves & (number >= min(enough, context_length))
    found, places = series_scales(panel, series, ends[series])
    least, level = found[places][:, None] / np.sqrt(number + 1.0), np.where(zeros, 1.0, level)
    parts = {
        "share": (np.median, scale / level, moves),
        "size": (np.median, scale, moves),
        "still": (np.mean, least / level, still & ~zeros),
        "zero": (np.mean, least, still & zeros),
    }
    learnt = {name: float(f(x[which])) for name, (f, x, which) in parts.items() if which.any()}
    return replace(scaler, enough=enough, **learnt)
