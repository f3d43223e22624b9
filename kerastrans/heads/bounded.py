"""A forecast that never leaves the bounds of its series, read like a head's."""

import numpy as np

from kerastrans.heads.quantile import QuantileHead
from kerastrans.heads.samples import Samples

# Nodes and weights of tanh-sinh quadrature on (0, 1): quantile functions are steep at its ends.
_STEPS = np.arange(-30, 31) / 10
_NODES = (1 + np.tanh(np.pi / 2 * np.sinh(_STEPS))) / 2
_WEIGHTS = np.pi / 4 * np.cosh(_STEPS) / np.cosh(np.pi / 2 * np.sinh(_STEPS)) ** 2 / 10
MOST_COUNTS = 10_000  # that are added up one by one
_OPEN = np.finfo("float64").tiny, np.nextafter(1.0, 0.0)  # probabilities with a finite quantile


class Bounded:
    """Reads parameters as a head does, of a series that cannot leave its bounds.

    What is beyond a bound lies at the bound: a quantile inside is as it was, one outside is the
    bound, and a mean is the mean of the bounded distribution.

    Args:
        head: `Head` or `Samples` that reads the parameters, in the units of the series.
        low: Least value of the series; None for no bound.
        high: Greatest value of the series; None for no bound.

    Example:
        >>> from kerastrans import heads
        >>> bounded = Bounded(heads.get("normal"), 0.0, None)
        >>> standard = np.array([[0.0, 1.0]])
        >>> bounded.quantile(standard, [0.1, 0.5, 0.9]).round(3), bounded.point(standard).round(4)
        (array([[0.   , 0.   , 1.282]]), array([0.3989]))
    """

    def __init__(self, head, low=None, high=None):
        self.head, self.low, self.high = head, low, high

    def __getattr__(self, name):
        return getattr(self.__dict__["head"], name)

    @property
    def lower_bound(self):
        """The least value that the series can have; None for any number."""
        return max((x for x in (self.head.lower_bound, self.low) if x is not None), default=None)

    @property
    def upper_bound(self):
        """The greatest value that the series can have; None for any number."""
        return self.high

    def clip(self, values):
        """Values no smaller and no greater than the bounds."""
        values = values if self.low is None else np.maximum(values, self.low)
        return values if self.high is None else np.minimum(values, self.high)

    def point(self, parameters):
        """The head's point, of the bounded distribution."""
        if isinstance(self.head, Samples):
            return self.head.point(self.clip(parameters))
        point = self.head.point(parameters)
        if not self._is_distribution:
            return self.clip(point)
        beyond = self._counts_beyond if self.head.lower_bound == 0 else self._beyond
        if self.low is not None:
            point = point + beyond(parameters, self.low, 1)
        if self.high is not None:
            point = point - beyond(parameters, self.high, -1)
        return self.clip(point)

    @property
    def point_is_median(self):
        """Whether the point is the median: the mean of a bounded distribution is not."""
        return self.head.point_is_median and not self._is_distribution

    @property
    def _is_distribution(self):
        """Whether the head's point is the mean of a distribution."""
        return self.head.has_parameter_axis and not isinstance(self.head, QuantileHead | Samples)

    def _counts_beyond(self, parameters, bound, side):
        """As `_beyond`, of counts: the sum of their cdf at every count up to a bound."""
        if bound > MOST_COUNTS:
            return self._beyond(parameters, bound, side)
        below = np.zeros(parameters.shape[:-1])  # the mean distance below the bound
        for count in range(int(np.ceil(bound))):
            share = self.head.cdf(parameters, np.full(below.shape, float(count)))
            below += share * min(1.0, bound - count)
        return below if side == 1 else self.head.point(parameters) - bound + below

    def _beyond(self, parameters, bound, side):
        """The mean distance beyond a bound, below it (1) or above it (-1).

        The integral of `bound - quantile(p)` over the probabilities p beyond the bound.
        """
        share = self.head.cdf(parameters, np.full(parameters.shape[:-1], float(bound)))
        share = np.clip(share if side == 1 else 1 - share, 0, 1)
        distance = np.zeros(share.shape)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            probability = share * node if side == 1 else 1 - share * node
            quantile = self.head._inverse_cdf(parameters, np.clip(probability, *_OPEN))
            distance += weight * share * np.maximum(side * (bound - quantile), 0)
        return np.where(share > 0, distance, 0)

    def median(self, parameters):
        """The medians of the bounded distributions."""
        return self.clip(self.head.median(parameters))

    def quantile(self, parameters, levels):
        """Quantiles of the bounded distributions."""
        return self.clip(self.head.quantile(parameters, levels))

    def cdf(self, parameters, values):
        """Probability of at most `values`: none below the lower bound, all from the upper on."""
        values = np.asarray(values, "float64")
        found = self.head.cdf(parameters, values)
        if self.low is not None:
            found = np.where(values < self.low, 0.0, found)
        return found if self.high is None else np.where(values >= self.high, 1.0, found)

    def sample(self, parameters, num_samples, seed=None):
        """Draws within the bounds."""
        return self.clip(self.head.sample(parameters, num_samples, seed))

    def outputs(self, parameters):
        """Dict of the point, and of quantiles or samples, within the bounds."""
        found = {**self.head.outputs(parameters), "forecast": self.point(parameters)}
        for name in ("quantiles", "samples"):
            if name in found:
                found[name] = self.clip(found[name])
        return found


def check_bounds(bounds):
    """Return bounds as a tuple of two floats or None; raise ValueError for anything else."""
    if bounds is None:
        return None
    kinds = int, float, np.number, type(None)
    is_pair = isinstance(bounds, list | tuple) and len(bounds) == 2
    if not is_pair or not all(isinstance(x, kinds) and x is not True for x in bounds):
        raise ValueError(
            f"bounds must be a pair of numbers or None, such as (0, None), got {bounds!r}."
        )
    low, high = (None if x is None else float(x) for x in bounds)
    finite = [x for x in (low, high) if x is not None]
    if not np.isfinite(finite).all() or (len(finite) == 2 and low >= high):
        raise ValueError(f"bounds must be finite, the lower below the upper one, got {bounds!r}.")
    return (low, high) if finite else None
