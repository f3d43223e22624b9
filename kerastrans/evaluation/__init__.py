"""Evaluation of forecasts: metrics, scores of backtests, baselines, plots and HTML reports."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "backtesting": (),
        "baselines": (),
        "columns": (),
        "metrics": (),
        "naive2": ("naive2_backtest",),
        "path_scores": ("energy_score", "score_paths", "variogram_score"),
        "plotting": (),
        "report": (),
        "windows": (
            "ForecastError",
            "compare",
            "forecast_windows",
            "last_value",
            "seasonal_naive",
        ),
    },
)
