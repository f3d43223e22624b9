"""A random walk with drift, which moves the forecast of kerastrans-zero for yearly values."""

import keras
import numpy as np
from keras import ops
from keras.backend import standardize_dtype

from kerastrans.layers import ObservedNormalization
from kerastrans.layers.forward_fill import forward_fill
from kerastrans.models.pretrained.scaling import deviation_between, place_of
from kerastrans.models.pretrained.zero.moves import LEVELS, Move, weight_of

MANY_VALUES = 30.0  # with so many values, the squared error counts twice in the weight
LEAST_VALUES = 3  # number of known values below which the median stays as it is


@keras.saving.register_keras_serializable(package="kerastrans")
class RandomWalkWithDrift(Move):
    """Moves quantiles towards the last value and the mean change per step, continued.

    The drift is the mean change per step from the first known value to the last. The errors of a
    random walk have a variance of `e = s a (1 + a / t)` at `a` steps ahead, if the drift is
    estimated from `t` steps and `s` is the variance of the changes. The walk has a weight of
    `v / (v + (1 + n / 30) e)`: `v` is the variance of the quantiles, and `n` the number of known
    values, because the more of them there are, the more the network finds in them. With fewer than
    three values, the median stays. Distances from the median are multiplied by the square root of
    `1 + a / t`. After gaps, `s` is the mean of squares over the steps of each change. Arguments are
    those of `Move`; the season is 1.

    Source: Hyndman, Athanasopoulos, "Forecasting: Principles and Practice", third edition, sections
    5.2 and 5.5, for the drift and its variance; Bates, Granger (1969) for the weights.
    """

    part = "drift"

    def find(self, history, quantiles, past_covariates=None, future_covariates=None):
        values, observed, location, scale = ObservedNormalization()(history)
        forecast, error, growth, known = self._continue(values, observed, quantiles.shape[1])
        spread = deviation_between(quantiles, self.levels, *LEVELS) / scale
        weight = weight_of(ops.square(spread), (1 + known / MANY_VALUES) * error)
        move = location + scale * forecast - quantiles[..., place_of(self.levels, 0.5)]
        return ops.where(known >= LEAST_VALUES, weight, 0.0) * move, ops.sqrt(growth)

    def _continue(self, values, observed, steps):
        """Continue series by their last values and their drifts.

        Args:
            values: `(batch, time)`, 0 where missing.
            observed: `(batch, time)`, 1 for known values.
            steps: int, number of steps to forecast.

        Returns:
            The forecast, the variance of its errors, the factor of it that the estimated drift
            explains, all of them `(batch, steps)`, and the number of known values, `(batch, 1)`.
        """
        length, dtype = values.shape[1], standardize_dtype(values.dtype)
        is_known = observed > 0
        times = ops.add(ops.zeros_like(values), np.arange(length, dtype=dtype))
        series = ops.stack([values, times], axis=2)
        series = forward_fill(ops.where(is_known[..., None], series, np.nan))
        earlier = ops.pad(series[:, :-1], [[0, 0], [1, 0], [0, 0]], constant_values=np.nan)
        # From each known value to the next.
        is_pair = ops.logical_and(is_known, ops.logical_not(ops.isnan(earlier[..., 0])))
        changes = ops.where(is_pair[..., None], series - earlier, 0.0)
        changes, gaps = changes[..., 0], changes[..., 1]
        known = ops.sum(observed, axis=1, keepdims=True)
        time = ops.maximum(ops.sum(gaps, axis=1, keepdims=True), 1)
        drift = ops.sum(changes, axis=1, keepdims=True) / time
        squares = ops.square(changes - drift * gaps) / ops.maximum(gaps, 1)
        variance = ops.sum(squares, axis=1, keepdims=True) / ops.maximum(known - 2, 1)
        last = series[:, -1]
        last = ops.where(ops.isnan(last), np.array([0, length - 1], dtype), last)
        since = ops.subtract(np.arange(length, length + steps, dtype=dtype), last[:, 1:])
        growth = 1 + since / time
        return last[:, :1] + drift * since, variance * since * growth, growth, known
