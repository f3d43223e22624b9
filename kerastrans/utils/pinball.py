"""Pinball loss, the one definition for training, scores and selection, and nodes of integrals."""

import numpy as np


def pinball_loss(errors, probabilities, ops=np):
    """Return the pinball (quantile) loss of errors.

    Args:
        errors: `y_true - quantile`, array or tensor.
        probabilities: Probabilities of the quantiles, which broadcast to the errors.
        ops: Module of the operations: NumPy, or `keras.ops` for tensors.

    Source: Koenker, Bassett (1978).

    Example:
        >>> pinball_loss(np.array([2.0, -2.0]), 0.9).round(2)
        array([1.8, 0.2])
    """
    return ops.maximum(probabilities * errors, (probabilities - 1) * errors)


def tanh_sinh(step):
    """Return nodes, their distances from 1 and weights of tanh-sinh quadrature on (0, 1).

    The nodes are dense at both ends, for functions that are steep there.

    Args:
        step: float, distance of the nodes before their transformation. Half of it doubles the
            number of correct digits.

    Returns:
        Three arrays `(nodes,)`, float64; the distances are accurate near 1, too.

    Source: Takahasi, Mori (1974), "Double exponential formulas for numerical integration".

    Example:
        >>> nodes, _, weights = tanh_sinh(0.1)
        >>> round(float(weights @ np.sqrt(nodes)), 12)
        0.666666666667
    """
    last = round(3.2 / step)
    t = np.pi * np.sinh(step * np.arange(-last, last + 1))
    nodes = 1 / (1 + np.exp(-t))
    weights = step * np.pi / 4 * np.sqrt(1 + (t / np.pi) ** 2) / np.cosh(t / 2) ** 2
    return nodes, nodes[::-1], weights
