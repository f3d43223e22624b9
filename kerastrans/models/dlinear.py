"""DLinear: a linear model of the trend and one of the season (Zeng et al., 2023)."""

import keras
from keras import layers

from kerastrans.blocks import time_dense
from kerastrans.layers import SeriesDecomposition
from kerastrans.precision import full_precision
from kerastrans.validation import check_positive_integers


def build_dlinear_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    moving_average=25,
    individual=False,
    name="dlinear",
):
    """Build DLinear: trend and season, each with a linear map of its own, added up.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        moving_average: int, steps of the moving average that is the trend.
        individual: bool, whether every channel has linear maps of its own.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1.

    Source: Zeng et al. (2023), section 4, "DLinear".
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        moving_average=moving_average,
    )
    dtype = full_precision()
    history = keras.Input((context_length, num_channels), name="history")
    season, trend = SeriesDecomposition(moving_average, dtype=dtype)(history)
    season = time_dense(season, prediction_length, individual=individual, dtype=dtype)
    trend = time_dense(trend, prediction_length, individual=individual, dtype=dtype)
    return keras.Model(history, layers.Add(dtype=dtype)([season, trend]), name=name)
