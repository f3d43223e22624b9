"""A forecast that is samples, read like a head's."""

import numpy as np

from kerastrans.utils.validation import check_levels, check_positive_integers


class Samples:
    """Reads samples `(..., num_samples)`, such as DeepAR's, as a head reads its parameters.

    The point is the mean of the samples.

    Args:
        head: the `Head` that the samples were drawn from, which says what values they can have;
            None for any number.

    Example:
        >>> import numpy as np
        >>> samples = Samples()
        >>> drawn = np.array([[1.0, 2.0, 6.0]])
        >>> samples.point(drawn), samples.median(drawn)
        (array([3.]), array([2.]))
    """

    size = None  # as many as were drawn
    has_parameter_axis = True
    point_is_median = False
    interval_levels = None

    def __init__(self, head=None):
        self.takes_scaled_windows = head is None or head.takes_scaled_windows
        self.lower_bound = None if head is None else head.lower_bound

    def rescale(self, parameters, center, scale):
        """Samples of the series times `scale` plus `center`, both `(...)`."""
        return parameters * scale[..., None] + center[..., None]

    def shift(self, parameters, amount):
        """Samples plus `amount` `(...)`."""
        return parameters + amount[..., None]

    def point(self, parameters):
        """The mean of the samples."""
        return parameters.mean(axis=-1)

    def median(self, parameters):
        """The median of the samples."""
        return np.median(parameters, axis=-1)

    def quantile(self, parameters, levels):
        """Their quantiles, `(..., len(levels))`, which another draw is below just so often.

        The i-th smallest of n is the quantile of level i / (n + 1): intervals of exact forecasts
        cover what they say. What lies between is linear; the least and the greatest sample are
        the quantiles of all levels beyond theirs.

        Source: Hyndman, Fan (1996), definition 6.
        """
        levels = check_levels(levels)
        quantiles = np.quantile(parameters, levels, axis=-1, method="weibull")
        return np.moveaxis(quantiles, 0, -1)

    def cdf(self, parameters, values):
        """Share of the samples that are at most `values` `(...)`."""
        return (parameters <= np.asarray(values)[..., None]).mean(axis=-1)

    def sample(self, parameters, num_samples, seed=None):
        """Draws `(num_samples, ...)` from the samples, with replacement."""
        check_positive_integers(num_samples=num_samples)
        shape = num_samples, *parameters.shape[:-1]
        chosen = np.random.default_rng(seed).integers(parameters.shape[-1], size=shape)
        return np.moveaxis(np.take_along_axis(parameters, np.moveaxis(chosen, 0, -1), -1), -1, 0)

    def outputs(self, parameters):
        """Dict of the point forecast and the samples themselves."""
        return {"forecast": self.point(parameters), "samples": parameters}
