"""Errors of point forecasts in the units of the series."""

import numpy as np


def mae(targets, forecasts):
    """Mean absolute error over all axes.

    Args:
        targets: array of the true values.
        forecasts: array of the same shape.

    Raises:
        ValueError: shapes that differ.

    Example:
        >>> mae([1.0, 2.0], [1.0, 4.0])
        1.0
    """
    return float(np.mean(np.abs(_difference(targets, forecasts))))


def mse(targets, forecasts):
    """Mean squared error over all axes, see `mae`.

    Example:
        >>> mse([1.0, 2.0], [1.0, 4.0])
        2.0
    """
    return float(np.mean(np.square(_difference(targets, forecasts))))


def rmse(targets, forecasts):
    """Root of the mean squared error over all axes, see `mae`.

    Example:
        >>> rmse([0.0, 0.0], [3.0, 3.0])
        3.0
    """
    return mse(targets, forecasts) ** 0.5


def mase(targets, forecasts, train, season=1):
    """Mean absolute scaled error: the error over that of seasonal-naive steps in training.

    Args:
        targets: `(..., num_channels)`, the true values.
        forecasts: of the same shape.
        train: `(time, num_channels)`, the training rows, longer than `season`.
        season: int, rows in a season; 1 scales by last-value steps.

    Returns:
        The mean over channels of each channel's ratio: below 1 is better than one seasonal-naive
        step was in training, on average.

    Raises:
        ValueError: shapes that differ.
        ValueError: training rows no longer than `season`.
        ValueError: a channel that repeats itself exactly, which has no scale.

    Source: Hyndman, Koehler (2006), equation 5.

    Example:
        >>> mase([[4.0], [7.0]], [[4.0], [4.0]], train=[[1.0], [2.0], [4.0]])
        1.0
    """
    train = np.asarray(train, "float64")
    if not 1 <= season < len(train):
        raise ValueError(f"season must be from 1 to {len(train) - 1} (rows - 1), got {season!r}.")
    scale = np.abs(train[season:] - train[:-season]).mean(axis=0)
    if not scale.all():
        raise ValueError(f"channel {int(np.argmin(scale))} repeats itself exactly: no MASE.")
    errors = np.abs(_difference(targets, forecasts))
    return float(np.mean(errors.reshape(-1, errors.shape[-1]).mean(axis=0) / scale))


def _difference(targets, forecasts):
    targets, forecasts = np.asarray(targets, "float64"), np.asarray(forecasts, "float64")
    if targets.shape != forecasts.shape:
        raise ValueError(
            f"targets and forecasts must have one shape, got {targets.shape} and {forecasts.shape}."
        )
    return targets - forecasts
