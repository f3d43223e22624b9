"""Quantiles of the forecast, which never cross."""

import keras
import numpy as np
from keras import ops

from kerastrans.heads.base import Head
from kerastrans.heads.losses import Pinball
from kerastrans.utils.validation import check_levels

CLOSE = 1e-9  # levels nearer to each other are the same: 1 - 0.9 is not quite 0.1


@keras.saving.register_keras_serializable(package="kerastrans")
class QuantileHead(Head):
    """Quantiles that never cross: the middle one, and the distances from one to the next.

    The point is the median: the 0.5 quantile, or between the two levels nearest to it by a
    straight line. A head whose levels are all above or all below 0.5 can be trained and gives
    its quantiles, but has no point.

    Args:
        levels: increasing probabilities, each in (0, 1).
        **kwargs: more arguments of `keras.layers.Layer`.

    Raises:
        ValueError: levels outside (0, 1).
        ValueError: levels that do not increase.

    Source: Park et al. (2022), "Learning quantile functions without quantile crossing", section 4.

    Example:
        >>> import numpy as np
        >>> head = QuantileHead([0.1, 0.5, 0.9])
        >>> head.interval_levels
        (80,)
        >>> head.quantile(np.array([[1.0, 2.0, 4.0]]), [0.5, 0.7])
        array([[2., 3.]])
    """

    point_is_median = True

    def __init__(self, levels=(0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975), **kwargs):
        super().__init__(**kwargs)
        self.levels = check_levels(levels)
        self.size = len(self.levels)
        self.num_spreads = self.size - 1
        self.middle = int(np.argmin(np.abs(np.asarray(self.levels) - 0.5)))

    @property
    def interval_levels(self):
        """Percents of the central intervals between two of the levels, increasing.

        For example (80,) for the levels 0.1, 0.5 and 0.9.
        """
        lower = [
            level
            for level in self.levels
            if level < 0.5 and np.isclose(self.levels, 1 - level, rtol=0, atol=CLOSE).any()
        ]
        percents = [round(100 * (1 - 2 * level), 6) for level in reversed(lower)]
        return tuple(int(x) if x == int(x) else x for x in percents)

    def assemble(self, locations, spreads, rest, scale):
        """The quantiles from the middle one and the distances between them."""
        gaps = spreads * (2 / self.size)
        below = ops.flip(ops.cumsum(ops.flip(gaps[..., : self.middle], -1), axis=-1), -1)
        above = ops.cumsum(gaps[..., self.middle :], axis=-1)
        return ops.concatenate([locations - below, locations, locations + above], axis=-1)

    def _mask(self, count):
        return np.ones(self.size, "float32")  # all quantiles are locations

    def loss(self):
        """The pinball loss, mean over the levels."""
        return Pinball(self.levels)

    def outputs(self, parameters):
        """What an exported model returns, tensors by name: the median, and all quantiles.

        Raises:
            ValueError: levels all above or all below 0.5.
        """
        return {"forecast": self.point(parameters), "quantiles": parameters}

    def point(self, parameters):
        """The median, of arrays or tensors.

        Raises:
            ValueError: levels all above or all below 0.5.
        """
        if not self._encloses(0.5):
            raise ValueError(
                "the point of a QuantileHead is its median, but its levels "
                f"{list(self.levels)} do not enclose 0.5: add it, or ask for quantiles alone."
            )
        return self._between(parameters, 0.5)

    median = point

    def quantile(self, parameters, levels):
        """Its own levels as they are, levels between two of them by a straight line.

        Raises:
            ValueError: a level outside those of the head.
        """
        levels = check_levels(levels)
        for level in levels:
            if not self._encloses(level):
                raise ValueError(
                    f"this model knows quantiles from {self.levels[0]} to {self.levels[-1]}, "
                    f"asked for {level}."
                )
        return np.stack([self._between(parameters, level) for level in levels], axis=-1)

    def _encloses(self, level):
        return self.levels[0] - CLOSE <= level <= self.levels[-1] + CLOSE

    def _between(self, parameters, level):
        """The quantile at a level that the head's enclose, of arrays or tensors."""
        weights = [float(np.interp(level, self.levels, row)) for row in np.eye(self.size)]
        return sum(weight * parameters[..., i] for i, weight in enumerate(weights) if weight)

    def cdf(self, parameters, values):
        """Probability of at most `values`, linear between the levels, 0 and 1 outside them.

        Parameters `(..., size)`, values `(...)`.

        Raises:
            ValueError: a head of one quantile.
        """
        self._check_two()
        values = np.asarray(values)[..., None]
        count = (parameters <= values).sum(axis=-1)
        right = np.clip(count, 1, self.size - 1)[..., None]
        low, high = (np.take_along_axis(parameters, i, -1)[..., 0] for i in (right - 1, right))
        levels = np.asarray(self.levels)
        left = levels[right[..., 0] - 1]
        share = (values[..., 0] - low) / np.maximum(high - low, np.finfo("float64").tiny)
        inside = left + np.clip(share, 0, 1) * (levels[right[..., 0]] - left)
        return np.where(count == 0, 0.0, np.where(count == self.size, 1.0, inside))

    def sample(self, parameters, num_samples, seed=None):
        """Draws `(num_samples, ...)`, none of them beyond the outermost quantiles.

        Raises:
            ValueError: a head of one quantile.
            ValueError: `num_samples` below 1.
        """
        self._check_two()
        return super().sample(parameters, num_samples, seed)

    def _check_two(self):
        if self.size == 1:
            raise ValueError(
                f"one quantile, {self.levels[0]}, is no distribution: samples and probabilities "
                "want a QuantileHead of at least two levels."
            )

    def _inverse_cdf(self, parameters, probability):
        """By straight lines, level with the outermost quantiles beyond them."""
        levels = np.asarray(self.levels)
        clipped = np.clip(probability, levels[0], levels[-1])
        right = np.clip(np.searchsorted(levels, clipped), 1, self.size - 1)
        share = (clipped - levels[right - 1]) / np.diff(levels)[right - 1]
        parameters = np.broadcast_to(parameters, (*right.shape, self.size))
        low, high = (
            np.take_along_axis(parameters, i[..., None], -1)[..., 0] for i in (right - 1, right)
        )
        return low + share * (high - low)

    def get_config(self):
        """The arguments of the constructor."""
        return {**super().get_config(), "levels": list(self.levels)}
