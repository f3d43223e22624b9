"""Head of a forecast that never leaves the bounds of its series."""

import functools

import numpy as np

from kerastrans.heads.quantile import QuantileHead
from kerastrans.heads.samples import Samples
from kerastrans.utils.pinball import tanh_sinh

MAX_COUNTS = 10_000  # largest bound for summing the probabilities of all counts
_OPEN = np.finfo("float64").tiny, np.nextafter(1.0, 0.0)  # probabilities with a finite quantile


class Bounded:
    """Head of a series that cannot leave its bounds.

    The distribution is cut at the bounds: a quantile inside does not change, one outside becomes
    the bound, and a mean is the mean of the bounded distribution.

    Args:
        head: `Head` or `Samples` of parameters in the units of the series.
        low: Smallest value of the series: a number, an array that broadcasts to the forecast
            `(batch, prediction_length, num_channels)`, NaN if not known, or None for no bound.
        high: Largest value of the series, like `low`.

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
        """Smallest value that the series can have; None for any number."""
        bounds = [x for x in (self.head.lower_bound, self.low) if x is not None]
        return functools.reduce(np.fmax, bounds) if bounds else None

    @property
    def upper_bound(self):
        """Largest value that the series can have; None for any number."""
        return self.high

    def part(self, chosen):
        """Return the head of a slice of the batch."""
        bounds = (x[chosen] if np.ndim(x) else x for x in (self.low, self.high))
        return Bounded(self.head, *bounds)

    def clip(self, values, has_last_axis=False):
        """Return the values within the bounds, of forecasts or with another axis after theirs."""
        low, high = self.low, self.high
        if has_last_axis:
            low, high = (None if x is None else np.asarray(x)[..., None] for x in (low, high))
        clipped = values if low is None else np.fmax(values, low)
        clipped = clipped if high is None else np.fmin(clipped, high)
        return np.where(np.isnan(values), values, clipped)  # no forecast, rather than the bound

    def point(self, parameters):
        """Return the point of the bounded distribution."""
        if isinstance(self.head, Samples):
            return self.head.point(self.clip(parameters, has_last_axis=True))
        if isinstance(self.head, QuantileHead) and not self.head.point_is_median:
            return self.head.point(self.clip(parameters, has_last_axis=True))
        point = self.head.point(parameters)
        if not self._is_distribution:
            return self.clip(point)
        beyond = self._counts_beyond if self.head.is_discrete else self._beyond
        for bound, side in ((self.low, 1), (self.high, -1)):
            if bound is not None:
                is_known = ~np.isnan(bound)
                distance = beyond(parameters, np.where(is_known, bound, 0.0), side)
                point = point + side * np.where(is_known, distance, 0)
        return self.clip(point)

    @property
    def point_is_median(self):
        """True if the point is the median; the mean of a bounded distribution is not."""
        return self.head.point_is_median and not self._is_distribution

    @property
    def _is_distribution(self):
        """True if the point of the head is the mean of a distribution."""
        return self.head.has_parameter_axis and not isinstance(self.head, QuantileHead | Samples)

    def _counts_beyond(self, parameters, bound, side):
        """Return the same as `_beyond` for counts: the sum of their cdf up to the bound."""
        if bound.max() > MAX_COUNTS:
            return self._beyond(parameters, bound, side)
        below = np.zeros(parameters.shape[:-1])  # the mean distance below the bound
        for count in range(int(np.ceil(bound.max()))):
            share = self.head.cdf(parameters, np.full(below.shape, float(count)))
            below += share * np.clip(bound - count, 0, 1)
        return below if side == 1 else self.head.point(parameters) - bound + below

    def _beyond(self, parameters, bound, side):
        """Return the mean distance beyond a bound, below it (1) or above it (-1).

        It is the integral of `bound - quantile(p)` over the probabilities p beyond the bound.
        Mixtures, whose quantile functions have steps, have a closed form.
        """
        bound = np.broadcast_to(bound, parameters.shape[:-1])
        if hasattr(self.head, "mean_below"):
            below = self.head.mean_below(np.asarray(parameters, "float64"), bound)
            return below if side == 1 else self.head.point(parameters) - bound + below
        nodes, _, weights = tanh_sinh(0.1)  # quantile functions are steep at their ends
        share = self.head.cdf(parameters, bound)
        share, zero = np.clip(share if side == 1 else 1 - share, 0, 1), 0.0
        if side == 1 and self.head.lower_bound == 0:  # the quantile function has a step after 0
            zero = np.minimum(self.head.cdf(parameters, np.zeros(share.shape)), share)
        distance = zero * bound
        for node, weight in zip(nodes, weights, strict=True):
            probability = zero + (share - zero) * node
            probability = np.clip(probability if side == 1 else 1 - probability, *_OPEN)
            quantile = self.head._inverse_cdf(parameters, probability)
            distance = distance + weight * (share - zero) * np.maximum(side * (bound - quantile), 0)
        return np.where(share > 0, distance, 0)

    def median(self, parameters):
        """Return the medians of the bounded distributions."""
        return self.clip(self.head.median(parameters))

    def quantile(self, parameters, levels):
        """Return quantiles of the bounded distributions."""
        return self.clip(self.head.quantile(parameters, levels), has_last_axis=True)

    def inverse_cdf(self, parameters, probabilities):
        """Return the quantiles of an array of probabilities, see `Head.inverse_cdf`."""
        return self.clip(self.head.inverse_cdf(parameters, probabilities))

    def cdf(self, parameters, values):
        """Return the probability of at most `values`: 0 below the bounds, 1 at the upper bound."""
        values = np.asarray(values, "float64")
        found = self.head.cdf(parameters, values)
        if self.low is not None:
            found = np.where(values < self.low, 0.0, found)
        return found if self.high is None else np.where(values >= self.high, 1.0, found)

    def sample(self, parameters, num_samples, seed=None):
        """Return samples within the bounds."""
        return self.clip(self.head.sample(parameters, num_samples, seed))

    def outputs(self, parameters):
        """Return a dict of the point and the quantiles or samples within the bounds."""
        found = {**self.head.outputs(parameters), "forecast": self.point(parameters)}
        for name in ("quantiles", "samples"):
            if name in found:
                found[name] = self.clip(found[name], has_last_axis=True)
        return found


def bound_inputs(bounds):
    """Return a dict of input name -> column, for the bounds that are columns of a frame.

    Array calls, exported files and services take the values of these columns in the steps to
    forecast as inputs `(batch, prediction_length, 1)`.
    """
    pairs = zip(("lower_bound", "upper_bound"), bounds or (), strict=False)
    return {name: bound for name, bound in pairs if isinstance(bound, str)}


def check_bounds(bounds):
    """Return bounds as a tuple of floats, names of columns or None.

    Raises:
        ValueError: If they are not a pair of these, not finite, or not in order.
    """
    if bounds is None:
        return None
    kinds = int, float, np.number, str, type(None)
    is_pair = isinstance(bounds, list | tuple) and len(bounds) == 2
    if not is_pair or not all(isinstance(x, kinds) and x is not True and x != "" for x in bounds):
        raise ValueError(
            "bounds must be a pair of numbers, names of columns or None, such as (0, None), got "
            f"{bounds!r}."
        )
    low, high = (x if isinstance(x, str | None) else float(x) for x in bounds)
    if low is high is None:
        return None
    numbers = [x for x in (low, high) if isinstance(x, float)]
    is_ordered = low < high if len(numbers) == 2 else low != high
    if not np.isfinite(numbers).all() or not is_ordered:
        raise ValueError(f"bounds must be finite, the lower below the upper one, got {bounds!r}.")
    return low, high
