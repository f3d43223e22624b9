"""Evaluation of forecasts: metrics, scores of backtests, baselines, plots and HTML reports."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "backtesting": (),
        "baselines": (),
        "calibration": ("coverage_tests", "randomized_pit", "reliability"),
        "columns": (),
        "crps": ("crps_negative_binomial", "crps_student_t", "threshold_weighted"),
        "intermittent": ("intermittent_backtests",),
        "metrics": (),
        "model_sets": ("bootstrap_interval", "mean_ranks", "model_confidence_set"),
        "naive2": ("naive2_backtest",),
        "path_scores": ("energy_score", "score_paths", "variogram_score"),
        "plotting": (),
        "report": (),
        "statistical": ("statistical_backtests",),
        "windows": (
            "ForecastError",
            "compare",
            "forecast_windows",
            "last_value",
            "seasonal_naive",
        ),
    },
)
