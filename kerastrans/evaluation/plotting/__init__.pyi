"""The public names, which are imported on first use."""

from .diagnostics import (
    plot_calibration as plot_calibration,
    plot_error_by_step as plot_error_by_step,
    plot_ranks as plot_ranks,
    plot_residuals as plot_residuals,
)
from .explanations import plot_explanation as plot_explanation
from .fans import plot_fan as plot_fan, plot_forecast as plot_forecast
from .heatmaps import (
    attention_heatmaps as attention_heatmaps,
    plot_variable_importances as plot_variable_importances,
    positional_encoding as positional_encoding,
)
from .panels import COLOURS as COLOURS, OBSERVED as OBSERVED
