"""Head for Student's t distribution, which has heavier tails than the normal distribution."""

import functools
import math

import keras
import numpy as np
import scipy
from keras import ops
from keras.backend import standardize_dtype

from kerastrans.heads.base import Head
from kerastrans.utils.backend import log_gamma

_ORDER = 10, 8  # of the polynomial in the degrees of freedom, and in the normal number
_MIDDLE = 16  # square of a normal number in the middle of the polynomial's range


@keras.saving.register_keras_serializable(package="kerastrans")
class StudentTHead(Head):
    """Student's t distribution; parameters: location, scale, degrees of freedom (above 2).

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Source: Lange, Little, Taylor (1989), section 2; for the draws Wallace (1959), "Bounds on normal
    approximations to Student's and the chi-square distributions".

    Example:
        >>> import numpy as np
        >>> head = StudentTHead()
        >>> head.quantile(np.array([[10.0, 2.0, 4.0]]), [0.5, 0.975]).round(2)
        array([[10.  , 15.55]])
    """

    size = 3
    num_spreads = 1
    point_is_median = True

    def assemble(self, locations, spreads, rest, scale):
        """Return the parameters, with more than 2 degrees of freedom for a finite variance."""
        return ops.concatenate([locations, spreads, 2 + ops.softplus(rest)], axis=-1)

    def log_prob(self, parameters, targets):
        """Return the logarithm of the density of `targets`, tensors `(...)`."""
        location, scale, freedom = (parameters[..., i] for i in range(3))
        z = (targets - location) / scale
        normalizer = _log_gamma_step(freedom / 2) - 0.5 * ops.log(freedom * math.pi)
        exponent = (freedom + 1) / 2 * ops.log1p(ops.square(z) / freedom)
        return normalizer - ops.log(scale) - exponent

    def draw(self, parameters, normals):
        """Return one draw for each element from normal numbers `(..., 1)`; all are tensors.

        The draw has the probability of the normal number, up to 1e-5 of a standard deviation of it.
        With `n` degrees of freedom, `n * log(1 + t**2 / n)` is nearly the square of the number
        (Wallace, 1959); a polynomial is their ratio.
        """
        location, scale, freedom = (parameters[..., i] for i in range(3))
        z = normals[..., 0]
        square = ops.square(z)
        columns = _polynomials(2 * square / (square + _MIDDLE) - 1, _ORDER[1])
        ratio = ops.matmul(_polynomials(4 / freedom - 1, _ORDER[0]), _coefficients(z.dtype))
        ratio = ops.sum(ratio * columns, axis=-1)
        return location + scale * ops.sign(z) * ops.sqrt(
            freedom * ops.expm1(ratio * square / freedom)
        )

    def cdf(self, parameters, values):
        """Return the probability of a value of at most `values` `(...)`."""
        z = (values - parameters[..., 0]) / parameters[..., 1]
        return scipy.special.stdtr(parameters[..., 2], z)

    def _inverse_cdf(self, parameters, probability):
        z = scipy.special.stdtrit(parameters[..., 2], probability)
        return parameters[..., 0] + parameters[..., 1] * z


def _polynomials(x, count):
    """Return the first Chebyshev polynomials of `x` in [-1, 1], `(..., count)`."""
    found = [ops.ones_like(x), x]
    while len(found) < count:
        found.append(2 * x * found[-1] - found[-2])
    return ops.stack(found, axis=-1)


@functools.cache
def _coefficients(dtype):
    """Return the coefficients of the polynomial in `StudentTHead.draw`, NumPy `_ORDER`."""
    x, y = (np.cos(np.pi * (np.arange(count) + 0.5) / count) for count in (40, 60))
    x, y = np.meshgrid(x, y)
    z = np.sqrt(_MIDDLE * (1 + y) / (1 - y))
    x, y, z = (values[z < 7] for values in (x, y, z))
    freedom = 4 / (1 + x)
    t = scipy.special.stdtrit(freedom, scipy.special.ndtr(-z))
    ratio = freedom * np.log1p(t**2 / freedom) / z**2
    design = np.polynomial.chebyshev.chebvander2d(x, y, [size - 1 for size in _ORDER])
    found = np.linalg.lstsq(design, ratio, rcond=None)[0]
    return found.reshape(_ORDER).astype(standardize_dtype(dtype))


def _log_gamma_step(x):
    """Return the difference of log gamma at x + 1/2 and at x, for x of at least 1.

    From x = 10 on the asymptotic series is used (Tricomi, Erdelyi, 1951): in float32 the difference
    of two logarithms near 1e5 would be wrong in the second decimal.
    """
    series = 0.5 * ops.log(x) - 1 / (8 * x) + 1 / (192 * x * x * x)
    small = ops.minimum(x, 10.0)
    return ops.where(x < 10, log_gamma(small + 0.5) - log_gamma(small), series)
