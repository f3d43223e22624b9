"""A regression on earlier cycles of a season, which moves the forecast of kerastrans-zero."""

import numpy as np
from keras import ops
from keras.backend import standardize_dtype

from kerastrans.layers import ObservedNormalization
from kerastrans.layers.covariates.covariate_effects import standardize_covariate, trust_in_slope
from kerastrans.layers.forward_fill import forward_fill
from kerastrans.layers.normalization.observed_normalization import masked_mean
from kerastrans.models.pretrained.scaling import arcsinh, deviation_between, place_of, sinh
from kerastrans.models.pretrained.zero.moves import LEVELS, Move
from kerastrans.utils.model_files import serializable

CYCLES_AGO = (1, 7)  # cycles whose values are the features, such as yesterday and a week ago
MOST_FEATURES = 24  # of a cycle; longer cycles are averaged over equal parts
MOST_AHEAD = 7  # cycles to forecast whose covariates are read; more would take much memory
SHRINKAGE = 0.3  # added to the diagonal, in units of the mean sum of squares of a row
CAUTION = 2.0  # factor of the squared error of the regression in its weight
FEW_ROWS = 8.0  # with so many rows for each cycle ahead, this factor is twice as large
LEAST_EVIDENCE = 2.0  # squared t-value below which covariates are ignored
NARROWER = 0.9  # factor of the distances from the median
SHARE_OF_WIDTH = 0.3  # of the errors of the regression, in a geometric mean with the quantiles
LEAST_ROWS = 8  # number of cycles to fit below which the forecast stays as it is
CLIP_STEPS, LARGEST_DEVIATION = 4, 2.0  # of the robust location and scale
BEYOND = 1.0  # largest distance of a transformed forecast from the values of the history
INVERSE_STEPS = 24  # enough for matrices with a condition of 20,000
SMALLEST_ERROR = 0.01  # of a width, in units of the robust scale
LARGEST_CONDITION = 2e4  # many or equal covariates have more: rounding errors would be forecast
_SMALLEST_REST = 1e-3  # of 1 less the leverage of a row
_TINY = 1e-6


