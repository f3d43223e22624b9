"""Mamba: a selective state space over the steps of the window (Gu, Dao, 2023, figure 3)."""

import keras
from keras import layers, ops

from kerastrans.layers import CausalDepthwiseConvolution, SelectiveStateSpace
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.encoder_decoders import embed_values
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "Mamba",
    "source": "Gu, Dao",
    "year": 2023,
    "summary": "selective state space over time",
    "license": "MIT",
    "tags": ("recurrent", "mixes channels", "affine", "takes heads"),
}
SEARCH_SPACE = {
    "d_model": (32, 64, 128),
    "state_dim": (8, 16),
    "num_blocks": (1, 2, 3),
    "dropout": (0.0, 0.1),
}


@checked
def build_mamba_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=64,
    state_dim=16,
    expansion=2,
    kernel_size=4,
    num_blocks=2,
    dropout=0.1,
    head=None,
    name="mamba",
):
    """Build Mamba over time: the forecast is read from the last `prediction_length` states.

    If the horizon is longer than the context, the normalised window is continued with zeros.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, width of all blocks.
        state_dim: int, number of states of each feature.
        expansion: int, factor of the width inside a block.
        kernel_size: int, number of steps of the causal convolution of each block.
        num_blocks: int, number of blocks.
        dropout: float in [0, 1), dropout rate on the embedding.
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
        >>> model = build_mamba_model(24, 12, 3, d_model=8, state_dim=4)
        >>> model.output_shape
        (None, 12, 3)

    Source: Gu, Dao (2023), "Mamba: Linear-time sequence modeling with selective state spaces",
    section 3; as a forecaster, the Time-Series-Library of Wu et al.
    """
    width, rank = expansion * d_model, -(-d_model // 16)

    def mix(x):
        x, gate = ops.split(dense(2 * width, use_bias=False)(x), 2, axis=-1)
        x = ops.silu(CausalDepthwiseConvolution(kernel_size)(x))
        x = SelectiveStateSpace(state_dim, rank)(x)
        return dense(d_model, use_bias=False)(x * ops.silu(gate))

    window = open_window(context_length, num_channels, head, center="mean", scale="std")
    missing = max(0, prediction_length - context_length)
    x = ops.pad(window.values, ((0, 0), (0, missing), (0, 0)))
    x = embed_values(x, d_model, dropout)
    for _ in range(num_blocks):
        x = layers.Add()([x, mix(layers.RMSNormalization(epsilon=1e-5)(x))])
    dtype = full_precision()
    x = layers.RMSNormalization(epsilon=1e-5, dtype=dtype)(x)[:, -prediction_length:]
    x = dense(num_channels * head.size, use_bias=False, dtype=dtype, name="head")(x)
    outputs = window.forecast(x, head, prediction_length)
    return keras.Model(window.history, outputs, name=name)
