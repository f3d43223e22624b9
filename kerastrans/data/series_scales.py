"""The scale of whole series, the yardstick for the scale of one window."""

import numpy as np

_CHUNK = 2**22  # number of values that are copied at once


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
    lengths = ends - begins
    # From the longest to the shortest, so that a chunk has parts of similar lengths, which are
    # padded to the longest with row 0, which is NaN.
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    while len(order):
        longest = lengths[order[-1]]
        chosen = order[-max(1, _CHUNK // (longest * panel.num_channels)) :]
        chosen = chosen[2 * lengths[chosen] >= longest]
        order = order[: -len(chosen)]
        rows = ends[chosen][:, None] - np.arange(longest, 0, -1)
        rows = np.where(rows < begins[chosen][:, None], 0, rows)
        scales[chosen] = scaler.deviations(panel.values[rows])[:, 0]
    return scales, places