def has_rows(length, season, prediction_length):
    """Return whether a history of `length` steps has enough cycles for `CycleRegression`."""
    return -(-length // season) - -(-prediction_length // season) >= LEAST_ROWS


@serializable
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
    cycles to fit. All quantiles of a step move by as much as the median. If `n` is below eight,
    nothing changes.

    Distances from the median are multiplied by `0.9 (e / v) ** 0.15`, with `e` and `v` of each
    step: the regression knows which hours are restless, and the mean of several forecasts errs less
    than each of them.

    Covariates are further features: numbers of the cycle before and, if they are known ahead, of
    the first seven cycles to forecast, and the share of each text in these cycles. They move the
    forecast as far as they help at cycles that are left out: by the slope of the errors without
    them on what they change, times `1 - 2 / t**2`, where t is its t-value over the cycles.

    Args:
        season: int, number of steps of a season.
        levels: Tuple of float, the quantile levels.
        past: Tuple of the sizes of past covariates, see `kerastrans.layers.CovariateEffects`.
        future: Tuple of the sizes of the covariates that are known in advance.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Arguments of a call are those of `Move`.

    Source: Lago et al. (2021), "Forecasting day-ahead electricity prices", section 4.2, for the
    features; Uniejewski, Weron, Ziel (2018) for the transformation; Allen (1974) for the errors of
    rows that are left out; Bates, Granger (1969) for the weights; James, Stein (1961) for the share
    of the covariates.
    """

    part, reads_covariates = "regression", True

    def __init__(self, season, levels, past=(), future=(), **kwargs):
        super().__init__(season, levels, **kwargs)
        self.past, self.future = tuple(past), tuple(future)

    def find(self, history, quantiles, past_covariates=None, future_covariates=None):
        steps = quantiles.shape[1]
        # To whole cycles, and before them those that the first ones are regressed on.
        padding = max(CYCLES_AGO) * self.season + -history.shape[1] % self.season
        history = ops.pad(history, [[0, 0], [padding, 0]], constant_values=np.nan)
        values, observed, location, scale = ObservedNormalization()(history)
        center, size = _robust(values, observed)
        values = observed * arcsinh((values - center) / size)
        columns = self._columns(observed, padding, steps, past_covariates, future_covariates)
        forecast, errors, known = self._regress(values, observed, columns, steps)
        lowest = ops.min(values, axis=1, keepdims=True) - BEYOND
        highest = ops.max(values, axis=1, keepdims=True) + BEYOND
        forecast = ops.minimum(ops.maximum(forecast, lowest), highest)
        # To the units of the history, whose quantiles are transformed as its values are.
        center, size = location + scale * center, scale * size
        forecast = center + size * sinh(forecast)
        transformed = arcsinh((quantiles - center[..., None]) / size[..., None])
        variances = ops.square(deviation_between(transformed, self.levels, *LEVELS))
        variance, error = (ops.mean(x, axis=1, keepdims=True) for x in (variances, errors))
        # Rows whose steps ahead overlap are not independent.
        ahead = -(-steps // self.season)
        caution = CAUTION * (1 + FEW_ROWS * ahead / ops.maximum(known, 1))
        weight = variance / (variance + caution * error + _TINY)
        has_moved = known >= LEAST_ROWS
        move = forecast - quantiles[..., place_of(self.levels, 0.5)]
        ratio = (errors + SMALLEST_ERROR**2) / (variances + SMALLEST_ERROR**2)
        width = NARROWER * ops.exp(SHARE_OF_WIDTH / 2 * ops.log(ratio))
        return ops.where(has_moved, weight, 0.0) * move, ops.where(has_moved, width, 1.0)

    def _columns(self, observed, padding, steps, past, future):
        """Return the columns of covariates by cycle.

        Args:
            observed: `(batch, time)`, 1 for known values of the padded history.
            padding: int, number of steps that were added before the history.
            steps: int, number of steps to forecast.
            past: `(batch, time, len(self.past))` or None, before padding.
            future: `(batch, time + steps, len(self.future))` or None.

        Returns:
            List of pairs of a tensor `(batch, cycles, parts)`, with the cycles ahead, and of the
            cycles that are features, counted from that to be forecast.
        """
        season, ahead = self.season, -(-steps // self.season)
        found = []
        for x, sizes, missing, last in (
            (past, self.past, ahead * season, 0),
            (future, self.future, ahead * season - steps, min(ahead, MOST_AHEAD)),
        ):
            for i, size in enumerate(sizes):
                column = ops.pad(x[..., i], [[0, 0], [padding, missing]], constant_values=np.nan)
                if size:  # the share of each text in a cycle
                    parts = [ops.equal(column, float(code)) for code in range(1, size)]
                    parts = [ops.cast(x, observed.dtype) for x in parts]
                    parts = [_parts_of_cycles(x, season, 1) for x in parts]
                    column = ops.concatenate(parts, axis=2)
                else:
                    column = standardize_covariate(column, observed)
                    column = _parts_of_cycles(column, season, _number_of_parts(season))
                found.append((column, range(-1, last)))
        return found

    def _regress(self, values, observed, columns, steps):
        """Fit values ahead of each cycle by earlier cycles.

        Args:
            values: `(batch, time)`, whole cycles, 0 where missing.
            observed: `(batch, time)`, 1 for known values.
            columns: List of covariates, see `_columns`.
            steps: int, number of steps to forecast.

        Returns:
            The forecast and the mean squared errors of rows that are left out, both
            `(batch, steps)`, and the number of known rows, `(batch, 1)`.
        """
        cycles = values.shape[1] // self.season
        first, ahead = max(CYCLES_AGO), -(-steps // self.season)
        rows = cycles - first - ahead + 1
        # Missing values are the last known ones of their phase, or the next ones.
        x = ops.reshape(ops.where(observed > 0, values, np.nan), (-1, cycles, self.season))
        x = ops.flip(forward_fill(ops.flip(forward_fill(x), axis=1)), axis=1)
        values = ops.reshape(ops.where(ops.isnan(x), 0.0, x), (-1, cycles * self.season))

        def shifted(x, cycles_ahead):
            parts = [x[:, first + k : cycles + 1 + k] for k in cycles_ahead]
            return ops.concatenate(parts, axis=2)

        def features(x):
            x = _parts_of_cycles(x, self.season, _number_of_parts(self.season))
            return shifted(x, [-ago for ago in CYCLES_AGO])

        def targets(x):
            x = ops.reshape(x, (-1, cycles, self.season))
            x = ops.concatenate([x[:, first + i :][:, :rows] for i in range(ahead)], axis=2)
            return x[..., :steps]

        inputs, outputs = features(values), targets(values)
        level = ops.mean(inputs, axis=2, keepdims=True)
        inputs, outputs = inputs - level, outputs - level[:, :rows]
        # A row counts by the known shares of its features and its targets.
        share = ops.mean(features(observed)[:, :rows], axis=2, keepdims=True)
        share = share * ops.mean(targets(observed), axis=2, keepdims=True)  # (batch, rows, 1)
        known = ops.sum(share, axis=1, keepdims=True)
        of_all = share / ops.maximum(known, 1)
        power = _centered(inputs[:, :rows], of_all)[0]
        power = ops.sum(ops.square(power) * of_all, axis=(1, 2))[:, None, None] + _TINY
        ridge = SHRINKAGE * power / ops.maximum(known, 1)
        forecast, errors = _fit(inputs, outputs, of_all, ridge)
        if columns:
            inputs = ops.concatenate([inputs, *(shifted(*x) for x in columns)], axis=2)
            found, others = _fit(inputs, outputs, of_all, ridge)
            changes = others - errors
            fitted, size = (ops.sum(x * changes, axis=2) for x in (-errors, changes))
            trust = trust_in_slope(fitted, size, LEAST_EVIDENCE)[..., None]
            forecast = forecast + trust * (found - forecast)
            errors = errors + trust * changes
        forecast = forecast + level[:, -1:]
        return forecast[:, 0], ops.sum(ops.square(errors), axis=1), known[:, 0]


def _number_of_parts(season):
    """Return the number of equal parts, at most 24, that the values of a cycle are averaged to."""
    return next(n for n in range(MOST_FEATURES, 0, -1) if season % n == 0)


def _parts_of_cycles(x, season, parts):
    """Return the means `(batch, cycles, parts)` of series `(batch, time)` of whole cycles."""
    return ops.mean(ops.reshape(x, (-1, x.shape[1] // season, parts, season // parts)), axis=3)


def _centered(x, weights):
    """Return `(batch, rows, columns)` less its weighted mean over the rows, and the mean."""
    mean = ops.sum(x * weights, axis=1, keepdims=True)
    return x - mean, mean


def _fit(inputs, outputs, weights, ridge):
    """Fit a ridge regression to rows.

    Args:
        inputs: `(batch, rows, features)`, and at the end rows without outputs.
        outputs: `(batch, rows, steps)`.
        weights: `(batch, rows, 1)`, with a sum of 1.
        ridge: `(batch, 1, 1)`, added to the diagonal; at least the sum of squares over 20,000.

    Returns:
        The outputs of the last row `(batch, 1, steps)`, and the errors of each row if it is left
        out, times the root of its weight, `(batch, rows, steps)`.
    """
    rows, size = outputs.shape[1], inputs.shape[2]
    x, mean_input = _centered(inputs[:, :rows], weights)
    y, mean_output = _centered(outputs, weights)
    newest, root = inputs[:, -1:] - mean_input, ops.sqrt(weights)
    x, y = x * root, y * root
    # The largest eigenvalue is at most the sum of squares.
    squares = ops.sum(ops.square(x), axis=(1, 2))[:, None, None]
    ridge = ops.maximum(ridge, squares / LARGEST_CONDITION)
    transposed = ops.transpose(x, (0, 2, 1))
    identity = ops.convert_to_tensor(np.eye(min(rows, size)), standardize_dtype(x.dtype))
    if size <= rows:
        inverse = _inverse(ops.matmul(transposed, x) + ridge * identity, identity)
        slopes = ops.matmul(inverse, ops.matmul(transposed, y))
        forecast, errors = ops.matmul(newest, slopes), y - ops.matmul(x, slopes)
        rest = 1 - ops.sum(ops.matmul(x, inverse) * x, axis=2, keepdims=True)
    else:  # the same by the products of rows, of which there are fewer
        inverse = _inverse(ops.matmul(x, transposed) + ridge * identity, identity)
        of_rows = ops.matmul(inverse, y)
        forecast = ops.matmul(newest, ops.matmul(transposed, of_rows))
        errors = ridge * of_rows
        rest = ridge * ops.sum(inverse * identity, axis=2, keepdims=True)
    return forecast + mean_output, errors / ops.maximum(rest - weights, _SMALLEST_REST)


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
    return center, size * float(np.sqrt(np.pi / 2)) + _TINY


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
