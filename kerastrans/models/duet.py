"""DUET: experts for each window, a mask for the channels (Qiu et al., 2025, figure 4)."""

import keras
from keras import layers, ops

from kerastrans.layers import (
    ChannelMask,
    Dropout,
    MaskedChannelAttention,
    SeriesDecomposition,
    TopKGate,
)
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.blocks import transformer_encoder
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_at_most, check_choice

ARCHITECTURE = {
    "title": "DUET",
    "source": "Qiu et al.",
    "year": 2025,
    "summary": "linear experts by window, masked attention to channels",
    "license": "MIT",
    "tags": ("attention", "mixes channels", "takes heads"),
    "paper": {"d_model": 512, "ff_dim": 1024},
}
SEARCH_SPACE = {
    "d_model": (32, 64, 128),
    "num_experts": (2, 4, 6),
    "num_blocks": (1, 2),
    "dropout": (0.0, 0.1, 0.2),
}


@checked
def build_duet_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=64,
    num_heads=4,
    ff_dim=128,
    num_blocks=2,
    num_experts=4,
    num_chosen_experts=2,
    hidden_dim=64,
    shared_gates=False,
    moving_average=25,
    balance=1.0,
    draw_always=False,
    activation="gelu",
    dropout=0.1,
    output_dropout=0.1,
    head=None,
    name="duet",
):
    """Build DUET: a gate chooses linear experts for each window and channel; attention mixes them.

    The gate and the mask of the channels read the window before it is normalised. A single channel
    has no attention.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_blocks: int, number of encoder blocks.
        num_experts: int, number of experts.
        num_chosen_experts: int, number of experts of a window, at most `num_experts`.
        hidden_dim: int, hidden width of the gate.
        shared_gates: bool, whether the mean of the channels chooses experts for all of them,
            `CI=False` in the authors' code; otherwise each channel chooses its own.
        moving_average: int, number of steps in the average that separates trend and season.
        balance: float of at least 0, factor of the loss that keeps all experts in use.
        draw_always: bool, whether the mask of the channels is random in forecasts too, as in the
            authors' code.
        activation: "gelu" or "relu", activation of the feed-forward networks.
        dropout: float in [0, 1), dropout rate of the attention and the feed-forward networks.
        output_dropout: float in [0, 1), dropout rate of the forecast of the normalised window.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `num_chosen_experts` is greater than `num_experts`.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `activation` is unknown.
        ValueError: If a dropout is outside [0, 1), or `balance` is negative.
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_duet_model(24, 12, 3, d_model=8, num_heads=2, hidden_dim=8)
        >>> model.output_shape
        (None, 12, 3)

    Source: Qiu et al. (2025), "DUET: Dual clustering enhanced multivariate time series
    forecasting", section 4.
    """
    check_at_most(num_chosen_experts=num_chosen_experts, num_experts=num_experts)
    check_choice("activation", activation, ("gelu", "relu"))
    dtype = full_precision()

    def score_experts(x, name):
        """Return a score for each expert, `(batch, channels, experts)`."""
        options = {"use_bias": False, "dtype": dtype}
        x = dense(hidden_dim, activation="relu", **options, name=f"{name}_hidden")(x)
        return dense(num_experts, **options, name=name)(x)

    def apply_experts(x, name):
        """Map `(batch, time, channels)` to `(batch, channels, experts, d_model)`.

        As in the authors' code, the weights start as an average and the biases at random.
        """
        bound = context_length**-0.5
        return layers.EinsumDense(
            "btc,etd->bced",
            (num_channels, num_experts, d_model),
            bias_axes="ed",
            kernel_initializer=keras.initializers.Constant(1 / context_length),
            bias_initializer=keras.initializers.RandomUniform(-bound, bound),
            name=name,
        )(x)

    def attend(x, name):
        attention = MaskedChannelAttention(
            num_heads=num_heads,
            key_dim=d_model // num_heads,
            dropout=dropout,
            kernel_initializer=FanInUniform,
            name=name,
        )
        return attention(x, mask)

    window = open_window(
        context_length, num_channels, head, center="mean", scale="std", affine=True
    )
    raw = ops.transpose(window.normalization(window.values, window.statistics), (0, 2, 1))
    seen = ops.mean(raw, axis=1, keepdims=True) if shared_gates else raw
    gates = TopKGate(num_chosen_experts, balance, name="gates")(
        score_experts(seen, "gate"), score_experts(seen, "gate_noise")
    )  # (batch, channels, experts), or (batch, 1, experts)
    season, trend = SeriesDecomposition(moving_average, dtype=dtype)(window.values)
    x = layers.Add()([apply_experts(season, "season"), apply_experts(trend, "trend")])
    x = ops.sum(x * ops.cast(gates, x.dtype)[..., None], axis=2)  # (batch, channels, d_model)
    if num_channels > 1:
        mask = ChannelMask(draw_always, name="similar_channels")(raw)
        for i in range(num_blocks):
            name = f"encoder_{i}"
            x = transformer_encoder(
                x,
                num_heads=num_heads,
                key_dim=d_model // num_heads,
                ff_dim=ff_dim,
                dropout=dropout,
                norm="post",
                activation=activation,
                layer_norm_epsilon=TORCH_EPSILON,
                kernel_initializer=FanInUniform,
                self_attention=lambda x, name=name: attend(x, f"{name}_self_attention"),
                name=name,
            )
        x = layers.LayerNormalization(epsilon=TORCH_EPSILON, dtype=dtype)(x)
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    x = Dropout(output_dropout, dtype=dtype)(x)
    outputs = window.forecast(ops.transpose(x, (0, 2, 1)), head, prediction_length)
    return keras.Model(window.history, outputs, name=name)
