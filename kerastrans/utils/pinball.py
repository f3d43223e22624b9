"""Pinball loss, the one definition for training, scores and selection."""

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
