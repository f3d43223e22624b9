"""Errors relative to those of another forecast, and their mean over series."""

import numpy as np

BOUNDS = 0.01, 100.0  # smallest and largest relative error of one series, as in fev


def relative_errors(errors, reference):
    """Return ratios of errors clipped to 0.01 to 100; equal errors, including zeros, give 1.

    Example:
        >>> relative_errors(np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 0.0])).tolist()
        [0.5, 1.0, 100.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(errors == reference, 1.0, np.clip(errors / reference, *BOUNDS))


def geometric_mean(ratios):
    """Return the geometric mean of positive ratios."""
    return float(np.exp(np.mean(np.log(ratios))))


def log_mean(errors, reference):
    """Return the logarithmic mean of the two errors of each series, `(series,)`.

    Differences of losses divided by this mean average to the logarithm of the relative error.
    Testing that their mean is zero therefore tests the geometric mean over series.

    Example:
        >>> errors, reference = np.array([1.0, 2.0]), np.array([3.0, 2.0])
        >>> np.exp((errors - reference) / log_mean(errors, reference)).round(6).tolist()
        [0.333333, 1.0]
    """
    logs = np.log(relative_errors(errors, reference))
    equal = np.where(errors > 0, errors, 1.0)  # if both are zero, any positive value will do
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(logs == 0, equal, (errors - reference) / logs)
