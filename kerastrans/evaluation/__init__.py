"""Evaluation of forecasts: metrics, scores of backtests, baselines, plots and HTML reports."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "backtesting": (),
        "baselines": ("intermittent_backtests", "naive2_backtest", "statistical_backtests"),
        "columns": (),
        "plotting": (),
        "report": (),
        "scores.crps": ("crps_negative_binomial", "crps_student_t", "threshold_weighted"),
        "scores.metrics": (),
        "scores.path_scores": ("energy_score", "score_paths", "variogram_score"),
        "scores.windows": (
            "ForecastError",
            "compare",
            "forecast_windows",
            "last_value",
            "seasonal_naive",
        ),
        "significance.calibration": ("coverage_tests", "randomized_pit", "reliability"),
        "significance.model_sets": (
            "geometric_mean_interval",
            "mean_ranks",
            "model_confidence_set",
        ),
    },
)
