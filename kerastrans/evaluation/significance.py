"""Whether one forecast is better than another by more than chance."""

import numpy as np
from scipy import stats


def diebold_mariano(differences, horizon=1):
    """Whether two forecasts are equally good: statistic and two-sided p-value.

    Args:
        differences: `(origins,)`, loss of the one minus loss of the other, in the order of time.
        horizon: int, origins over which forecasts overlap, so that their errors are correlated.

    Returns:
        `(statistic, p)`; negative where the first is better. p is 1 where the losses are equal,
        and NaN for fewer than two origins.

    Source: Diebold, Mariano (1995), with the small-sample correction of Harvey, Leybourne,
    Newbold (1997), equation 9, and Bartlett weights, so that the variance is not negative.
    """
    differences = np.asarray(differences, "float64")
    count = len(differences)
    horizon = min(horizon, count)
    if count < 2:
        return np.nan, np.nan
    mean = differences.mean()
    centered = differences - mean
    variance = centered @ centered / count
    for lag in range(1, horizon):
        weight = 1 - lag / horizon
        variance += 2 * weight * (centered[lag:] @ centered[:-lag]) / count
    if variance <= 0:
        return (0.0, 1.0) if mean == 0 else (float(np.sign(mean)) * np.inf, 0.0)
    correction = (count + 1 - 2 * horizon + horizon * (horizon - 1) / count) / count
    statistic = mean / np.sqrt(variance / count) * np.sqrt(max(correction, 1 / count))
    return float(statistic), float(2 * stats.t.sf(abs(statistic), count - 1))
