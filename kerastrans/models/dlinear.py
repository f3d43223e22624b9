"""DLinear: linear models of the trend and the season (Zeng et al., 2023).

Paper: https://arxiv.org/abs/2205.13504
Code: https://github.com/cure-lab/LTSF-Linear/tree/0c11366
"""

from keras import layers

from kerastrans.layers import SeriesDecomposition
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import time_dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "linear, of trend and season",
    "license": "Apache-2.0",
    "tags": ("linear", "channel independent", "takes heads"),
}


@checked
def build_dlinear_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    moving_average=25,
    individual=False,
    head=None,
    name="dlinear",
):
    """Build DLinear: linear maps forecast trend and season, and the forecasts are added.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        moving_average: int, number of steps in the moving average that estimates the trend.
        individual: bool, whether each channel has its own linear maps.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_dlinear_model(24, 12, 3, moving_average=7)
        >>> model.output_shape
        (None, 12, 3)

    Source: Zeng et al. (2023), section 4, "DLinear".
    """
    dtype = full_precision()
    window = open_window(context_length, num_channels, head)
    season, trend = SeriesDecomposition(moving_average, dtype=dtype)(window.values)
    season = time_dense(season, prediction_length * head.size, individual=individual, dtype=dtype)
    trend = time_dense(trend, prediction_length * head.size, individual=individual, dtype=dtype)
    x = layers.Add(dtype=dtype)([season, trend])
    return window.model(x, head, prediction_length, name)
