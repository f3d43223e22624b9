"""Plots of forecasts, backtests and models. Every function returns a matplotlib Figure."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "diagnostics": ("plot_calibration", "plot_error_by_step", "plot_ranks", "plot_residuals"),
        "explanations": ("plot_explanation",),
        "fans": ("plot_fan", "plot_forecast"),
        "heatmaps": ("attention_heatmaps", "plot_variable_importances", "positional_encoding"),
        "panels": ("COLOURS", "OBSERVED"),
    },
    with_modules=False,
)
