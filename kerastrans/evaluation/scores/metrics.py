"""Errors of point forecasts in the units of the series."""

import numpy as np


def mae(targets, forecasts):
    """Return the mean absolute error over all axes.

    Args:
        targets: Array of the true values.
        forecasts: Array of the same shape.

    Raises:
        ValueError: If the shapes differ.

    Example:
        >>> mae([1.0, 2.0], [1.0, 4.0])
        1.0
    """
    return float(np.mean(np.abs(_difference(targets, forecasts))))


def mse(targets, forecasts):
    """Return the mean squared error over all axes, see `mae`.

    Example:
        >>> mse([1.0, 2.0], [1.0, 4.0])
        2.0
    """
    return float(np.mean(np.square(_difference(targets, forecasts))))


def rmse(targets, forecasts):
    """Return the root mean squared error over all axes, see `mae`.

    Example:
        >>> rmse([0.0, 0.0], [3.0, 3.0])
        3.0
    """
    return mse(targets, forecasts) ** 0.5


def mase(targets, forecasts, train, season=1):
    """Return the mean absolute scaled error (MASE).

    The error of each channel is divided by the mean absolute difference between training rows one
    season apart.

    Args:
        targets: Array `(..., num_channels)` of the true values.
        forecasts: Array of the same shape.
        train: Array `(time, num_channels)` of the training rows, longer than `season`.
        season: int, number of rows in a season; 1 scales by differences of consecutive rows.

    Returns:
        Mean over channels of the ratio of each channel. A value below 1 is better, on average, than
        seasonal naive forecasts were on the training rows.

    Raises:
        ValueError: If the shapes differ.
        ValueError: If there are no more training rows than steps in a season.
        ValueError: If a channel repeats itself exactly and therefore has no scale.

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
        raise ValueError(
            f"channel {int(np.argmin(scale))} repeats itself exactly, so its MASE is undefined."
        )
    errors = np.abs(_difference(targets, forecasts))
    return float(np.mean(errors.reshape(-1, errors.shape[-1]).mean(axis=0) / scale))


def _difference(targets, forecasts):
    """Return forecasts minus targets in float64; raise ValueError if their shapes differ."""
    targets, forecasts = np.asarray(targets, "float64"), np.asarray(forecasts, "float64")
    if targets.shape != forecasts.shape:
        raise ValueError(
            "targets and forecasts must have the same shape, got "
            f"{targets.shape} and {forecasts.shape}."
        )
    return targets - forecasts
