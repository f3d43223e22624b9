"""Reader of forecasts that are samples, with the methods of a head."""

import numpy as np
from keras import ops

from kerastrans.utils.validation import check_levels, check_positive_integers


class Samples:
    """Reader of samples `(..., num_samples)`, such as DeepAR's, with the methods of a head.

    The point is the mean of the samples.

    Args:
        head: `Head` that the samples were drawn from, which defines the possible values; None if
            they are unbounded.

    Example:
        >>> import numpy as np
        >>> samples = Samples()
        >>> drawn = np.array([[1.0, 2.0, 6.0]])
        >>> samples.point(drawn), samples.median(drawn)
        (array([3.]), array([2.]))
    """

    size = None  # the number of samples varies
    has_parameter_axis = True
    point_is_median = False
    interval_levels = None

    def __init__(self, head=None):
        self.takes_scaled_windows = head is None or head.takes_scaled_windows
        self.is_discrete = head is not None and head.is_discrete
        self.lower_bound = None if head is None else head.lower_bound

    def rescale(self, parameters, center, scale):
        """Return the samples of the series times `scale` plus `center`, both `(...)`."""
        return parameters * scale[..., None] + center[..., None]

    def shift(self, parameters, amount):
        """Return the samples plus `amount` `(...)`."""
        return parameters + amount[..., None]

    def point(self, parameters):
        """Return the mean of the samples."""
        return parameters.mean(axis=-1)

    def median(self, parameters):
        """Return the median of the samples."""
        return np.median(parameters, axis=-1)

    def quantile(self, parameters, levels):
        """Return the quantiles `(..., len(levels))` of the samples.

        The i-th smallest of n samples is the quantile of level i / (n + 1). Another draw is then
        below a quantile with the probability of its level, and the intervals of a perfect forecast
        have their nominal coverage. Quantiles between two samples are
        interpolated linearly; beyond the smallest and the largest sample they are constant.

        Source: Hyndman, Fan (1996), definition 6.
        """
        levels = check_levels(levels)
        quantiles = np.quantile(parameters, levels, axis=-1, method="weibull")
        return np.moveaxis(quantiles, 0, -1)

    def inverse_cdf(self, parameters, probabilities):
        """Return the `quantile` of each probability of an array, see `Head.inverse_cdf`."""
        ordered, count = np.sort(parameters, axis=-1), parameters.shape[-1]
        places = np.clip(np.asarray(probabilities) * (count + 1) - 1, 0, count - 1)
        low = np.floor(places).astype(int)
        ordered = np.broadcast_to(ordered, (*low.shape, count))
        below, above = (
            np.take_along_axis(ordered, x[..., None], -1)[..., 0]
            for x in (low, np.minimum(low + 1, count - 1))
        )
        return below + (places - low) * (above - below)

    def at_level(self, parameters, level):
        """Return the `quantile` of a level as a tensor `(...)`, of samples that are a tensor."""
        ordered, count = ops.sort(parameters, axis=-1), parameters.shape[-1]
        place = min(max(level * (count + 1) - 1, 0), count - 1)
        low = int(place)
        share, high = place - low, min(low + 1, count - 1)
        return (1 - share) * ordered[..., low] + share * ordered[..., high]

    def cdf(self, parameters, values):
        """Return the fraction of samples that are at most `values` `(...)`."""
        return (parameters <= np.asarray(values)[..., None]).mean(axis=-1)

    def sample(self, parameters, num_samples, seed=None):
        """Return draws `(num_samples, ...)` from the samples, with replacement."""
        check_positive_integers(num_samples=num_samples)
        shape = num_samples, *parameters.shape[:-1]
        chosen = np.random.default_rng(seed).integers(parameters.shape[-1], size=shape)
        return np.moveaxis(np.take_along_axis(parameters, np.moveaxis(chosen, 0, -1), -1), -1, 0)

    def outputs(self, parameters):
        """Return a dict of the point forecast and the samples."""
        if isinstance(parameters, np.ndarray):
            return {"forecast": self.point(parameters), "samples": parameters}
        first = parameters[..., :1]  # relative to it, large samples lose no precision
        mean = first[..., 0] + ops.mean(parameters - first, axis=-1)
        return {"forecast": mean, "samples": parameters}
