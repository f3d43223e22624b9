"""Heads for quantiles: learnt ones that do not cross, and given ones."""

import keras
import numpy as np
import scipy
from keras import ops
from keras.backend import standardize_dtype

from kerastrans.heads.base import Head
from kerastrans.heads.losses import Pinball
from kerastrans.utils.validation import check_levels

CLOSE = 1e-9  # levels that differ by less are equal: 1 - 0.9 is not exactly 0.1


@keras.saving.register_keras_serializable(package="kerastrans")
class QuantileHead(Head):
    """Quantiles that do not cross: the middle one, and the distances between neighbours.

    Between its levels the forecast is interpolated on the normal scale: a quantile is linear in the
    standard normal quantile of its level, so that quantiles of a normal distribution reproduce that
    distribution. Beyond the outermost levels, where nothing was trained, it is extrapolated from
    the outermost two quantiles.

    The point is the median. A head whose levels are all above or all below 0.5 can be trained and
    returns its quantiles, but has no point.

    Args:
        levels: Increasing probabilities, each in (0, 1).
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Raises:
        ValueError: If the levels are not in (0, 1) or do not increase.

    Source: Park et al. (2022), "Learning quantile functions without quantile crossing", section 4;
    Wilk, Gnanadesikan (1968), "Probability plotting methods for the analysis of data", for
    quantiles as straight lines against those of a normal distribution.

    Example:
        >>> import numpy as np
        >>> head = QuantileHead([0.1, 0.5, 0.9])
        >>> head.interval_levels
        (80,)
        >>> head.quantile(np.array([[1.0, 2.0, 4.0]]), [0.5, 0.7, 0.95]).round(3)
        array([[2.   , 2.818, 4.567]])
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

        For the levels 0.1, 0.5 and 0.9 this is (80,).
        """
        lower = [
            level
            for level in self.levels
            if level < 0.5 and np.isclose(self.levels, 1 - level, rtol=0, atol=CLOSE).any()
        ]
        percents = [round(100 * (1 - 2 * level), 6) for level in reversed(lower)]
        return tuple(int(x) if x == int(x) else x for x in percents)

    def assemble(self, locations, spreads, rest, scale):
        """Return the quantiles from the middle one and the distances between neighbours."""
        # Sum the distances outwards from the middle quantile, which is between `below` and `above`.
        gaps = spreads * (2 / self.size)
        below = ops.flip(ops.cumsum(ops.flip(gaps[..., : self.middle], -1), axis=-1), -1)
        above = ops.cumsum(gaps[..., self.middle :], axis=-1)
        return ops.concatenate([locations - below, locations, locations + above], axis=-1)

    def _mask(self, count):
        return np.ones(self.size, "float32")  # all quantiles are locations

    def draw(self, parameters, normals):
        """Return one draw for each element from normal numbers `(..., 1)`; all are tensors."""
        self._check_two()
        knots = scipy.special.ndtri(self.levels).astype(standardize_dtype(normals.dtype))
        low, high = knots[:-1].copy(), knots[1:].copy()
        low[0], high[-1] = -np.inf, np.inf  # extrapolated
        reached = ops.minimum(ops.maximum(normals, low), high)
        reached = ops.subtract(reached, knots[:-1])
        distances = ops.convert_to_tensor(np.diff(knots))
        slopes = (parameters[..., 1:] - parameters[..., :-1]) / distances
        return parameters[..., 0] + ops.sum(slopes * reached, axis=-1)

    def loss(self):
        """Return the pinball loss, averaged over the levels."""
        return Pinball(self.levels)

    def outputs(self, parameters):
        """Return the outputs of an exported model, a dict of tensors: median and quantiles.

        Raises:
            ValueError: If the levels do not enclose 0.5.
        """
        return {"forecast": self.point(parameters), "quantiles": parameters}

    def point(self, parameters):
        """Return the median, from NumPy arrays or tensors.

        Raises:
            ValueError: If the levels do not enclose 0.5.
        """
        if not self._encloses(0.5):
            raise ValueError(
                "the point of a QuantileHead is its median, but its levels "
                f"{list(self.levels)} do not enclose 0.5: add it, or ask only for quantiles."
            )
        return self.at_level(parameters, 0.5)

    def median(self, parameters):
        """Return the median, from NumPy arrays or tensors."""
        return QuantileHead.point(self, parameters)

    def quantile(self, parameters, levels):
        """Return the quantiles at these levels, `(..., len(levels))`.

        The levels of the head are returned unchanged. Other levels are interpolated or extrapolated
        on the normal scale.

        Raises:
            ValueError: If the head has a single quantile and another level is requested.
        """
        parameters = np.asarray(parameters, "float64")
        quantiles = [self.at_level(parameters, level) for level in check_levels(levels)]
        return np.stack(quantiles, axis=-1)

    def _encloses(self, level):
        return self.levels[0] - CLOSE <= level <= self.levels[-1] + CLOSE

    def at_level(self, parameters, level):
        """Return the quantile at one level, from NumPy arrays or tensors."""
        distances = np.abs(np.asarray(self.levels) - level)
        if distances.min() <= CLOSE:
            return parameters[..., int(distances.argmin())]
        self._check_two()
        right, share = self._place(level)
        low, high = parameters[..., int(right) - 1], parameters[..., int(right)]
        return low + float(share) * (high - low)

    def _place(self, probability):
        """Return the index of the upper neighbouring level and the position between both levels.

        On the normal scale the position is 0 at the lower neighbour and 1 at the upper one.
        """
        right = np.clip(np.searchsorted(self.levels, probability), 1, self.size - 1)
        z = scipy.special.ndtri(self.levels)
        return right, (scipy.special.ndtri(probability) - z[right - 1]) / np.diff(z)[right - 1]

    def cdf(self, parameters, values):
        """Return the probability of a value of at most `values` `(...)`: the inverse of `quantile`.

        If two quantiles are equal, their value has the probability between their levels; if the
        outermost two are equal, no value is beyond them. The result for NaN is NaN.

        Raises:
            ValueError: If the head has a single quantile.
        """
        self._check_two()
        values, parameters = np.asarray(values, "float64"), np.asarray(parameters, "float64")
        count = (parameters <= values[..., None]).sum(axis=-1)
        right = np.clip(count, 1, self.size - 1)
        low, high = _neighbours(parameters, right)
        is_step = high == low  # happens only beyond the outermost quantiles
        share = (values - low) / np.where(is_step, 1.0, high - low)
        share = np.where(is_step, np.where(count == 0, -np.inf, np.inf), share)
        share = np.where(np.isnan(values), np.nan, share)
        z = scipy.special.ndtri(self.levels)
        return scipy.special.ndtr(z[right - 1] + share * np.diff(z)[right - 1])

    def inverse_cdf(self, parameters, probabilities):
        """Return the quantiles of an array of probabilities, see `Head.inverse_cdf`.

        Crossing quantiles are sorted first.

        Raises:
            ValueError: If the head has a single quantile.
        """
        self._check_two()
        return super().inverse_cdf(np.sort(parameters, axis=-1), probabilities)

    def _check_two(self):
        if self.size == 1:
            raise ValueError(
                f"a single quantile, {self.levels[0]}, is not a distribution: other quantiles, "
                "samples and probabilities require a QuantileHead with at least two levels."
            )

    def _inverse_cdf(self, parameters, probability):
        right, share = self._place(probability)
        low, high = _neighbours(np.asarray(parameters, "float64"), right)
        return low + share * (high - low)

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "levels": list(self.levels)}


