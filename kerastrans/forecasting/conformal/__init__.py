"""Conformal intervals: forecasts widened by errors on data that the model was not trained on.

The base of an interval is a pair of quantiles of the model; for a point forecast, both are the
point. Its conformity scores are the distances of the true values outside each bound, negative
inside, in units of the scale of the window. The conformal interval moves each bound of the base
outwards by a quantile of the scores, for each step and channel. Both bounds have the same offset;
if the scores are skewed, each bound has its own, so that `lo-80` and `hi-80` are the 0.1 and the
0.9 quantile.

Coverage is guaranteed on average over the calibration series and their origins, if later ones are
exchangeable with them. A noisy series is covered less often than a quiet one. With `by=`,
`Forecaster.calibrate` guarantees coverage for each group; `scale="residuals"` makes the series more
similar. `coverage_by_series` measures the result, and `effective_origins` is the number of
independent observations that the guarantee is based on.
"""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "coverage": ("coverage_by_series",),
        "group_intervals": ("GroupIntervals",),
        "intervals": ("ConformalIntervals",),
        "offsets": (
            "adaptive_offsets",
            "are_skewed",
            "conformity_scores",
            "count_effective",
            "split_offsets",
            "windows_needed",
        ),
    },
    with_modules=False,
)
