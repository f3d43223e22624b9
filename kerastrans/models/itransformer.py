"""iTransformer: a Transformer whose tokens are the channels (Liu et al., 2024, figure 2)."""

import keras
from keras import layers, ops

from kerastrans.layers import Dropout
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.blocks import transformer_encoder
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense
from kerastrans.models.parts.sublayers import EPSILON
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "iTransformer",
    "source": "Liu et al.",
    "year": 2024,
    "summary": "Transformer over channels",
    "tags": ("attention", "mixes channels", "affine", "takes heads"),
}
SEARCH_SPACE = {
    "d_model": (64, 128, 256),
    "num_blocks": (1, 2, 3),
    "dropout": (0.0, 0.1),
}


@checked
def build_itransformer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=256,
    num_heads=8,
    ff_dim=256,
    num_blocks=2,
    dropout=0.1,
    head=None,
    name="itransformer",
):
    """Build iTransformer: the history of each channel is one token; attention mixes channels.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, width of all blocks.
        num_heads: int, number of attention heads, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks.
        num_blocks: int, number of encoder blocks.
        dropout: float in [0, 1), dropout rate.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `num_heads` does not divide `d_model`.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_itransformer_model(24, 12, 3, d_model=8, num_heads=2, ff_dim=16)
        >>> model.output_shape
        (None, 12, 3)

    Source: Liu et al. (2024), section 3. The published code adds calendar features as tokens.
    """
    window = open_window(context_length, num_channels, head, center="mean", scale="std")
    x = ops.transpose(window.values, (0, 2, 1))  # (batch, channels, context_length)
    x = Dropout(dropout)(dense(d_model, name="embedding")(x))
    for i in range(num_blocks):
        x = transformer_encoder(
            x,
            num_heads=num_heads,
            key_dim=d_model // num_heads,
            ff_dim=ff_dim,
            dropout=dropout,
            norm="post",
            activation="gelu",
            kernel_initializer=FanInUniform,
            name=f"encoder_{i}",
        )
    dtype = full_precision()
    x = layers.LayerNormalization(epsilon=EPSILON, dtype=dtype)(x)
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    x = ops.transpose(x, (0, 2, 1))
    outputs = window.forecast(x, head, prediction_length)
    return keras.Model(window.history, outputs, name=name)
