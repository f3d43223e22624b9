"""The scale of whole series, by which that of one window is judged."""

import numpy as np

_CHUNK = 2**22  # values that are laid out at once


def series_scales(panel, scaler, series, ends):
    """The scale, by the same scaler, of all known values of a series before a row.

    Args:
        panel: `Panel`.
        scaler: `WindowScaler`.
        series: `(windows,)`, each window's series.
        ends: `(windows,)`, the first row that does not count: where the rows that train end, or
            the window's cut.

    Returns:
        `(scales, places)`: `(distinct, num_channels)`, in the units of the series, 0 where there
        is none, and `(windows,)`, which of them is each window's.

    Example:
        >>> import pandas as pd
        >>> from kerastrans.data import WindowScaler, read_panel
        >>> dates = pd.date_range("2024-01-01", periods=4)
        >>> panel = read_panel(pd.DataFrame({"load": [1.0, 3.0, 1.0, 3.0]}, dates))
        >>> scales, _ = series_scales(panel, WindowScaler("standard"), np.array([0]), panel.cuts)
        >>> scales
        array([[1.]])
    """
    size = len(panel.values) + 1
    pairs, places = np.unique(series * size + ends, return_inverse=True)
    scales = np.zeros((len(pairs), panel.num_channels))
    if scaler.is_identity:
        return scales, places
    begins, ends = panel.begins[pairs // size], pairs % size
    lengths = ends - begins
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    while len(order):
        longest = lengths[order[-1]]
        chosen = order[-max(1, _CHUNK // (longest * panel.num_channels)) :]
        chosen = chosen[2 * lengths[chosen] >= longest]  # of similar lengths
        order = order[: -len(chosen)]
        rows = ends[chosen][:, None] - np.arange(longest, 0, -1)
        rows = np.where(rows < begins[chosen][:, None], 0, rows)
        scales[chosen] = scaler.deviations(panel.values[rows])[:, 0]
    return scales, places
