"""TCN: dilated causal convolutions (Bai et al., 2018, figure 1).

Paper: https://arxiv.org/abs/1803.01271
Code: https://github.com/locuslab/TCN/tree/2f8c2b8
"""

from keras import layers, ops

from kerastrans.layers import WeightNormalizedConvolution
from kerastrans.layers.initializers import FanInUniform
from kerastrans.models.parts.checks import checked, one_each
from kerastrans.models.parts.normalized_window import open_window
from kerastrans.models.parts.projections import dense
from kerastrans.utils.precision import full_precision

ARCHITECTURE = {
    "summary": "dilated causal convolutions",
    "license": "MIT",
    "tags": ("convolution", "mixes channels", "takes heads"),
    "features": "head: b f",
}


@checked(may_be_tuple=("filters",))
def build_tcn_model(
    context_length,
    prediction_length,
    num_channels,
    *,
    filters=64,
    kernel_size=3,
    num_blocks=6,
    weight_norm=True,
    dropout=0.1,
    head=None,
    name="tcn",
):
    """Build a temporal convolutional network whose last step forecasts the whole horizon.

    Block i has the dilation `2^i`, so that the receptive field of the last step has
    `1 + 2 * (kernel_size - 1) * (2^num_blocks - 1)` steps: 253 by default.

    Args:
        context_length: int, number of steps of the history.
        prediction_length: int, number of steps to forecast.
        num_channels: int, number of values at each step.
        filters: int, number of features of each step, or a tuple of one int per block.
        kernel_size: int, number of taps of each convolution.
        num_blocks: int, number of residual blocks, each with two convolutions.
        weight_norm: bool, whether the kernels of the convolutions are weight-normalised.
        dropout: float in [0, 1), dropout rate of whole features.
        head: None for point forecasts, or a head of `kerastrans.heads`, whose parameters are the
            last axis of the output.
        name: str, name of the model.

    Returns:
        A functional Keras model that maps `(batch, context_length, num_channels)` to
        `(batch, prediction_length, num_channels)`.

    Raises:
        ValueError: If a size is below 1, or too large.
        ValueError: If `filters` does not have one number per block.
        ValueError: If `dropout` is outside [0, 1).
        ValueError: If `head` is unknown.

    Example:
        >>> model = build_tcn_model(24, 12, 3, filters=8, num_blocks=3)
        >>> model.output_shape
        (None, 12, 3)

    Source: Bai et al. (2018), section 3 and figure 1b.
    """
    widths = one_each("filters", filters, num_blocks, "blocks")

    def convolve(x, width, dilation):
        if weight_norm:
            x = WeightNormalizedConvolution(width, kernel_size, dilation)(x)
        else:
            options = {"padding": "causal", "dilation_rate": dilation}
            initializer = FanInUniform()
            x = layers.Conv1D(width, kernel_size, kernel_initializer=initializer, **options)(x)
        return layers.SpatialDropout1D(dropout)(layers.ReLU()(x))

    window = open_window(context_length, num_channels, head)
    x = window.values
    for i, width in enumerate(widths):
        y = convolve(convolve(x, width, 2**i), width, 2**i)
        if x.shape[-1] != width:
            x = dense(width)(x)
        x = layers.ReLU()(layers.Add()([x, y]))
    width = num_channels * head.size
    x = dense(prediction_length * width, dtype=full_precision(), name="head")(x[:, -1])
    x = ops.reshape(x, (-1, prediction_length, width))  # (batch, time, channels * size)
    return window.model(x, head, prediction_length, name)
