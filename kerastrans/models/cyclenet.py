"""CycleNet: a learnt cycle and a small model of the remainder (Lin et al., 2024, figure 2).

Paper: https://arxiv.org/abs/2409.18479
Code: https://github.com/ACAT-SCUT/CycleNet/tree/af6e06c
"""

import keras
from keras import layers

from kerastrans.layers import RecurrentCycle
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import time_dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "learnt cycle and linear rest",
    "license": "Apache-2.0",
    "tags": ("linear", "channel independent", "affine", "takes heads"),
    "inputs": ("history", "position"),
}


@checked
def build_cyclenet_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    cycle_length=24,
    hidden_dim=None,
    standardize=True,
    head=None,
    name="cyclenet",
):
    """Build CycleNet; all channels share the linear map, and each has its own cycle.

    In the paper each series is a channel. In a long frame all series are channel 0 and share one
    cycle; in a wide frame each column has its own cycle.

    The inputs are a dict, because a window does not show its position in the cycle. Create them
    with `window_dataset(..., first_position=...)`.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        cycle_length: int, number of steps in the cycle.
        hidden_dim: int, hidden width of CycleNet/MLP; None for CycleNet/Linear.
        standardize: bool, whether each window is normalised by its mean and standard deviation.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `{"history": (batch, context_length, num_channels),
        "position": (batch,)}` to `(batch, prediction_length, num_channels)`. The position is an
        integer, the number of steps of the series before the window.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_cyclenet_model(24, 12, 3, cycle_length=6)
        >>> model.output_shape
        (None, 12, 3)

    Source: Lin et al. (2024), "CycleNet", section 3.
    """
    dtype = full_precision()
    window = open_window(
        context_length, num_channels, head, **STANDARDIZED, ddof=1, standardize=standardize
    )
    position = keras.Input((), dtype="int32", name="position")
    cycle = RecurrentCycle(cycle_length, num_channels)
    x = layers.Subtract(dtype=dtype)([window.values, cycle(position, length=context_length)])
    if hidden_dim is not None:
        x = time_dense(x, hidden_dim, activation="relu")
    x = time_dense(x, prediction_length * head.size, dtype=dtype)
    future = cycle(position, length=prediction_length, offset=context_length)
    return window.model(
        x, head, prediction_length, name, shift=future, extra={"position": position}
    )
