"""Which windows train, and how often those of each series are drawn."""

from dataclasses import dataclass

import numpy as np

from kerastrans.data.scaling import WindowScaler
from kerastrans.data.series_scales import series_scales
from kerastrans.utils.validation import check_choice, check_positive_integers

SAMPLINGS = ("windows", "series", "scale")


@dataclass(frozen=True)
class Sampling:
    """Which windows train.

    Attributes:
        stride: int, steps from one window to the next.
        kind: which of them are drawn, see `window_weights`.
        limit: int, last steps of each series in which the forecasts begin, see `training_cuts`;
            None for all.

    Raises:
        ValueError: a number that is no positive integer, an unknown kind.

    Example:
        >>> Sampling(kind="series", limit=36)
        Sampling(stride=1, kind='series', limit=36)
    """

    stride: int = 1
    kind: str = "windows"
    limit: int | None = None

    def __post_init__(self):
        limit = 1 if self.limit is None else self.limit
        check_positive_integers(stride=self.stride, window_sampling_limit=limit)
        check_choice("sampling", self.kind, SAMPLINGS)


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
