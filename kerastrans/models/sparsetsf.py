"""SparseTSF: one small linear map from past to future periods (Lin et al., 2024, figure 2).

Paper: https://arxiv.org/abs/2405.00946
Code: https://github.com/lss-1138/SparseTSF/tree/b8c2740
"""

from keras import layers, ops

from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense, fold_channels, unfold_channels
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most

ARCHITECTURE = {
    "summary": "linear, period to period",
    "license": "Apache-2.0",
    "tags": ("linear", "channel independent", "shift", "takes heads"),
}


@checked
def build_sparsetsf_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    period=24,
    hidden_dim=None,
    head=None,
    name="sparsetsf",
):
    """Build SparseTSF: each phase of the period is forecast from its own past by one matrix.

    If the context is not a multiple of the period, its oldest steps are not used.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        period: int, number of steps in a period, at most `context_length`.
        hidden_dim: int, hidden width of SparseTSF/MLP; None for SparseTSF/Linear.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the context is shorter than a period.
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_sparsetsf_model(24, 12, 3, period=6)
        >>> model.output_shape
        (None, 12, 3)

    Source: Lin et al. (2024), "SparseTSF", section 3 and algorithm 1.
    """
    check_at_most(period=period, context_length=context_length)
    past, future = context_length // period, -(-prediction_length // period)

    dtype = full_precision()
    window = open_window(context_length, num_channels, head, center="mean")
    x = fold_channels(window.values[:, -past * period :])  # (batch * channels, time, 1)
    smooth = layers.Conv1D(
        1,
        1 + 2 * (period // 2),
        padding="same",
        use_bias=False,
        kernel_initializer=FanInUniform(),
        dtype=dtype,
    )
    x = layers.Add(dtype=dtype)([x, smooth(x)])
    x = ops.transpose(ops.reshape(x, (-1, past, period)), (0, 2, 1))  # (..., period, past)
    if hidden_dim is not None:
        x = dense(hidden_dim, activation="relu", dtype=dtype)(x)
    x = dense(future * head.size, use_bias=hidden_dim is not None, dtype=dtype)(x)
    # (batch * channels, periods, period, size)
    x = ops.transpose(ops.reshape(x, (-1, period, future, head.size)), (0, 2, 1, 3))
    # (batch * channels, time, size)
    x = ops.reshape(x, (-1, future * period, head.size))[:, :prediction_length]
    # (batch, time * size, channels)
    x = unfold_channels(ops.reshape(x, (-1, prediction_length * head.size, 1)), num_channels)
    return window.model(x, head, prediction_length, name)
