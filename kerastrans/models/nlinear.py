"""NLinear: a linear model of the distance to the last value (Zeng et al., 2023)."""

import keras

from kerastrans import heads
from kerastrans.layers import ReversibleInstanceNormalization
from kerastrans.models.blocks import time_dense
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers

SEARCH_SPACE = {
    "individual": (False, True),
}


def build_nlinear_model(
    context_length, prediction_length, num_channels, *, individual=False, head=None, name="nlinear"
):
    """Build NLinear: subtract the last value, one linear map, add the last value.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        individual: bool, whether every channel has a linear map of its own.
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, an unknown `head`.

    Source: Zeng et al. (2023), section 4, "NLinear".
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
    )
    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    normalization = ReversibleInstanceNormalization(center="last", scale=None)
    x, statistics = normalization(history)
    x = time_dense(x, prediction_length * head.size, individual=individual, dtype=full_precision())
    outputs = head.forecast(x, prediction_length, normalization, statistics)
    return keras.Model(history, outputs, name=name)
