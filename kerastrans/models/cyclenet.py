"""CycleNet: a learnt cycle, and a small model of what it leaves (Lin et al., 2024, figure 2)."""

import keras
from keras import layers

from kerastrans import heads
from kerastrans.layers import RecurrentCycle, ReversibleInstanceNormalization
from kerastrans.models.blocks import time_dense
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers

SEARCH_SPACE = {
    "cycle_length": (7, 24, 168),
    "hidden_dim": (None, 512),
}


def build_cyclenet_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    cycle_length=24,
    hidden_dim=None,
    head=None,
    name="cyclenet",
):
    """Build CycleNet; all channels share the linear map, each has a cycle of its own.

    Its inputs are a dict: where in the cycle a window stands cannot be seen from the window. Make
    them with `window_dataset(..., first_position=...)`.

    Args:
        context_length, prediction_length, num_channels: int, sizes of input and output.
        cycle_length: int, steps in the cycle.
        hidden_dim: int, hidden width of CycleNet/MLP; None for CycleNet/Linear.
        head: None for points, or a head of `kerastrans.heads`: its parameters are a last axis.
        name: of the model.

    Returns:
        A functional Keras model of `{"history": (batch, context_length, num_channels),
        "position": (batch,)}`, the second an integer that counts the steps of the series up to
        the window's first -> `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: a size below 1, an unknown `head`.

    Source: Lin et al. (2024), "CycleNet", section 3.
    """
    check_positive_integers(
        context_length=context_length,
        prediction_length=prediction_length,
        num_channels=num_channels,
        cycle_length=cycle_length,
    )
    if hidden_dim is not None:
        check_positive_integers(hidden_dim=hidden_dim)
    dtype = full_precision()
    head = heads.get(head)
    history = keras.Input((context_length, num_channels), name="history")
    position = keras.Input((), dtype="int32", name="position")
    cycle = RecurrentCycle(cycle_length, num_channels)
    normalization = ReversibleInstanceNormalization()
    x, statistics = normalization(history)
    x = layers.Subtract(dtype=dtype)([x, cycle(position, length=context_length)])
    if hidden_dim is not None:
        x = time_dense(x, hidden_dim, activation="relu")
    x = time_dense(x, prediction_length * head.size, dtype=dtype)
    future = cycle(position, length=prediction_length, offset=context_length)
    outputs = head.forecast(x, prediction_length, normalization, statistics, shift=future)
    return keras.Model({"history": history, "position": position}, outputs, name=name)
