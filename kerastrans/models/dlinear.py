"""DLinear: a linear model of the trend and one of the season (Zeng et al., 2023)."""

import keras
from keras import layers

from kerastrans.layers import SeriesDecomposition
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import time_dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "DLinear",
    "source": "Zeng et al.",
    "year": 2023,
    "summary": "linear, of trend and season",
    "tags": ("linear", "channel independent", "takes heads"),
}
SEARCH_SPACE = {
    "individual": (False, True),
    "moving_average": (7, 25, 49),
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
    """Build DLinear: trend and season each have a linear map, and their forecasts are added.

    Args:
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        num_channels: int, values at each step.
        moving_average: int, steps of the moving average that is the trend.
        individual: bool, whether every channel has linear maps of its own.
        head: None for points, or a head of `kerastrans.heads`, whose parameters are a last axis.
        name: str, name of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: A size is below 1, or too large.
        ValueError: `head` is unknown.

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
    outputs = window.forecast(x, head, prediction_length)
    return keras.Model(window.history, outputs, name=name)
