"""A causal depthwise convolution with a dilation that is chosen at each call."""

import keras
from keras import ops

from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class CausalDepthwiseConvolution(keras.layers.Layer):
    """Causal depthwise convolution whose dilation is chosen at each call.

    Each feature has its own filter, and one filter can look at a sequence at several scales. The
    steps before the first one are padded with zeros.

    Args:
        kernel_size: int, number of taps of the filter.

    Call arguments:
        inputs: `(batch, time, d_model)`.
        dilation: int, number of steps between two taps.

    Returns:
        `(batch, time, d_model)`.

    Raises:
        ValueError: If `kernel_size` is below 1.

    Example:
        >>> from keras import ops
        >>> layer = CausalDepthwiseConvolution(kernel_size=3)
        >>> ops.shape(layer(ops.ones((4, 10, 16)), dilation=4))
        (4, 10, 16)

    Source: Bai et al. (2018), section 3.2, applied to each feature separately.
    """

    def __init__(self, kernel_size, **kwargs):
        check_positive_integers(kernel_size=kernel_size)
        super().__init__(**kwargs)
        self.kernel_size = kernel_size

    def build(self, inputs_shape):
        width = inputs_shape[-1]
        self.kernel = self.add_weight(
            shape=(self.kernel_size, width), initializer="glorot_uniform", name="kernel"
        )
        self.bias = self.add_weight(shape=(width,), initializer="zeros", name="bias")

    def call(self, inputs, dilation=1):
        length = inputs.shape[1]
        before = (self.kernel_size - 1) * dilation
        x = ops.pad(inputs, [[0, 0], [before, 0], [0, 0]])
        # A sum of shifted products, because backends are slow at depthwise convolutions.
        taps = (
            x[:, tap * dilation : tap * dilation + length] * self.kernel[tap]
            for tap in range(self.kernel_size)
        )
        return sum(taps) + self.bias

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        return {**super().get_config(), "kernel_size": self.kernel_size}
