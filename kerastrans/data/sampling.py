"""Sampling of training windows."""

import numpy as np

from kerastrans.data.series_scales import series_scales

SAMPLINGS = ("windows", "series", "scale")


def window_weights(sampling, panel, series, ends):
    """Return the relative probability of each window.

    Args:
        sampling: "windows" for each window once per epoch; "series" for the same probability for
            every series, regardless of its number of windows; "scale" for a probability of each
            window in proportion to the mean absolute value of its series. A series of zeros counts
            as the smallest other series.
        panel: `Panel`.
        series: `(windows,)`, the series of each window.
        ends: `(windows,)`, first row that does not count for the scale.

    Returns:
        `(windows,)`, or None for "windows".

    Example:
        >>> import pandas as pd
        >>> from kerastrans.data import read_panel
        >>> dates = pd.date_range("2024-01-01", periods=4)
        >>> panel = read_panel(pd.DataFrame({"load": [1.0, 3.0, 1.0, 3.0]}, dates))
        >>> window_weights("series", panel, np.array([0, 0]), panel.cuts.repeat(2))
        array([0.5, 0.5])

    Source: Salinas et al. (2020), section 3.4. Their scale is 1 + the mean of counts; without the 1
    the probabilities do not depend on the unit of the series.
    """
    if sampling == "windows" or not len(series):
        return None
    if sampling == "series":
        return 1.0 / np.bincount(series)[series]
    scales, places = series_scales(panel, series, ends, "level")
    scales = scales.mean(axis=1)
    if not scales.any():
        return np.ones(len(series))
    scales = np.maximum(scales, scales[scales > 0].min())
    return (scales / scales.max())[places]
