"""Each step of the horizon as a weighted sum of the context."""

import keras

from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import time_dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "Linear",
    "source": "Zeng et al.",
    "year": 2023,
    "summary": "one matrix over time",
    "tags": ("baseline", "linear", "channel independent", "takes heads"),
}
SEARCH_SPACE = {
    "individual": (False, True),
}


@checked
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
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        num_channels: int, values at each step.
        individual: bool, whether every channel has a matrix of its own.
        head: None for points, or a head of `kerastrans.heads`, whose parameters are a last axis.
        name: str, name of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: A size is below 1, or too large.
        ValueError: `head` is unknown.

    Example:
        >>> model = build_linear_regression_model(24, 12, 3)
        >>> model.output_shape
        (None, 12, 3)

    Source: Zeng et al. (2023), section 4, "Linear".
    """
    window = open_window(context_length, num_channels, head)
    x = time_dense(
        window.values, prediction_length * head.size, individual=individual, dtype=full_precision()
    )
    outputs = window.forecast(x, head, prediction_length)
    return keras.Model(window.history, outputs, name=name)
