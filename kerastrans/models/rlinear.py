"""RLinear: a linear model with reversible instance normalisation (Li et al., 2023).

Paper: https://arxiv.org/abs/2305.10721
Code: https://github.com/yuqinie98/PatchTST/tree/204c21e
"""

from kerastrans.layers import Dropout
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import time_dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "linear, of normalised windows",
    "license": "Apache-2.0",
    "tags": ("linear", "channel independent", "affine", "takes heads"),
}


@checked
def build_rlinear_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    individual=False,
    affine=True,
    dropout=0.0,
    head=None,
    name="rlinear",
):
    """Build RLinear: normalise each window, apply one linear map, undo the normalisation.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        individual: bool, whether each channel has its own linear map.
        affine: bool, whether the normalised window has a learnt scale and offset per channel.
        dropout: float in [0, 1), dropout rate on the normalised window; the paper has none, the
            authors' code has.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_rlinear_model(24, 12, 3, individual=True)
        >>> model.output_shape
        (None, 12, 3)

    Source: Li et al. (2023), "Revisiting long-term time series forecasting", section 4.
    """
    window = open_window(context_length, num_channels, head, **STANDARDIZED, affine=affine)
    x = Dropout(dropout, dtype=full_precision())(window.values) if dropout else window.values
    x = time_dense(x, prediction_length * head.size, individual=individual, dtype=full_precision())
    return window.model(x, head, prediction_length, name)
