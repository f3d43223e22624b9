"""RLinear: a linear model between reversible instance normalisations (Li et al., 2023)."""

import keras

from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import time_dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "RLinear",
    "source": "Li et al.",
    "year": 2023,
    "summary": "linear, of normalised windows",
    "tags": ("linear", "channel independent", "affine", "takes heads"),
}
SEARCH_SPACE = {
    "individual": (False, True),
}


@checked
def build_rlinear_model(
    context_length, prediction_length, num_channels, *, individual=False, head=None, name="rlinear"
):
    """Build RLinear: normalise each window, apply one linear map, undo the normalisation.

    Args:
        context_length: int, steps of history.
        prediction_length: int, steps to forecast.
        num_channels: int, values at each step.
        individual: bool, whether every channel has a linear map of its own.
        head: None for points, or a head of `kerastrans.heads`, whose parameters are a last axis.
        name: str, name of the model.

    Returns:
        A functional Keras model `(batch, context_length, num_channels)` ->
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: A size is below 1, or too large.
        ValueError: `head` is unknown.

    Example:
        >>> model = build_rlinear_model(24, 12, 3, individual=True)
        >>> model.output_shape
        (None, 12, 3)

    Source: Li et al. (2023), "Revisiting long-term time series forecasting", section 4.
    """
    window = open_window(
        context_length, num_channels, head, center="mean", scale="std", affine=True
    )
    x = time_dense(
        window.values, prediction_length * head.size, individual=individual, dtype=full_precision()
    )
    outputs = window.forecast(x, head, prediction_length)
    return keras.Model(window.history, outputs, name=name)
