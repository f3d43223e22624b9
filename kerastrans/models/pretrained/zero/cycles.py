"""A regression on earlier cycles of a season, which moves the forecast of kerastrans-zero."""

import keras
import numpy as np
from keras import ops
from keras.backend import standardize_dtype

from kerastrans.layers import ObservedNormalization
from kerastrans.layers.forward_fill import forward_fill
from kerastrans.layers.normalization.observed_normalization import masked_mean
from kerastrans.models.pretrained.scaling import arcsinh, deviation_between, place_of, sinh
from kerastrans.models.pretrained.zero.moves import LEVELS, Move, weight_of

CYCLES_AGO = (1, 7)  # cycles whose values are the features, such as yesterday and a week ago
MOST_FEATURES = 24  # of a cycle; longer cycles are averaged over equal parts
SHRINKAGE = 0.3  # added to the diagonal, in units of the mean sum of squares of a row
CAUTION = 2.0  # factor of the squared error of the regression in its weight
FEW_ROWS = 8.0  # with so many rows for each cycle ahead, this factor is twice as large
NARROWER = 0.93  # factor of the distances from the median
LEAST_ROWS = 8  # number of cycles to fit below which the forecast stays as it is
CLIP_STEPS, LARGEST_DEVIATION = 4, 2.0  # of the robust location and scale
BEYOND = 1.0  # largest distance of a transformed forecast from the values of the history
INVERSE_STEPS = 24  # enough for matrices with a condition of 20,000
_SMALLEST_REST = 0.05  # of 1 less the leverage of a row
_TINY = 1e-6


