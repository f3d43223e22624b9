"""Written by tools/checks/stubs.py from kerastrans/evaluation/plotting/__init__.py."""

from kerastrans.evaluation.plotting.diagnostics import plot_calibration as plot_calibration, plot_error_by_step as plot_error_by_step, plot_ranks as plot_ranks, plot_residuals as plot_residuals
from kerastrans.evaluation.plotting.explanations import plot_explanation as plot_explanation
from kerastrans.evaluation.plotting.fans import plot_fan as plot_fan, plot_forecast as plot_forecast
from kerastrans.evaluation.plotting.heatmaps import attention_heatmaps as attention_heatmaps, plot_variable_importances as plot_variable_importances, positional_encoding as positional_encoding
from kerastrans.evaluation.plotting.panels import COLOURS as COLOURS, OBSERVED as OBSERVED
