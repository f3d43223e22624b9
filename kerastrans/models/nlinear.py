"""NLinear: a linear model of differences from the last value (Zeng et al., 2023).

Paper: https://arxiv.org/abs/2205.13504
Code: https://github.com/cure-lab/LTSF-Linear/tree/0c11366
"""

from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import time_dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "linear, from the last value",
    "license": "Apache-2.0",
    "tags": ("linear", "channel independent", "shift", "takes heads"),
}


@checked
def build_nlinear_model(
    context_length, prediction_length, num_channels, *, individual=False, head=None, name="nlinear"
):
    """Build NLinear: subtract the last value, apply one linear map, add the last value.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        individual: bool, whether each channel has its own linear map.
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
        >>> model = build_nlinear_model(24, 12, 3, head="normal")
        >>> model.output_shape
        (None, 12, 3, 2)

    Source: Zeng et al. (2023), section 4, "NLinear".
    """
    window = open_window(context_length, num_channels, head, center="last")
    x = time_dense(
        window.values, prediction_length * head.size, individual=individual, dtype=full_precision()
    )
    return window.model(x, head, prediction_length, name)
