"""TimeBase: a series as a few basis segments (Huang et al., 2025, figure 3).

Paper: https://openreview.net/forum?id=GhTdNOMfOD
Code: https://github.com/hqh0728/TimeBase/tree/369b330
"""

import keras
from keras import layers, ops

from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_non_negative

ARCHITECTURE = {
    "summary": "few basis segments",
    "license": "MIT",
    "tags": ("linear", "channel independent", "shift", "takes heads"),
}


@checked
def build_timebase_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    period=24,
    num_bases=6,
    center_phases=True,
    individual=False,
    orthogonality=0.2,
    head=None,
    name="timebase",
):
    """Build TimeBase: past periods are reduced to a few bases, and future periods combine them.

    If the context is not a multiple of the period, it is continued with the steps one period
    earlier.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        period: int, number of steps in a period, at most `context_length`.
        num_bases: int, number of basis periods.
        center_phases: bool, whether each phase of the period is centred by its mean, or all phases
            by the mean of the window.
        individual: bool, whether each channel has its own weights or all channels share them.
        orthogonality: float of at least 0, weight of the loss that keeps the bases orthogonal, see
            `kerastrans.models.timebase.OrthogonalityLoss`.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If the context is shorter than a period.
        ValueError: If `orthogonality` is negative.
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_timebase_model(24, 12, 3, period=6, num_bases=2)
        >>> model.output_shape
        (None, 12, 3)

    Source: Huang et al. (2025), "TimeBase: The power of minimalism in efficient long-term time
    series forecasting", section 3.
    """
    check_at_most(period=period, context_length=context_length)
    past, future = -(-context_length // period), -(-prediction_length // period)
    missing = past * period - context_length
    dtype = full_precision()

    def map_periods(x, units):
        """Apply a linear map to the last axis of `(batch, period, channels, periods)`."""
        return layers.EinsumDense(
            "bpci,cio->bpco" if individual else "bpci,io->bpco",
            (period, num_channels, units),
            bias_axes="co" if individual else "o",
            kernel_initializer=FanInUniform(),
            dtype=dtype,
        )(x)

    window = open_window(context_length, num_channels, head, center="mean")
    last = (past - 1) * period
    x = window.values
    x = ops.concatenate([x, x[:, last - missing : last]], axis=1)
    x = ops.reshape(x, (-1, past, period, num_channels))  # (batch, periods, period, channels)
    x = ops.transpose(x, (0, 2, 3, 1))  # (batch, period, channels, periods)
    mean = ops.mean(x, axis=-1 if center_phases else (1, -1), keepdims=True)
    bases = map_periods(x - mean, num_bases)
    if orthogonality:
        bases = OrthogonalityLoss(orthogonality)(bases)
    x = map_periods(bases, future * head.size)
    # (batch, period, channels, periods, size)
    x = ops.reshape(x, (-1, period, num_channels, future, head.size))
    x = ops.transpose(x, (0, 3, 1, 2, 4))  # (batch, periods, period, channels, size)
    # (batch, time, channels * size)
    x = ops.reshape(x, (-1, future * period, num_channels * head.size))[:, :prediction_length]
    # The mean of each phase, or of the window, repeated over the horizon.
    mean = ops.tile(mean[..., 0], (1, future * period // mean.shape[1], 1))[:, :prediction_length]
    return window.model(x, head, prediction_length, name, shift=mean)


@serializable
class OrthogonalityLoss(keras.layers.Layer):
    """Adds a loss to the training that keeps features orthogonal over time; returns its inputs.

    The loss is the Frobenius norm of the products of different features, averaged over the windows
    and channels.

    Args:
        weight: float of at least 0, factor of the loss.

    Call arguments:
        inputs: `(batch, time, num_channels, features)`.

    Returns:
        `inputs`.

    Raises:
        ValueError: If `weight` is negative.

    Example:
        >>> from keras import ops
        >>> layer = OrthogonalityLoss(weight=0.5)
        >>> _ = layer(ops.ones((4, 10, 3, 2)), training=True)
        >>> round(float(layer.losses[0]), 2)
        7.07

    Source: Huang et al. (2025), TimeBase, section 3.3.
    """

    def __init__(self, weight, **kwargs):
        check_non_negative(weight=weight)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.weight = weight

    def call(self, inputs, training=False):
        if training:
            products = ops.einsum("btci,btcj->bcij", inputs, inputs)
            others = products * (1 - ops.eye(inputs.shape[-1], dtype=inputs.dtype))
            # The root of 0 has no gradient.
            norms = ops.sqrt(ops.sum(ops.square(others), axis=(-2, -1)) + 1e-12)
            self.add_loss(self.weight * ops.mean(norms))
        return inputs

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
