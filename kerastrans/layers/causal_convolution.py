"""Causal convolutions that Keras does not have."""

import keras
from keras import ops

from kerastrans.layers.initializers import FanInUniform
from kerastrans.utils.model_files import serializable
from kerastrans.utils.validation import check_positive_integers


@serializable
class CausalDepthwiseConvolution(keras.layers.Layer):
    """Causal depthwise convolution whose dilation is chosen at each call.

    Each feature has its own filter, and one filter can look at a sequence at several scales. The
    steps before the first one are padded with zeros.

    Args:
        kernel_size: int, number of taps of the filter.
        use_bias: bool, whether a bias is added to each feature.
        kernel_initializer: Initializer of the filters `(kernel_size, d_model)`.

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

    def __init__(self, kernel_size, use_bias=True, kernel_initializer="glorot_uniform", **kwargs):
        check_positive_integers(kernel_size=kernel_size)
        super().__init__(**kwargs)
        self.kernel_size = kernel_size
        self.use_bias = use_bias
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    def build(self, inputs_shape):
        width = inputs_shape[-1]
        self.kernel = self.add_weight(
            shape=(self.kernel_size, width), initializer=self.kernel_initializer, name="kernel"
        )
        if self.use_bias:
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
        return sum(taps) + self.bias if self.use_bias else sum(taps)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape


@serializable
class WeightNormalizedConvolution(keras.layers.Layer):
    """Causal convolution whose kernels are products of a length and a direction.

    The kernel of each filter is `scale * direction / norm(direction)`, so that training changes its
    length and its direction separately. At first the length is that of the direction.

    Args:
        filters: int, number of output features.
        kernel_size: int, number of taps.
        dilation: int, number of steps between two taps.

    Call arguments:
        inputs: `(batch, time, channels)`.

    Returns:
        `(batch, time, filters)`.

    Raises:
        ValueError: If a size is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(WeightNormalizedConvolution(8, kernel_size=3)(ops.ones((4, 10, 5))))
        (4, 10, 8)

    Source: Salimans, Kingma (2016), equation 2; Bai et al. (2018), section 3.3.
    """

    def __init__(self, filters, kernel_size, dilation=1, **kwargs):
        check_positive_integers(filters=filters, kernel_size=kernel_size, dilation=dilation)
        super().__init__(**kwargs)
        self.filters = filters
        self.kernel_size = kernel_size
        self.dilation = dilation

    def build(self, inputs_shape):
        shape = (self.kernel_size, inputs_shape[-1], self.filters)
        self.direction = self.add_weight(shape=shape, initializer=FanInUniform(), name="direction")
        self.scale = self.add_weight(
            shape=(self.filters,),
            initializer=lambda shape, dtype: ops.cast(self._norm(), dtype),
            name="scale",
        )
        self.bias = self.add_weight(shape=(self.filters,), initializer="zeros", name="bias")

    def call(self, inputs):
        kernel = ops.cast(self.direction * (self.scale / self._norm()), inputs.dtype)
        before = (self.kernel_size - 1) * self.dilation
        x = ops.pad(inputs, [[0, 0], [before, 0], [0, 0]])
        x = ops.conv(x, kernel, padding="valid", dilation_rate=self.dilation)
        return x + ops.cast(self.bias, x.dtype)

    def _norm(self):
        """Return the norm of the direction of each filter."""
        return ops.sqrt(ops.sum(ops.square(self.direction), axis=(0, 1)))

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.filters)
