"""A linear map of complex numbers."""

import keras
from keras import ops

from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


@serializable
class ComplexDense(keras.layers.Layer):
    """Multiplies complex numbers by a complex matrix and adds a complex bias, in full precision.

    Args:
        units: int, number of output features.
        individual: bool, whether each row of the second axis from the end has its own weights.
        diagonal: bool, whether the matrix is diagonal; `units` is then the number of inputs.
        kernel_initializer: Initializer of both parts of the matrix.
        imaginary_initializer: Initializer of the imaginary part, None for `kernel_initializer`.
        bias_initializer: Initializer of both parts of the bias.

    Call arguments:
        real: `(..., features)`, real part; `(..., rows, features)` with individual weights.
        imaginary: Imaginary part, of the same shape.

    Returns:
        The real and the imaginary part, each `(..., units)`.

    Raises:
        ValueError: If `units` is below 1.

    Example:
        >>> from keras import ops
        >>> real, imaginary = ComplexDense(units=8)(ops.ones((4, 3, 6)), ops.ones((4, 3, 6)))
        >>> ops.shape(real), ops.shape(imaginary)
        ((4, 3, 8), (4, 3, 8))

    Source: Xu et al. (2024), FITS, section 3.2; Yi et al. (2023), FreTS, equation 8.
    """

    def __init__(
        self,
        units,
        individual=False,
        diagonal=False,
        kernel_initializer="glorot_uniform",
        imaginary_initializer=None,
        bias_initializer="zeros",
        **kwargs,
    ):
        check_positive_integers(units=units)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.units = units
        self.individual = individual
        self.diagonal = diagonal
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.imaginary_initializer = keras.initializers.get(imaginary_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)

    def build(self, real_shape, imaginary_shape):
        rows = real_shape[-2:-1] if self.individual else ()
        shape = (*rows, self.units) if self.diagonal else (*rows, real_shape[-1], self.units)
        initializers = {
            "real": self.kernel_initializer,
            "imaginary": self.imaginary_initializer or self.kernel_initializer,
        }
        for part, initializer in initializers.items():
            kernel = self.add_weight(shape=shape, initializer=initializer.clone(), name=part)
            initializer = self.bias_initializer.clone()
            shape_of_bias = (*rows, self.units)
            bias = self.add_weight(shape_of_bias, initializer, name=f"{part}_bias")
            setattr(self, part, kernel)
            setattr(self, f"{part}_bias", bias)

    def call(self, real, imaginary):
        return (
            self._product(real, self.real)
            - self._product(imaginary, self.imaginary)
            + self.real_bias,
            self._product(imaginary, self.real)
            + self._product(real, self.imaginary)
            + self.imaginary_bias,
        )

    def _product(self, x, kernel):
        if self.diagonal:
            return x * kernel
        if not self.individual:
            return ops.matmul(x, kernel)
        return ops.einsum("...ci,cio->...co", x, kernel)

    def compute_output_shape(self, real_shape, imaginary_shape):
        shape = (*real_shape[:-1], self.units)
        return shape, shape
