"""Errors over those of another forecast, and their mean over series."""

import numpy as np

BOUNDS = 0.01, 100.0  # of one series' relative error, as in fev


def relative_errors(errors, reference):
    """Ratios of errors, from 0.01 to 100, and 1 where they are equal, be it zero.

    Example:
        >>> relative_errors(np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 0.0])).tolist()
        [0.5, 1.0, 100.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(errors == reference, 1.0, np.clip(errors / reference, *BOUNDS))


def geometric_mean(ratios):
    """Geometric mean of positive ratios."""
    return float(np.exp(np.mean(np.log(ratios))))


def log_mean(errors, reference):
    """Logarithmic mean of two errors of each series, `(series,)`.

    The differences of losses, divided by it, have the logarithm of the relative error as their
    mean: a test that their mean is zero is one of the geometric mean over series.

    Example:
        >>> errors, reference = np.array([1.0, 2.0]), np.array([3.0, 2.0])
        >>> np.exp((errors - reference) / log_mean(errors, reference)).round(6).tolist()
        [0.333333, 1.0]
    """
    logs = np.log(relative_errors(errors, reference))
    equal = np.where(errors > 0, errors, 1.0)  # whatever, where both are zero
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(logs == 0, equal, (errors - reference) / logs)
