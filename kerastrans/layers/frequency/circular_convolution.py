"""Convolution with filters that are as long as the series."""

import keras
from keras import ops

from kerastrans.layers.frequency.fourier import irfft, rfft
from kerastrans.utils.precision import full_precision


@keras.saving.register_keras_serializable(package="kerastrans")
class CircularConvolution(keras.layers.Layer):
    """Convolves each feature with a filter as long as the series, which is taken for a circle.

    Step t is `sum(kernel[s] * inputs[t - s])`, and the step before the first is the last. It is
    computed as a product of Fourier transforms.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(batch, time, d_model)`, always of the same length.

    Returns:
        `(batch, time, d_model)`.

    Example:
        >>> from keras import ops
        >>> ops.shape(CircularConvolution()(ops.ones((4, 10, 16))))
        (4, 10, 16)

    Source: Fu et al. (2024), "FlashFFTConv: Efficient convolutions for long sequences with tensor
    cores", equation 1, with a transform as long as the series.
    """

    def build(self, inputs_shape):
        _, length, width = inputs_shape
        initializer = keras.initializers.RandomNormal(stddev=length**-0.5)
        self.kernel = self.add_weight(shape=(width, length), initializer=initializer, name="kernel")

    def call(self, inputs):
        # Sums over all steps would overflow in float16.
        x, kernel = (ops.cast(y, full_precision()) for y in (inputs, self.kernel))
        real, imaginary = rfft(ops.transpose(x, (0, 2, 1)))
        kernel_real, kernel_imaginary = rfft(kernel)
        product = (
            real * kernel_real - imaginary * kernel_imaginary,
            real * kernel_imaginary + imaginary * kernel_real,
        )
        x = ops.transpose(irfft(*product, inputs.shape[1]), (0, 2, 1))
        return ops.cast(x, inputs.dtype)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
