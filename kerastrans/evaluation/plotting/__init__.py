"""Plots of forecasts, backtests and models. Every function returns a matplotlib Figure."""

from kerastrans.evaluation.plotting.diagnostics import (
    plot_calibration,
    plot_error_by_step,
    plot_ranks,
    plot_residuals,
)
from kerastrans.evaluation.plotting.explanations import plot_explanation
from kerastrans.evaluation.plotting.fans import plot_fan, plot_forecast
from kerastrans.evaluation.plotting.heatmaps import (
    attention_heatmaps,
    plot_variable_importances,
    positional_encoding,
)
from kerastrans.evaluation.plotting.panels import COLOURS, OBSERVED

__all__ = [
    "COLOURS",
    "OBSERVED",
    "attention_heatmaps",
    "plot_calibration",
    "plot_error_by_step",
    "plot_explanation",
    "plot_fan",
    "plot_forecast",
    "plot_ranks",
    "plot_residuals",
    "plot_variable_importances",
    "positional_encoding",
]
