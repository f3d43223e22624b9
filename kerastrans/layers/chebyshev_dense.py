"""A map of features by Chebyshev polynomials."""

import keras
from keras import ops

from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers


@keras.saving.register_keras_serializable(package="kerastrans")
class ChebyshevDense(keras.layers.Layer):
    """Sums a learnt Chebyshev polynomial of each input feature, one for each output feature.

    Inputs are squashed twice by a hyperbolic tangent, because the polynomials are bounded on
    [-1, 1] only. It is a layer of a Kolmogorov-Arnold network, in full precision.

    Args:
        units: int, number of output features.
        num_terms: int, number of terms of a polynomial, one more than its degree.

    Call arguments:
        inputs: `(..., features)`.

    Returns:
        `(..., units)`.

    Raises:
        ValueError: If a size is below 1.

    Example:
        >>> from keras import ops
        >>> ops.shape(ChebyshevDense(units=8, num_terms=3)(ops.ones((4, 10, 16))))
        (4, 10, 8)

    Source: Huang et al. (2025), TimeKAN, equations 6-8.
    """

    def __init__(self, units, num_terms, **kwargs):
        check_positive_integers(units=units, num_terms=num_terms)
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.units = units
        self.num_terms = num_terms

    def build(self, inputs_shape):
        features, terms = inputs_shape[-1], self.num_terms
        initializer = keras.initializers.RandomNormal(stddev=1 / (features * terms))
        self.coefficients = self.add_weight(
            shape=(terms, features, self.units), initializer=initializer, name="coefficients"
        )

    def call(self, inputs):
        x = ops.tanh(ops.tanh(inputs))
        terms = [ops.ones_like(x), x][: self.num_terms]
        while len(terms) < self.num_terms:
            terms.append(2 * x * terms[-1] - terms[-2])
        kernel = ops.reshape(self.coefficients, (-1, self.units))
        return ops.matmul(ops.concatenate(terms, axis=-1), kernel)

    def compute_output_shape(self, inputs_shape):
        return (*inputs_shape[:-1], self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "num_terms": self.num_terms}