def has_rows(length, season, prediction_length):
    """Return whether a history of `length` steps has enough cycles for `CycleRegression`."""
    return -(-length // season) - -(-prediction_length // season) >= LEAST_ROWS


@keras.saving.register_keras_serializable(package="kerastrans")
class CycleRegression(Move):
    """Moves quantiles towards a ridge regression on the last cycle and the one seven cycles ago.

    With a season of a day, the values of the next steps are regressed on those of yesterday and of
    the same day of the last week, over all days of the history. A season of more than 24 steps is
    averaged to at most 24 features. Values are transformed by the inverse hyperbolic sine of their
    distance from a robust location in units of a robust scale, so that peaks do not decide the fit.
    The mean of the features is subtracted from each row, and the shrinkage is fixed.

    The squared errors of the fit at cycles that are left out are compared with the spread of the
    quantiles. The regression has a weight of `v / (v + 2 (1 + 8 a / n) e)`: `v` is the variance of
    the quantiles, `e` the mean squared error, `a` the number of cycles ahead and `n` the number of
    cycles to fit. All quantiles of a step move by as much as the median. The mean of several
    forecasts errs less than each of them: distances from the median are multiplied by 0.93. If `n`
    is below eight, nothing changes. Arguments are those of `Move`.

    Source: Lago et al. (2021), "Forecasting day-ahead electricity prices", section 4.2, for the
    features; Uniejewski, Weron, Ziel (2018) for the transformation; Allen (1974) for the errors of
    rows that are left out; Bates, Granger (1969) for the weights.
    """

    part = "regression"

    def find(self, history, quantiles):
        steps = quantiles.shape[1]
        # To whole cycles, and before them those that the first ones are regressed on.
        padding = max(CYCLES_AGO) * self.season + -history.shape[1] % self.season
        history = ops.pad(history, [[0, 0], [padding, 0]], constant_values=np.nan)
        values, observed, location, scale = ObservedNormalization()(history)
        center, size = _robust(values, observed)
        values = observed * arcsinh((values - center) / size)
        forecast, error, known = self._regress(values, observed, steps)
        lowest = ops.min(values, axis=1, keepdims=True) - BEYOND
        highest = ops.max(values, axis=1, keepdims=True) + BEYOND
        forecast = ops.minimum(ops.maximum(forecast, lowest), highest)
        # To the units of the history, whose quantiles are transformed as its values are.
        center, size = location + scale * center, scale * size
        forecast = center + size * sinh(forecast)
        transformed = arcsinh((quantiles - center[..., None]) / size[..., None])
        spread = deviation_between(transformed, self.levels, *LEVELS)
        variance = ops.mean(ops.square(spread), axis=1, keepdims=True)
        # Rows whose steps ahead overlap are not independent.
        ahead = -(-steps // self.season)
        caution = CAUTION * (1 + FEW_ROWS * ahead / ops.maximum(known, 1))
        weight = weight_of(variance, caution * error)
        has_moved = known >= LEAST_ROWS
        move = forecast - quantiles[..., place_of(self.levels, 0.5)]
        return ops.where(has_moved, weight, 0.0) * move, ops.where(has_moved, NARROWER, 1.0)

    def _regress(self, values, observed, steps):
        """Fit values ahead of each cycle by earlier cycles.

        Args:
            values: `(batch, time)`, whole cycles, 0 where missing.
            observed: `(batch, time)`, 1 for known values.
            steps: int, number of steps to forecast.

        Returns:
            The forecast `(batch, steps)`, the mean squared error of rows that are left out,
            `(batch, 1)`, and the number of known rows, `(batch, 1)`.
        """
        cycles = values.shape[1] // self.season
        first, ahead = max(CYCLES_AGO), -(-steps // self.season)
        rows = cycles - first - ahead + 1
        values, observed = (ops.reshape(x, (-1, cycles, self.season)) for x in (values, observed))
        # Missing values are the last known ones of their phase, or the next ones.
        values = forward_fill(ops.where(observed > 0, values, np.nan))
        values = ops.flip(forward_fill(ops.flip(values, axis=1)), axis=1)
        values = ops.where(ops.isnan(values), 0.0, values)

        def features(x):
            size = next(n for n in range(MOST_FEATURES, 0, -1) if self.season % n == 0)
            x = ops.mean(ops.reshape(x, (-1, cycles, size, self.season // size)), axis=3)
            parts = [x[:, first - ago : cycles + 1 - ago] for ago in CYCLES_AGO]
            return ops.concatenate(parts, axis=2)

        def targets(x):
            x = ops.concatenate([x[:, first + i :][:, :rows] for i in range(ahead)], axis=2)
            return x[..., :steps]

        inputs, outputs = features(values), targets(values)
        level = ops.mean(inputs, axis=2, keepdims=True)
        inputs, outputs = inputs - level, outputs - level[:, :rows]
        newest, inputs = inputs[:, -1:], inputs[:, :rows]
        # A row counts by the known shares of its features and its targets.
        share = ops.mean(features(observed)[:, :rows], axis=2, keepdims=True)
        share = share * ops.mean(targets(observed), axis=2, keepdims=True)  # (batch, rows, 1)
        known = ops.sum(share, axis=1, keepdims=True)
        of_all = share / ops.maximum(known, 1)
        mean_input = ops.sum(inputs * of_all, axis=1, keepdims=True)
        mean_output = ops.sum(outputs * of_all, axis=1, keepdims=True)
        inputs, outputs = inputs - mean_input, outputs - mean_output
        # Of the matrix in units of its mean diagonal, so that its size does not matter.
        weighted = ops.transpose(inputs * of_all, (0, 2, 1))
        gram, size = ops.matmul(weighted, inputs), inputs.shape[2]
        power = ops.sum(ops.square(inputs) * of_all, axis=(1, 2))[:, None, None] + _TINY
        identity = np.eye(size, dtype=standardize_dtype(values.dtype))
        ridge = SHRINKAGE / ops.maximum(known, 1)
        inverse = _inverse(gram / power + ridge * identity, identity) / power
        slopes = ops.matmul(inverse, ops.matmul(weighted, outputs))
        forecast = ops.matmul(newest - mean_input, slopes) + mean_output + level[:, -1:]
        leverage = ops.sum(ops.matmul(inputs, inverse) * inputs, axis=2, keepdims=True)
        rest = ops.maximum(1 - of_all * (1 + leverage), _SMALLEST_REST)
        errors = (outputs - ops.matmul(inputs, slopes)) / rest
        error = ops.mean(ops.sum(ops.square(errors) * of_all, axis=1), axis=1, keepdims=True)
        return forecast[:, 0], error, known[:, 0]


def _robust(values, observed):
    """Return a location and a scale of known values, `(batch, 1)`, without far values."""

    def mean(x):
        return masked_mean(x, observed, keepdims=True)

    center = mean(values)
    size = mean(ops.abs(values - center))
    for _ in range(CLIP_STEPS):
        limit = LARGEST_DEVIATION * size
        drawn = ops.minimum(ops.maximum(values, center - limit), center + limit)
        center = mean(drawn)
        size = mean(ops.abs(drawn - center))
    # As the deviation of a normal distribution.
    return center, size * np.sqrt(np.pi / 2).astype("float32") + _TINY


def _inverse(matrices, identity):
    """Return the inverses of symmetric, positive definite matrices `(..., size, size)`.

    The steps are products only: exported formats have no operator that inverts a matrix.

    Source: Schulz (1933), "Iterative Berechnung der reziproken Matrix".
    """
    largest = ops.max(ops.sum(ops.abs(matrices), axis=-1, keepdims=True), axis=-2, keepdims=True)
    found = ops.divide(identity, largest)
    for _ in range(INVERSE_STEPS):
        found = ops.matmul(found, ops.subtract(2 * identity, ops.matmul(matrices, found)))
    return found
