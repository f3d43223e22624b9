"""DLinear: a linear model of the trend and one of the season (Zeng et al., 2023)."""

import keras
from keras import layers

from kerastrans import heads
from kerastrans.layers import SeriesDecomposition
from kerastrans.models.blocks import time_dense
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers

SEARCH_SPACE = {
    "individual": (False, True),
    "moving_average": (7, 25, 49),
}


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
    """Build DLinear: trend and season, each with a linear map of its own, added up.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        moving_average: int, steps of the moving average that is the trend.
        individual: bool, whether every channel has linear maps of its own.
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, an unknown `head`.

    Source: Zeng et al. (2023), section 4, "DLinear".
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        moving_average=moving_average,
    )
    dtype = full_precision()
    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    season, trend = SeriesDecomposition(moving_average, dtype=dtype)(history)
    season = time_dense(season, prediction_length * head.size, individual=individual, dtype=dtype)
    trend = time_dense(trend, prediction_length * head.size, individual=individual, dtype=dtype)
    x = layers.Add(dtype=dtype)([season, trend])
    outputs = head.forecast(x, prediction_length)
    return keras.Model(history, outputs, name=name)
