"""Seasonal naive forecasts and exponential smoothing with drift, towards which zero moves."""

import keras
import numpy as np
from keras import ops
from keras.backend import standardize_dtype

from kerastrans.layers import ObservedNormalization
from kerastrans.layers.forward_fill import forward_fill
from kerastrans.layers.recurrent.linear_recurrence import linear_recurrence
from kerastrans.models.pretrained.scaling import deviation_between, place_of
from kerastrans.models.pretrained.zero.moves import LEVELS, Move

CAUTION = 2.0  # factor of the squared errors in the weights
MANY_SEASONS = 30.0  # with so many seasons of values, this factor is twice as large
LEAST_VALUES, LEAST_SEASONS = 3, 4  # known values below which the median stays as it is
RATES = (0.2, 0.4, 0.6, 0.8, 1.0)  # of exponential smoothing
_TINY = 1e-6
_LEVEL = 1e-9  # difference of two sums of squared errors that rounding explains


@keras.saving.register_keras_serializable(package="kerastrans")
class DriftForecasts(Move):
    """Moves quantiles towards a seasonal naive forecast and exponential smoothing, with drift.

    The drift is the mean change per season from the first known values of each phase to the last.
    With a season of 1, the seasonal naive forecast is a random walk. Exponential smoothing reads
    the values less the drift and the mean of each phase; its rate is the one with the smallest
    squared errors of .2, .4, ..., 1. The error of a forecast from the last known value, `h` steps
    ahead, has a variance of `s a (1 + h / t)`. The drift is estimated from `t` steps, which the
    last factor allows for. For the seasonal naive forecast, `s` is the variance of its errors at
    one season, `a` the number of seasons ahead, and `h` whole seasons; for smoothing at the rate
    `r`, `s` is that of its errors at one step, and `a = 1 + (h - 1) r ** 2`. To these errors, one
    of the size that the network expects is added, because few of them can be small by chance.

    The forecast is the mean of three, the network with a weight of `1 / v`, the others of
    `1 / (2 (1 + n / 30) e)`: `v` is the variance of the quantiles, `e` that of the errors, and `n`
    the number of known values in seasons, because the more of them there are, the more the network
    finds in them. All quantiles of a step move by as much as the median. It stays if fewer than
    four seasons of values are known, three values with a season of 1, or no value of a phase.

    With a season of 1, distances from the median are multiplied by the square root of `1 + h / t`.
    Arguments are those of `Move`.

    Source: Hyndman, Athanasopoulos, "Forecasting: Principles and Practice", third edition, sections
    5.2, 5.5 and 8.7, for the forecasts and their variances; Hyndman, Billah (2003), "Unmasking the
    Theta method", for the drift; Bates, Granger (1969) for the weights.
    """

    part = "drift"

    def find(self, history, quantiles, past_covariates=None, future_covariates=None):
        values, observed, location, scale = ObservedNormalization()(history)
        spread = deviation_between(quantiles, self.levels, *LEVELS) / scale
        expected = ops.square(spread)
        forecasts, growth, is_long = self._forecast(values, observed, expected)
        median = (quantiles[..., place_of(self.levels, 0.5)] - location) / scale
        seasons = ops.sum(observed, axis=1, keepdims=True) / self.season
        caution = CAUTION * (1 + seasons / MANY_SEASONS)
        # Weights in units of that of the network.
        weights = [expected / (caution * error + _TINY) for _, error in forecasts]
        move = sum(w * (x - median) for w, (x, _) in zip(weights, forecasts, strict=True))
        move = scale * move / (1 + sum(weights))
        return ops.where(is_long, move, 0.0), ops.sqrt(growth)

    def _forecast(self, values, observed, expected):
        """Forecast series by both.

        Args:
            values: `(batch, time)`, 0 where missing.
            observed: `(batch, time)`, 1 for known values.
            expected: `(batch, steps)`, the variance that the network expects of each step ahead.

        Returns:
            List of pairs of a forecast and the variance of its errors, and the factor of squared
            widths, all of them `(batch, steps)`; and whether the history is long enough,
            `(batch, 1)`.
        """
        season, steps = self.season, expected.shape[1]
        dtype = standardize_dtype(values.dtype)
        # Whole seasons: the first phase is that of the next step.
        padding = [[0, 0], [-values.shape[1] % season, 0]]
        values, observed = ops.pad(values, padding), ops.pad(observed, padding)
        length = values.shape[1]
        cycles = length // season
        cycle = np.repeat(np.arange(cycles, dtype=dtype)[:, None], season, axis=1)
        # (batch, cycles, season): the last known value of each phase, and its cycle.
        is_known = ops.reshape(observed, (-1, cycles, season)) > 0
        last = ops.where(is_known, ops.reshape(values, (-1, cycles, season)), np.nan)
        last, places = forward_fill(last), forward_fill(ops.where(is_known, cycle, np.nan))
        changes, gaps = _change(last, is_known), _change(places, is_known)
        time = ops.maximum(_total(gaps), 1)
        drift = _total(changes) / time  # per season
        squares = ops.square(changes - drift[..., None] * gaps) / ops.maximum(gaps, 1)
        pairs = _total(ops.cast(gaps > 0, dtype))
        one = ops.mean(expected[:, :season], axis=1, keepdims=True)
        variance = (_total(squares) + one) / ops.maximum(pairs, 1)

        def of_steps(x):  # (batch, season) -> (batch, steps)
            return ops.tile(x, (1, -(-steps // season)))[:, :steps]

        begun = ops.logical_not(ops.isnan(places[:, -1]))
        seasons = of_steps(ops.where(begun, ops.subtract(cycles, places[:, -1]), 1.0))
        seasons = ops.add(seasons, np.arange(steps, dtype=dtype) // season)
        growth = 1 + season * seasons / time
        walk = of_steps(ops.where(begun, last[:, -1], 0.0)) + drift * seasons
        walk = walk, variance * seasons * growth

        # Smoothing reads the values less the drift and the mean of each phase.
        drift = drift / season  # per step
        filled = last + season * drift[..., None] * ops.subtract(cycle, places)
        phases = _phase_means(filled, drift)
        until = np.arange(length, dtype=dtype) - (length - 1)
        rest = values - ops.tile(phases, (1, cycles)) - ops.multiply(drift, until)
        level, rate, squares = _smooth(rest * observed, observed)
        known = ops.sum(observed, axis=1, keepdims=True)
        variance = (squares + expected[:, :1]) / ops.maximum(known - 1 - season, 1)
        ahead = np.arange(1, steps + 1, dtype=dtype)
        smoothed = level + of_steps(phases) + ops.multiply(drift, ahead)
        newest = ops.max(ops.where(observed > 0, until, -float(length)), axis=1, keepdims=True)
        since = ops.subtract(ahead, newest)  # steps from the last known value
        error = variance * (1 + (since - 1) * ops.square(rate)) * (1 + since / time)

        least = LEAST_VALUES if season == 1 else LEAST_SEASONS * season
        is_long = ops.logical_and(known >= least, ops.all(begun, axis=1, keepdims=True))
        growth = growth if season == 1 else ops.ones_like(growth)
        return [walk, (smoothed, error)], growth, is_long


def _total(x):
    """Return the sums over the values of each series, `(batch, 1)`."""
    return ops.sum(x, axis=(1, 2))[:, None]


def _change(x, is_known):
    """Return the changes of each phase to its known values from those before, 0 elsewhere.

    Args:
        x: `(batch, cycles, season)`, the last known values, NaN before the first.
        is_known: Boolean tensor of the same shape.
    """
    change = x - ops.pad(x[:, :-1], [[0, 0], [1, 0], [0, 0]], constant_values=np.nan)
    has_change = ops.logical_and(is_known, ops.logical_not(ops.isnan(change)))
    return ops.where(has_change, change, 0.0)


def _phase_means(values, drift):
    """Return the mean of each phase less that of its season and the drift, `(batch, season)`.

    Args:
        values: `(batch, cycles, season)`, NaN before a phase begins.
        drift: `(batch, 1)`, per step.
    """
    season = values.shape[2]
    distances = values - ops.mean(values, axis=2, keepdims=True)
    is_whole = ops.logical_not(ops.isnan(distances))  # all phases have begun
    count = ops.maximum(ops.sum(ops.cast(is_whole, values.dtype), axis=1), 1)
    means = ops.sum(ops.where(is_whole, distances, 0.0), axis=1) / count
    middle = np.arange(season, dtype=standardize_dtype(values.dtype)) - (season - 1) / 2
    return means - ops.multiply(drift, middle)


def _smooth(values, observed):
    """Smooth series exponentially at the rate that forecasts their known values best.

    Args:
        values: `(batch, time)`, 0 where missing.
        observed: `(batch, time)`, 1 for known values.

    Returns:
        The last levels, the rates and the sums of squared errors, `(batch, 1)`; of rates that err
        alike, the mean level and the mean rate.
    """
    rates = np.array(RATES, standardize_dtype(values.dtype))
    begun = ops.cast(ops.cumsum(observed, axis=1) > 1, observed.dtype)
    values, observed = values[..., None], observed[..., None]
    later = observed * begun[..., None]  # all known values but the first
    rate = ops.multiply(later, rates) + observed - later  # (batch, time, rates)
    level = linear_recurrence(1 - rate, rate * values)
    errors = values - ops.pad(level[:, :-1], [[0, 0], [1, 0], [0, 0]])
    squares = ops.sum(ops.square(errors) * later, axis=1)
    least = ops.min(squares, axis=1, keepdims=True)
    # All that err alike, as on a line, where rounding would otherwise choose one of them.
    is_best = ops.cast(ops.less_equal(squares, least + _LEVEL), squares.dtype)
    is_best = is_best / ops.sum(is_best, axis=1, keepdims=True)
    newest = ops.sum(is_best * level[:, -1], axis=1, keepdims=True)
    return newest, ops.sum(ops.multiply(is_best, rates), axis=1, keepdims=True), least
