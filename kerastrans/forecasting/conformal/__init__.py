"""Intervals that cover what they promise: forecasts widened by errors on data not trained on.

An interval has a base, the quantiles of the model or, of a point forecast, the point twice. Its
scores are how far the truth was outside of each bound, in units of the window's scale; negative
within. The conformal interval is the base with each bound moved by a quantile of the scores, for
each step and channel: by one offset for both bounds, or, where the scores are skewed, by one for
each, so that `lo-80` and `hi-80` are the 0.1 and the 0.9 quantile.

What is promised is a mean over the series that calibrate and over their origins, if those to come
are like them: a noisy series is covered less often than a quiet one. `by=` of
`Forecaster.calibrate` promises it of each group, `scale="residuals"` brings the series closer to
each other, `coverage_by_series` says what came of it, and `effective_origins` on how many
independent observations the promise rests.
"""

from kerastrans.forecasting.conformal.coverage import coverage_by_series
from kerastrans.forecasting.conformal.group_intervals import GroupIntervals
from kerastrans.forecasting.conformal.intervals import ConformalIntervals
from kerastrans.forecasting.conformal.offsets import (
    adaptive_offsets,
    are_skewed,
    conformity_scores,
    count_effective,
    split_offsets,
    windows_needed,
)

__all__ = [
    "ConformalIntervals",
    "GroupIntervals",
    "adaptive_offsets",
    "are_skewed",
    "conformity_scores",
    "count_effective",
    "coverage_by_series",
    "split_offsets",
    "windows_needed",
]
