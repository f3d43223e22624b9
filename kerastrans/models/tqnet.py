"""TQNet: a learnt cycle asks the channels of the window (Lin et al., 2025, figure 2).

Paper: https://arxiv.org/abs/2505.12917
Code: https://github.com/ACAT-SCUT/TQNet/tree/f9a5de1
"""

import keras
from keras import layers, ops

from kerastrans.layers import CachedMultiHeadAttention, Dropout, RecurrentCycle
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import STANDARDIZED, open_window
from kerastrans.models.parts.projections import dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "attention over channels, queried by a learnt cycle",
    "license": "Apache-2.0",
    "tags": ("attention", "mixes channels", "affine", "takes heads"),
    "inputs": ("history", "position"),
    "paper": {"hidden_dim": 512},
    "features": "head: b c f",
}
NUM_HEADS = 4  # of the published code; if they do not divide the context, their width is rounded up


@checked
def build_tqnet_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    cycle_length=24,
    hidden_dim=128,
    dropout=0.5,
    attention_dropout=0.5,
    standardize=True,
    head=None,
    name="tqnet",
):
    """Build TQNet: one attention over channels, whose queries are a learnt cycle of each channel.

    The inputs are a dict, because a window does not show its position in the cycle. Create them
    with `window_dataset(..., first_position=...)`.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        cycle_length: int, number of steps in the cycle.
        hidden_dim: int, width of the network after the attention.
        dropout: float in [0, 1), dropout rate before the last map.
        attention_dropout: float in [0, 1), dropout rate on the attention weights.
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
        ValueError: If a dropout is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_tqnet_model(24, 12, 3, cycle_length=6, hidden_dim=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Lin et al. (2025), "Temporal query network for efficient multivariate time series
    forecasting", section 3.
    """
    dtype = full_precision()
    window = open_window(
        context_length, num_channels, head, **STANDARDIZED, ddof=1, standardize=standardize
    )
    position = keras.Input((), dtype="int32", name="position")
    queries = RecurrentCycle(cycle_length, num_channels)(position, length=context_length)
    # (batch, channels, context_length)
    queries, x = (ops.transpose(y, (0, 2, 1)) for y in (queries, window.values))
    attention = CachedMultiHeadAttention(
        num_heads=NUM_HEADS,
        key_dim=-(-context_length // NUM_HEADS),
        dropout=attention_dropout,
        kernel_initializer=FanInUniform,
    )
    # As one matrix of all three, to which PyTorch applies the rule of Glorot.
    for projection in (attention.query_dense, attention.key_dense, attention.value_dense):
        initial = keras.initializers.VarianceScaling(0.5, "fan_in", "uniform")
        projection.kernel_initializer = initial
    x = layers.Add()([x, attention(queries, x)])  # (batch, channels, context_length)
    x = dense(hidden_dim, name="embedding")(x)
    y = dense(hidden_dim, activation="gelu", name="hidden")(x)
    y = dense(hidden_dim, activation="gelu", name="residual")(y)
    x = Dropout(dropout)(layers.Add()([x, y]))
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    x = ops.transpose(x, (0, 2, 1))  # (batch, time * size, channels)
    return window.model(x, head, prediction_length, name, extra={"position": position})
