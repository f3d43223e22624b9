"""xLSTM-Mixer: a recurrent network over channels refines a linear forecast (Kraus et al., 2025)."""

import keras
from keras import layers, ops

from kerastrans.layers import Dropout, ScalarLSTM
from kerastrans.models.parts.checks import checked
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense, learn_tokens, time_dense
from kerastrans.models.parts.sublayers import TORCH_EPSILON
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "title": "xLSTM-Mixer",
    "source": "Kraus et al.",
    "year": 2025,
    "summary": "recurrent network over channels, two views",
    "license": "MIT",
    "tags": ("recurrent", "mixes channels", "affine", "takes heads"),
    "paper": {"d_model": 256, "num_heads": 8},
}
SEARCH_SPACE = {
    "d_model": (32, 64, 128),
    "num_blocks": (1, 2, 3),
    "num_memory_tokens": (None, 1, 2, 4),
    "dropout": (0.0, 0.1, 0.25),
}
FF_FACTOR, FF_MULTIPLE = 1.3, 64  # the default hidden width in units of `d_model`, rounded up


@checked
def build_xlstm_mixer_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    d_model=64,
    num_heads=4,
    ff_dim=None,
    num_blocks=1,
    num_memory_tokens=None,
    kernel_size=None,
    dropout=0.1,
    head=None,
    name="xlstm_mixer",
):
    """Build xLSTM-Mixer: a linear forecast of each channel, refined by an sLSTM over the channels.

    The network reads the channels one after the other, so that their order matters. It reads them
    twice, the second time with reversed features.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        d_model: int, width of all blocks.
        num_heads: int, number of heads of the recurrent layers, a divisor of `d_model`.
        ff_dim: int, hidden width of the feed-forward networks; None for 1.3 times `d_model`,
            rounded up to a multiple of 64.
        num_blocks: int, number of blocks.
        num_memory_tokens: int, number of learnt tokens before the channels; None for none.
        kernel_size: int, number of channels in the causal convolution before the input and forget
            gates of the recurrent layers; None for no convolution.
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
        >>> model = build_xlstm_mixer_model(24, 12, 3, d_model=8, num_heads=2)
        >>> model.output_shape
        (None, 12, 3)

    Source: Kraus et al. (2025), "xLSTM-Mixer: Multivariate time series forecasting by mixing via
    scalar memories", section 3.
    """
    if ff_dim is None:
        ff_dim = -int(-FF_FACTOR * d_model // FF_MULTIPLE) * FF_MULTIPLE

    def normalise(x):
        return layers.LayerNormalization(epsilon=TORCH_EPSILON, center=False)(x)

    def feed_forward(x):
        gate, values = ops.split(dense(2 * ff_dim, use_bias=False)(x), 2, axis=-1)
        return dense(d_model, use_bias=False)(ops.gelu(gate, approximate=False) * values)

    def add_residual(x, sublayer):
        return layers.Add()([x, Dropout(dropout)(sublayer(normalise(x)))])

    window = open_window(context_length, num_channels, head, center="mean", scale="std")
    dtype = full_precision()
    last = window.values[:, -1:]
    x = time_dense(window.values - last, prediction_length, dtype=dtype, name="linear") + last
    x = dense(d_model, name="embedding")(ops.transpose(x, (0, 2, 1)))  # (batch, channels, d_model)
    if num_memory_tokens:
        tokens = learn_tokens(x, num_memory_tokens, name="memory")
        x = ops.concatenate([tokens, x], axis=1)
    tokens = x.shape[1]
    x = ops.reshape(ops.stack([x, ops.flip(x, axis=-1)], axis=1), (-1, tokens, d_model))
    for _ in range(num_blocks):
        x = add_residual(x, ScalarLSTM(num_heads, kernel_size))
        x = add_residual(x, feed_forward)
    x = ops.reshape(normalise(x), (-1, 2, tokens, d_model))[:, :, -num_channels:]
    x = ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, num_channels, 2 * d_model))
    x = dense(prediction_length * head.size, dtype=dtype, name="head")(x)
    outputs = window.forecast(ops.transpose(x, (0, 2, 1)), head, prediction_length)
    return keras.Model(window.history, outputs, name=name)
