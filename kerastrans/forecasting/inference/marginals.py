"""Distribution of each step of a forecast, with its conformal intervals and bounds."""

import functools
import warnings

import numpy as np
import scipy

# Probabilities whose quantiles an outcome is compared with, without a closed form.
_GRID = (np.arange(64) + 0.5) / 64
_BISECTIONS = 30  # probabilities are found up to 1e-9
_RANGE = 0.005  # an outcome beyond the forecast has at least this probability


class Marginals:
    """Distribution of each step of some forecasts, as `Forecaster.predict` reports it.

    Without conformal intervals it is the distribution of the head. With them, its quantiles are
    moved so that those of the intervals are the reported bounds: by the distance of the reported
    bound from the head's quantile at the probability of a bound, by an interpolated distance
    between two bounds (on the normal scale, as in `QuantileHead`), and by that of the outermost
    bound beyond it. The quantiles of a point forecast, which has no distribution, are extrapolated
    from the outermost bounds instead. Moved counts are rounded.

    Args:
        forecasts: `Forecasts`.
        widths: Dict of level -> distances of conformal intervals, see `Forecasts.frame`, or None.

    Raises:
        ValueError: If the forecast is a point without conformal intervals.
    """

    def __init__(self, forecasts, widths=None):
        self.forecasts, self.widths = forecasts, widths
        self.output, self.parameters = forecasts.output, forecasts.parameters
        if not self.output.has_parameter_axis and widths is None:
            raise ValueError(
                "a point forecast has no distribution: call calibrate, or train with a head such "
                "as QuantileHead."
            )

    def part(self, chosen):
        """Return the distributions of a slice of the windows."""
        forecasts = self.forecasts.part(chosen)
        widths = self.widths and {level: x[chosen] for level, x in self.widths.items()}
        return Marginals(forecasts, widths)

    def quantiles(self, probabilities):
        """Return the quantiles at these probabilities.

        Args:
            probabilities: Array `(n, windows, prediction_length, num_channels)` in (0, 1), or one
                that broadcasts to it.

        Returns:
            Array of this shape, NaN for a channel without a forecast.
        """
        windows = self.forecasts.windows
        shape = len(windows), windows.prediction_length, windows.panel.num_channels
        probabilities = np.broadcast_to(probabilities, (len(probabilities), *shape))
        if self.widths is None:
            return self.output.inverse_cdf(self.parameters, probabilities)
        z, knots, (base, bounds) = scipy.special.ndtri(probabilities), self._knots, self._at_knots
        # Place of a probability between the knots; beyond the outermost knots, their shift is used.
        right = np.clip(np.searchsorted(knots, z), 1, len(knots) - 1)
        share = (z - knots[right - 1]) / np.diff(knots)[right - 1]
        is_distribution = self.output.has_parameter_axis
        if is_distribution:
            share = np.clip(share, 0, 1)
        shifts = bounds - base
        low, high = _at(shifts, right - 1), _at(shifts, right)
        if is_distribution:
            values = self.output.inverse_cdf(self.parameters, probabilities)
        else:
            values = self.output.point(self.parameters)
        values = values + low + share * (high - low)
        # Between two knots, values do not leave the reported bounds.
        lowest = np.where(z < knots[0], -np.inf, _at(bounds, right - 1))
        highest = np.where(z > knots[-1], np.inf, _at(bounds, right))
        lowest = np.where(z > knots[-1], bounds[-1], lowest)
        highest = np.where(z < knots[0], bounds[0], highest)
        values = np.clip(values, lowest, highest)
        if self.output.is_discrete:
            values = np.rint(values)
        return within_bounds(values, self.output)

    def exceedance(self, threshold):
        """Return the probability of a value above a threshold.

        Args:
            threshold: float, in the units of the series.

        Returns:
            Array `(windows, prediction_length, num_channels)`, NaN without a forecast.
        """
        windows = self.forecasts.windows
        shape = len(windows), windows.prediction_length, windows.panel.num_channels
        values = np.full(shape, float(threshold))
        if self.widths is None:
            found = 1 - self.output.cdf(self.parameters, values)
            is_known = np.isfinite(self.output.point(self.parameters))
            return np.where(is_known, np.clip(found, 0, 1), np.nan)
        # The largest probability whose quantile is at most the threshold, by bisection.
        low, high = np.zeros(shape), np.ones(shape)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            quantile = self.quantiles(middle[None])[0]
            low = np.where(quantile <= values, middle, low)
            high = np.where(quantile <= values, high, middle)
        return np.where(np.isfinite(quantile), 1 - (low + high) / 2, np.nan)

    def normal_scores(self):
        """Return standard normal scores of the outcomes under their distributions.

        They are the normal quantiles of the probabilities of a smaller outcome, those of equal
        outcomes counted half.

        Returns:
            `(windows, prediction_length, num_channels)`, NaN if an outcome is not known.
        """
        targets = self.forecasts.targets
        if self.widths is None:
            return head_scores(self.output, self.parameters, targets)
        below = np.zeros(targets.shape)
        for probability in _GRID:
            quantile = self.quantiles(np.full((1, 1, 1, 1), probability))[0]
            below += (quantile < targets) / 2 + (quantile <= targets) / 2
        return _scores_at(below / len(_GRID), targets)

    @property
    def _levels(self):
        return sorted(self.widths)

    @property
    def _knots(self):
        """Normal quantiles of the probabilities of the bounds and the median."""
        tails = [(1 - level / 100) / 2 for level in self._levels]
        return scipy.special.ndtri(sorted({*tails, 0.5, *(1 - x for x in tails)}))

    @functools.cached_property
    def _at_knots(self):
        """Quantiles of the head and reported quantiles at the knots, `(knots, windows, ...)`."""
        bounds = self.forecasts.ordered_bounds(self._levels, self.widths)
        lows, highs = np.split(bounds, 2)
        if self.output.has_parameter_axis:
            probabilities = scipy.special.ndtr(self._knots).reshape(-1, 1, 1, 1)
            probabilities = np.broadcast_to(probabilities, (len(self._knots), *bounds.shape[1:]))
            base = self.output.inverse_cdf(self.parameters, probabilities)
            middle = base[len(lows)]
        else:
            middle = self.output.point(self.parameters)
            base = np.broadcast_to(middle, (len(self._knots), *middle.shape))
        middle = np.clip(middle, lows[-1], highs[0])
        return base, np.concatenate([lows, middle[None], highs])