def _neighbours(parameters, right):
    """Return the quantiles with the indices `right - 1` and `right`, each `(...)`."""
    parameters = np.broadcast_to(parameters, (*right.shape, parameters.shape[-1]))
    places = (right - 1, right)
    return [np.take_along_axis(parameters, place[..., None], -1)[..., 0] for place in places]


@keras.saving.register_keras_serializable(package="kerastrans")
class GivenQuantiles(QuantileHead):
    """Last layer of a network that returns its quantiles in the units of the series.

    The layer does not prevent crossing quantiles; that is up to the network. Forecasts are read as
    in `QuantileHead`.

    Args:
        levels: Increasing probabilities in (0, 1), one for each value of the last axis.
        point_weights: Weights of the quantiles whose weighted sum is the point forecast, as the
            authors of a network define it; None for the median.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `(batch, prediction_length, num_channels, len(levels))`.

    Returns:
        The same tensor, with distances from the middle quantile multiplied by `spread_factors`.

    Example:
        >>> import numpy as np
        >>> head, quantiles = GivenQuantiles([0.1, 0.5, 0.9]), np.array([[[[1.0, 2.0, 4.0]]]])
        >>> head.build(quantiles.shape)
        >>> _ = head.spread.assign(2.0)
        >>> np.asarray(head(quantiles)).ravel().tolist()
        [0.0, 2.0, 6.0]
    """

    def __init__(self, levels, point_weights=None, **kwargs):
        super().__init__(levels, **kwargs)
        self.point_weights = None if point_weights is None else tuple(map(float, point_weights))
        if self.point_weights is not None and len(self.point_weights) != self.size:
            raise ValueError(
                f"point_weights must be one number per level, {self.size}, got "
                f"{len(self.point_weights)}."
            )

    @property
    def point_is_median(self):
        """True if the point is the median."""
        return self.point_weights is None

    def point(self, parameters):
        """Return the weighted sum of the quantiles, or the median, of NumPy arrays or tensors."""
        if self.point_weights is None:
            return super().point(parameters)
        return sum(weight * parameters[..., i] for i, weight in enumerate(self.point_weights))

    def call(self, inputs):
        if not self.num_spreads:
            return inputs
        middle = inputs[..., self.middle : self.middle + 1]
        factors = self.spread_factors(inputs.shape[1])
        return inputs * factors + middle * (1 - factors)  # exactly the inputs if all are 1

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def get_config(self):
        """Return the constructor arguments."""
        return {**super().get_config(), "point_weights": self.point_weights}
