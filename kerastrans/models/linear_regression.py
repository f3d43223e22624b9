"""Each step of the horizon as a weighted sum of the context."""

import keras

from kerastrans import heads
from kerastrans.models.blocks import time_dense
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers

SEARCH_SPACE = {
    "individual": (False, True),
}


def build_linear_regression_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    individual=False,
    head=None,
    name="linear_regression",
):
    """Build the linear model: one matrix from the context to the horizon, for every channel.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        individual: bool, whether every channel has a matrix of its own.
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, an unknown `head`.

    Source: Zeng et al. (2023), "Linear".
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
    )
    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    x = time_dense(
        history, prediction_length * head.size, individual=individual, dtype=full_precision()
    )
    outputs = head.forecast(x, prediction_length)
    return keras.Model(history, outputs, name=name)