def head_scores(head, parameters, targets):
    """Return the `Marginals.normal_scores` of targets `(...)` under the distributions of a head."""
    sides = targets, np.nextafter(targets, -np.inf)
    return _scores_at(np.mean([head.cdf(parameters, x) for x in sides], axis=0), targets)


def _scores_at(probabilities, targets):
    """Return the normal quantiles of probabilities, NaN without a target."""
    found = np.where(np.isfinite(targets), probabilities, np.nan)
    return scipy.special.ndtri(np.clip(found, _RANGE, 1 - _RANGE))


def residual_scores(forecasts):
    """Return the errors of points in units of their size at each step, for normal errors.

    Args:
        forecasts: `Forecasts` of points.

    Returns:
        `(windows, prediction_length, num_channels)`, NaN if an outcome is not known.
    """
    errors = (forecasts.targets - forecasts.output.point(forecasts.parameters)) / forecasts.units
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a step without a known outcome
        sizes = np.nanmedian(np.abs(errors), axis=0)  # of a normal error: 0.67 deviations
    largest = -scipy.special.ndtri(_RANGE)
    sizes = np.where(sizes > 0, sizes, np.inf) / scipy.special.ndtri(0.75)
    return np.clip(errors / sizes, -largest, largest)


def scores_of(forecasts, widths=None):
    """Return the standard normal scores of outcomes, also of points without a distribution."""
    if widths is None and not forecasts.output.has_parameter_axis:
        return residual_scores(forecasts)
    return Marginals(forecasts, widths).normal_scores()


def within_bounds(values, output):
    """Return values within the bounds of the forecast, if these are known."""
    low, high = output.lower_bound, getattr(output, "upper_bound", None)
    bounded = values if low is None else np.fmax(values, low)
    bounded = bounded if high is None else np.fmin(bounded, high)
    return np.where(np.isnan(values), values, bounded)


def _at(values, places):
    """Return values `(knots, ...)` at places `(n, ...)`."""
    values = np.broadcast_to(values, (len(values), *places.shape[1:]))
    return np.take_along_axis(values, places, axis=0)
