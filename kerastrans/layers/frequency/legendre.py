"""Legendre expansion: from coefficients to a curve at any sampling rate."""

import keras
import numpy as np
from keras import ops

from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class LegendreExpansion(keras.layers.Layer):
    """Sum of Legendre polynomials with given coefficients, at evenly spaced points.

    Args:
        length: int, number of points.
        start: float, position one step before the first point.
        step: float, distance between two points; the polynomials are orthogonal on [-1, 1].

    Call arguments:
        inputs: `(..., coefficients)`.

    Returns:
        `(..., length)`.

    Raises:
        ValueError: If `length` is below 1.

    Example:
        >>> import numpy as np
        >>> curve = LegendreExpansion(length=4, start=-1.0, step=0.5)(np.array([[0.0, 1.0]]))
        >>> [round(float(value), 1) for value in curve[0]]
        [-0.5, 0.0, 0.5, 1.0]

    Source: Graf et al. (2025), FlowState, "functional basis decoder".
    """

    def __init__(self, length, start=-1.0, step=0.1, **kwargs):
        check_positive_integers(length=length)
        super().__init__(**kwargs)
        self.length = length
        self.start = start
        self.step = step

    def call(self, inputs):
        points = self.start + self.step * np.arange(1, self.length + 1)
        curves = np.polynomial.legendre.legvander(points, inputs.shape[-1] - 1).T
        return ops.matmul(inputs, ops.convert_to_tensor(curves, dtype=inputs.dtype))

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.length)

    def get_config(self):
        return {
            **super().get_config(),
            "length": self.length,
            "start": self.start,
            "step": self.step,
        }
