"""Closed forms of the CRPS of Student's t and the negative binomial distribution, and a threshold.

The scores of mixtures and normal distributions are methods of their heads.
"""

import numpy as np
import scipy

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.columns import TARGET, read_columns
from kerastrans.utils.pinball import tanh_sinh
from kerastrans.utils.user_warnings import warn_user

MOST_BLIND = 0.1  # share of rows without a quantile between the thresholds


def crps_student_t(targets, location, scale, freedom):
    """Return the CRPS of Student's t distributions; all arguments broadcast.

    Args:
        targets: True values.
        location: Medians of the distributions.
        scale: Scales, positive.
        freedom: Degrees of freedom, above 1.

    Source: Jordan, Krueger, Lerch (2019), appendix A.

    Example:
        >>> float(crps_student_t(0.0, 0.0, 1.0, 1e9).round(4))  # a normal distribution
        0.2337
    """
    z = (np.asarray(targets, "float64") - location) / scale
    freedom = np.asarray(freedom, "float64")
    peak = 2 * scipy.stats.t.pdf(z, freedom) * (freedom + z**2) / (freedom - 1)
    beta = scipy.special.betaln(0.5, freedom - 0.5) - 2 * scipy.special.betaln(0.5, freedom / 2)
    between = 2 * np.sqrt(freedom) / (freedom - 1) * np.exp(beta)
    return scale * (z * (2 * scipy.stats.t.cdf(z, freedom) - 1) + peak - between)


def crps_negative_binomial(targets, mean, alpha):
    """Return the CRPS of negative binomial distributions; all arguments broadcast.

    Args:
        targets: True counts.
        mean: Means of the distributions, positive.
        alpha: Dispersions, positive; the variance is `mean + alpha * mean ** 2`.

    Source: Wei, Held (2014), "Calibration tests for count data".

    Example:
        >>> float(crps_negative_binomial(2.0, 3.0, 0.5).round(4))
        0.5885
    """
    y, mean, alpha = np.broadcast_arrays(
        *(np.asarray(x, "float64") for x in (targets, mean, alpha))
    )
    size, p = 1 / alpha, 1 / (1 + alpha * mean)
    odds = (1 - p) / p
    to_target = y * (2 * scipy.stats.nbinom.cdf(y, size, p) - 1)
    below = p * (2 * scipy.stats.nbinom.cdf(y - 1, size + 1, p) - 1)
    between = _hypergeometric(size, 4 * odds / p)
    return to_target - size * odds / p * (below + between)


def _hypergeometric(size, x):
    """Return F(size + 1, 1/2; 2; -x), which overflows in SciPy if the size and x are large.

    It is Euler's integral after Pfaff's transformation, with the square of a sine as variable.
    """
    total = 0.0
    for node, rest, weight in zip(*tanh_sinh(0.04), strict=True):
        sine, cosine = np.sin(np.pi / 2 * np.array([node, rest])) ** 2
        total = total + weight * cosine * np.exp((size - 1) * np.log(cosine + sine / (1 + x)))
    return 2 * total / np.sqrt(1 + x)


@takes_any_frame
def threshold_weighted(backtest, low=None, high=None, *, alias=None):
    """Return a backtest whose CRPS only depends on errors between two thresholds.

    True values and forecasts are moved to the thresholds. The "crps" of the result by
    `kerastrans.backtesting.score` is the threshold-weighted CRPS of the forecasts: only its part
    between the thresholds counts. A forecast whose quantiles are all on one side of both has the
    same score as any other such forecast, so that the outermost quantiles have to reach them.

    Args:
        backtest: DataFrame, see `kerastrans.backtesting`.
        low: float, lower threshold, in the units of the series; None for no threshold.
        high: float, upper threshold.
        alias: str, name of the model; required if the backtest contains several.

    Raises:
        ValueError: If neither is given, or `low` is not below `high`.

    Warns:
        UserWarning: If no quantile is between the thresholds in a tenth of the rows.

    Source: Gneiting, Ranjan (2011); Allen, Ginsbourger, Ziegel (2023) for the moved values.

    Example:
        >>> import pandas as pd
        >>> rows = pd.DataFrame({"unique_id": "a", "y": [1.0, 9.0], "m": [2.0, 6.0]})
        >>> threshold_weighted(rows, low=5)["m"].tolist()
        [5.0, 6.0]
    """
    if low is None and high is None:
        raise ValueError("give a threshold: low=, high= or both.")
    if None not in (low, high) and not low < high:
        raise ValueError(f"low must be below high, got {low!r} and {high!r}.")
    columns = read_columns(backtest, alias)
    quantiles = backtest[list(columns.quantiles.values())]
    beyond = [] if low is None else [(quantiles <= low).all(axis=1)]
    beyond += [] if high is None else [(quantiles >= high).all(axis=1)]
    if (share := np.any(beyond, axis=0).mean()) >= MOST_BLIND:
        warn_user(
            f"in {share:.0%} of the rows, no quantile of {columns.alias!r} is between {low=} and "
            f"{high=}: their score does not depend on the width of the forecast. Give `backtest` "
            "levels whose intervals reach the thresholds, such as levels=(50, 80, 95, 99, 99.8)."
        )
    names = [TARGET, *dict.fromkeys([columns.alias, *quantiles.columns])]
    return backtest.assign(**{name: backtest[name].clip(low, high) for name in names})
