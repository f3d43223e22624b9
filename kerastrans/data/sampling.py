"""How often the windows of each series are drawn in training."""

import numpy as np

from kerastrans.data.scaling import WindowScaler
from kerastrans.data.series_scales import series_scales

SAMPLINGS = ("windows", "series", "scale")


def window_weights(sampling, panel, series, ends):
    """How likely each window is to be drawn, in any unit.

    Args:
        sampling: "windows" for each once an epoch; "series" for every series as likely as every
            other, however many windows it has; "scale" for each window in proportion to its
            series' mean absolute value, where one of zeros counts as the smallest other.
        panel: `Panel`.
        series: `(windows,)`, each window's series.
        ends: `(windows,)`, the first row that does not count for the scale.

    Returns:
        `(windows,)`, or None for "windows".

    Example:
        >>> import pandas as pd
        >>> from kerastrans.data import read_panel
        >>> dates = pd.date_range("2024-01-01", periods=4)
        >>> panel = read_panel(pd.DataFrame({"load": [1.0, 3.0, 1.0, 3.0]}, dates))
        >>> window_weights("series", panel, np.array([0, 0]), panel.cuts.repeat(2))
        array([0.5, 0.5])

    Source: Salinas et al. (2020), section 3.4, where the scale is 1 + the mean of counts; without
    the 1 it does not depend on the unit.
    """
    if sampling == "windows" or not len(series):
        return None
    if sampling == "series":
        return 1.0 / np.bincount(series)[series]
    scales, places = series_scales(panel, WindowScaler("mean_abs"), series, ends)
    scales = scales.mean(axis=1)
    if not scales.any():
        return np.ones(len(series))
    scales = np.maximum(scales, scales[scales > 0].min())
    return (scales / scales.max())[places]
