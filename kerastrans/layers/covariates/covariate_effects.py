"""Effects of covariates, from a regression within each window."""

import keras
import numpy as np
from keras import ops
from keras.backend import standardize_dtype

from kerastrans.layers.forward_fill import forward_fill
from kerastrans.layers.frequency.lagged import LagChanges
from kerastrans.layers.frequency.octave_lags import OctaveLags
from kerastrans.layers.normalization.observed_normalization import (
    ObservedNormalization,
    masked_mean,
)
from kerastrans.utils.model_files import serializable
from kerastrans.utils.precision import full_precision
from kerastrans.utils.validation import check_positive_integers

_SMALLEST = 1e-20  # divisor of a step of conjugate gradients, if a residual is zero
BLOCKS = 8  # number of parts of a window, each of which is predicted from the others
SHRINKAGES = (0.003, 0.03, 0.3, 3.0, 30.0)  # added to the diagonal of the correlation matrix
STEPS = 12  # number of conjugate-gradient steps
EARLIER = 2  # number of earlier steps whose mean is a second feature of a number
SHORTEST_SEASON = 4  # steps
MOST_OCTAVES = 9  # lags are below 512 steps
LARGEST_RESIDUAL = 3.0  # residuals of a first fit are clipped, in units of their mean size
FIRST_SHRINKAGE, HUBER_STEPS = 0.03, 2  # of that fit, and how often it is repeated
LARGEST_VALUE = 5.0  # a covariate is clipped, in units of its deviation
# Squared t-value below which effects are ignored, and its relative growth with the square of the
# number of features per known value.
LEAST_EVIDENCE, EVIDENCE_GROWTH = 2.0, 100.0
_TINY = 1e-9


@serializable
class CovariateEffects(keras.layers.Layer):
    """Estimates the effects of covariates on a series by a ridge regression within each window.

    Changes of the series are regressed on changes of the covariates: from the step before, from one
    season earlier, and from the mean of the window, in units of their size. The season is
    the lag of at least four steps with the highest autocorrelation of the series. A number has two
    features, its value and the mean of the two values before; a category has one indicator for each
    known text. A past covariate is read with a delay of `prediction_length` steps, so that it is
    known at all steps of the forecast. Outliers of the series are drawn in first: the residuals of
    a fit to the whole window are clipped at three times their mean size. Large effects of rare
    events are not outliers, since the covariate explains them.

    The window is cut into eight parts of equally many known values, and each part is predicted from
    the other seven. These predictions are judged by the changes from one season earlier, because a
    forecast knows the season already. The amount of shrinkage is the best one for them. The slope
    of the changes on their predictions, and its t-value over the parts, set the trust in the
    effects: they are multiplied by `slope * (1 - evidence / t**2)`, at least 0 and at most 1.
    Windows with fewer than eight known values have no effects. No window depends on another one.
    The layer has no weights.

    Args:
        prediction_length: int, number of steps after the history.
        past: Tuple with the size of each past covariate: 0 for a number, otherwise the number of
            codes of its categories, with 0 for an unknown one.
        future: Tuple of the sizes of the covariates that are known in advance, like `past`.
        trend_length: int, see `OctaveLags`.
        **kwargs: Additional arguments of `keras.layers.Layer`.

    Call arguments:
        history: `(batch, time)`, NaN where missing.
        past_covariates: `(batch, time, len(past))`, NaN where missing; None without them. A missing
            number is replaced by the last known one.
        future_covariates: `(batch, time + prediction_length, len(future))`, like
            `past_covariates`.

    Returns:
        Four tensors: the history without the effects, `(batch, time)`; the effects ahead, compared
        with the mean of a number, `(batch, prediction_length, covariates)`, past covariates first;
        the variance of their sum over parts that are left out (the jackknife),
        `(batch, prediction_length)`; and the squared error of the predictions of left-out parts, as
        a multiple of the squared error of the fit, `(batch, 1)`.

    Raises:
        ValueError: If `prediction_length` is below 1, or there are no covariates.

    Example:
        >>> import numpy as np
        >>> from keras import ops
        >>> wind = np.random.default_rng(0).normal(size=(1, 65, 1)).astype("float32")
        >>> layer = CovariateEffects(prediction_length=1, future=(0,))
        >>> rest, ahead, *_ = layer(2 * wind[:, :64, 0], future_covariates=wind)
        >>> error = ops.mean(rest) + ahead[0, 0, 0] - 2 * wind[0, 64, 0]
        >>> bool(ops.std(rest) < 0.05), bool(ops.abs(error) < 0.05)
        (True, True)

    Source: Hoerl, Kennard (1970), ridge regression; Stone (1974), Wolpert (1992), cross-validated
    choice and stacking; James, Stein (1961), shrinkage to zero; Quenouille (1956), the jackknife.
    """

    takes_missing = True

    def __init__(self, prediction_length, past=(), future=(), trend_length=1024, **kwargs):
        check_positive_integers(prediction_length=prediction_length, trend_length=trend_length)
        if not past and not future:
            raise ValueError("give the sizes of at least one covariate, past or future.")
        super().__init__(**{"dtype": full_precision(), **kwargs})
        self.prediction_length, self.trend_length = prediction_length, trend_length
        self.past, self.future = tuple(past), tuple(future)

    def call(self, history, past_covariates=None, future_covariates=None):
        length = history.shape[1]
        values, observed, _, scale = ObservedNormalization(dtype=self.dtype_policy)(history)
        begun = ops.cast(ops.cumsum(observed, axis=1) > 0, observed.dtype)
        columns = self._columns(begun, past_covariates, future_covariates)
        features, groups = _features(columns, observed)  # (batch, time, features)
        changes = self._changes(values, observed, features[:, :length])
        slopes, without, trust, ratio = _regress(*_draw_in(*changes), observed)
        trust = trust * scale  # (batch, 1), in units of the series
        effects = features * slopes[:, None] * trust[:, None]
        rest = history - ops.sum(effects[:, :length], axis=2)
        ahead = features[:, length:]
        # Spread of the effects over the slopes that leave a part out.
        of_parts = ops.matmul(ahead, ops.transpose(without, (0, 2, 1))) * trust[:, None]
        variance = (BLOCKS - 1) * ops.var(of_parts, axis=2)
        return rest, ops.matmul(effects[:, length:], groups), variance, ratio

    def _columns(self, begun, past, future):
        """Return a list of `(batch, time + prediction_length)`, NaN where missing, and sizes.

        Values before the series begins are missing.
        """
        columns, steps = [], self.prediction_length
        if self.past:
            past = ops.where(begun[..., None] > 0, past, np.nan)
            past = ops.pad(past, [[0, 0], [steps, 0], [0, 0]], constant_values=np.nan)
            columns += [(past[..., i], size) for i, size in enumerate(self.past)]
        if self.future:
            ahead = ops.ones_like(future[:, begun.shape[1] :, 0])
            is_read = ops.concatenate([begun, ahead], axis=1)[..., None] > 0
            future = ops.where(is_read, future, np.nan)
            columns += [(future[..., i], size) for i, size in enumerate(self.future)]
        return columns

    def _changes(self, values, observed, features):
        """Return changes of the series and of the features, and a mask of those that are known.

        Returns:
            `(batch, kinds, time)`, `(batch, kinds, time, features)` and `(batch, kinds, time)`, 0
            where not known; each kind is centred and in units of the size of the series' changes.
            And `(batch, kinds)`, 1 for the kind that judges predictions.
        """
        length, count = values.shape[1], features.shape[2]
        octaves = min(MOST_OCTAVES, max(1, int(np.log2(length))))
        policy = {"dtype": self.dtype_policy}
        octave_lags = OctaveLags(octaves, self.trend_length, **policy)
        lags, correlations, usable = octave_lags(values, observed)
        rank = ops.where((lags >= SHORTEST_SEASON) & (usable > 0), correlations, -2.0)
        highest, place = ops.top_k(rank, 1)
        season = ops.take_along_axis(lags, place, axis=1)
        lags = ops.concatenate([lags[:, :1], season], axis=1)
        has_season = ops.cast(highest > -2, lags.dtype)
        change = LagChanges(length, **policy)
        targets, paired = change(values, observed, lags)
        paired = ops.concatenate([paired[:, :1], paired[:, 1:] * has_season[..., None]], axis=1)
        judge = ops.concatenate([1 - has_season, has_season, 0 * has_season], axis=1)
        rows = ops.reshape(ops.transpose(features, (0, 2, 1)), (-1, length))
        same = ops.repeat(observed, count, axis=0), ops.repeat(lags, count, axis=0)
        changes, _ = change(rows, *same)
        changes = ops.reshape(changes, (-1, count, lags.shape[1], length))
        changes = ops.transpose(changes, (0, 2, 3, 1))
        # The last kind is the distance from the mean of the window.
        targets = ops.concatenate([targets, values[:, None]], axis=1)
        changes = ops.concatenate([changes, features[:, None]], axis=1)
        paired = ops.concatenate([paired, observed[:, None]], axis=1)
        targets = _centered(targets, paired)
        changes = _centered(ops.transpose(changes, (0, 3, 1, 2)), paired[:, None])
        changes = ops.transpose(changes, (0, 2, 3, 1))
        return *_in_units(targets, changes, paired), paired, judge

    def compute_output_shape(
        self, history_shape, past_covariates_shape=None, future_covariates_shape=None
    ):
        ahead = (history_shape[0], self.prediction_length)
        count = len(self.past) + len(self.future)
        return tuple(history_shape), (*ahead, count), ahead, (history_shape[0], 1)


def _features(columns, observed):
    """Return the features of covariates, and which covariate each of them belongs to.

    Args:
        columns: List of a column `(batch, steps)`, NaN where missing, and its size.
        observed: `(batch, time)`, 1 for steps whose values set mean and deviation of a number.

    Returns:
        Tensor `(batch, steps, features)` and an array of 0 and 1 `(features, covariates)`.
    """
    features, owners = [], []
    for owner, (column, size) in enumerate(columns):
        if size:
            codes = np.arange(1, size)
            own = [ops.cast(ops.equal(column, float(code)), observed.dtype) for code in codes]
            own = own or [ops.zeros_like(column)]  # of a column without known values
        else:
            number = standardize_covariate(column, observed)
            earlier = [ops.pad(number[:, :-k], [[0, 0], [k, 0]]) for k in range(1, EARLIER + 1)]
            own = [number, sum(earlier) / EARLIER]
        features += own
        owners += [owner] * len(own)
    groups = np.equal.outer(owners, np.arange(len(columns)))
    return ops.stack(features, axis=2), groups.astype(standardize_dtype(observed.dtype))


def standardize_covariate(column, observed):
    """Return numbers in deviations from their mean over the observed steps, 0 where not known."""
    length = observed.shape[1]
    column = forward_fill(column)
    known = ops.cast(ops.logical_not(ops.isnan(column)), observed.dtype)
    column = ops.where(known > 0, column, 0.0)
    counted = known[:, :length] * observed
    # Scale it so that no square is too large or too small for float32.
    largest = ops.max(ops.abs(column[:, :length]) * counted, axis=1, keepdims=True)
    column = column / ops.where(largest > 0, largest, 1.0)
    mean = masked_mean(column[:, :length], counted, keepdims=True)
    column = (column - mean) * known
    deviation = ops.sqrt(masked_mean(ops.square(column[:, :length]), counted, keepdims=True))
    # A constant column has a deviation of rounding errors, or of 0.
    column = column / (deviation + 1e-6 * ops.abs(mean) + _TINY)
    return ops.clip(column, -LARGEST_VALUE, LARGEST_VALUE)


def _in_units(targets, changes, paired):
    """Return both in units of the root mean square of the targets, by kind."""
    size = ops.sqrt(masked_mean(ops.square(targets), paired, keepdims=True)) + 1e-6
    return targets / size, changes / size[..., None]


def _draw_in(targets, changes, paired, judge):
    """Clip the residuals of the targets from a fit to the whole window; return all four.

    Two steps of Huber's estimator, from least squares with some shrinkage. Arguments as in
    `_regress`: targets and changes are 0 if not known.
    """
    transposed = ops.transpose(changes, (0, 1, 3, 2))
    gram = ops.sum(ops.matmul(transposed, changes), axis=1)
    unit = _root_of_diagonal(gram)
    ridge = FIRST_SHRINKAGE * np.eye(gram.shape[-1], dtype=standardize_dtype(gram.dtype))
    gram = ops.add(gram / unit[:, None] / unit[..., None], ridge)
    drawn = targets
    for _ in range(HUBER_STEPS):
        product = ops.sum(ops.matmul(transposed, drawn[..., None])[..., 0], axis=1)
        slopes = solve_by_conjugate_gradients(gram, product / unit, STEPS) / unit
        fit = ops.matmul(changes, slopes[:, None, :, None])[..., 0]
        residuals = _centered(drawn - fit, paired)
        limit = LARGEST_RESIDUAL * masked_mean(ops.abs(residuals), paired, keepdims=True)
        drawn = fit + ops.clip(residuals, -limit, limit)
    return *_in_units(drawn, changes, paired), paired, judge


def _regress(targets, changes, paired, judge, observed):
    """Regress changes of the series on changes of the features, in parts of a window.

    Args:
        targets: `(batch, kinds, time)`, as `_changes` returns them, like the next two.
        changes: `(batch, kinds, time, features)`.
        paired: `(batch, kinds, time)`.
        judge: `(batch, kinds)`, 1 for the kind of changes that judges predictions.
        observed: `(batch, time)`, 1 for known values.

    Returns:
        Slopes `(batch, features)`, those without each part `(batch, parts, features)`, the trust
        `(batch, 1)`, and the squared error of left-out parts over that of the fit, `(batch, 1)`.
    """
    count = changes.shape[-1]
    number = ops.sum(observed, axis=1, keepdims=True)
    # The last values of a part end where its share of all known values does.
    part = ops.floor((ops.cumsum(observed, axis=1) - 0.5) * BLOCKS / ops.maximum(number, 1))
    transposed = ops.transpose(changes, (0, 1, 3, 2))
    grams, products, squares = [], [], []
    for i in range(BLOCKS):
        inside = paired * ops.cast(ops.equal(part, i), targets.dtype)[:, None]
        grams.append(ops.matmul(transposed, changes * inside[..., None]))
        products.append(ops.matmul(transposed, (targets * inside)[..., None])[..., 0])
        squares.append(ops.sum(ops.square(targets) * inside, axis=2))
    # (batch, parts, kinds, ...)
    grams, products, squares = (ops.stack(x, axis=1) for x in (grams, products, squares))
    judge = judge[:, None, :, None]
    judged = ops.sum(grams * judge[..., None], axis=2), ops.sum(products * judge, axis=2)
    squares = ops.sum(squares * judge[..., 0], axis=(1, 2))[:, None]
    grams, products = ops.sum(grams, axis=2), ops.sum(products, axis=2)
    # Scale the features so that the diagonal of the whole matrix is 1.
    gram = ops.sum(grams, axis=1)
    unit = _root_of_diagonal(gram)

    def scaled(grams, products):
        return grams / unit[:, None, :, None] / unit[:, None, None], products / unit[:, None]

    (grams, products), judged = scaled(grams, products), scaled(*judged)
    gram, product = ops.sum(grams, axis=1), ops.sum(products, axis=1)
    ridge = ops.convert_to_tensor(np.multiply.outer(SHRINKAGES, np.eye(count)), targets.dtype)
    # Slopes without each part, `(batch, parts, shrinkages, features)`.
    others = (gram[:, None] - grams)[:, :, None] + ridge
    targets = (product[:, None] - products)[:, :, None] + ops.zeros_like(others[..., 0])
    without = solve_by_conjugate_gradients(others, targets, STEPS)
    fitted = ops.sum(without * judged[1][:, :, None], axis=3)
    size = _form(judged[0][:, :, None], without)
    errors = ops.sum(size - 2 * fitted, axis=1)  # (batch, shrinkages)
    is_best = ops.cast(ops.equal(errors, ops.min(errors, axis=1, keepdims=True)), errors.dtype)
    is_best = is_best / ops.sum(is_best, axis=1, keepdims=True)
    fitted, size = (ops.sum(x * is_best[:, None], axis=2) for x in (fitted, size))
    without = ops.sum(without * is_best[:, None, :, None], axis=2)
    matrix = gram + ops.sum(is_best[..., None, None] * ridge, axis=1)
    slopes = solve_by_conjugate_gradients(matrix, product, STEPS)
    varying = ops.sum(ops.cast(unit > 2 * _TINY**0.5, unit.dtype), axis=1, keepdims=True)
    trust = _trust(fitted, size, number, varying)
    # Squared errors with this trust, of left-out parts and of the fit.
    gram, product = ops.sum(judged[0], axis=1), ops.sum(judged[1], axis=1)
    held_out = ops.sum(fitted, axis=1, keepdims=True), ops.sum(size, axis=1, keepdims=True)
    own = ops.sum(slopes * product, axis=1, keepdims=True), _form(gram, slopes)[:, None]
    held_out, own = (squares - 2 * trust * x + ops.square(trust) * y for x, y in (held_out, own))
    ratio = held_out / ops.maximum(own, 1e-3 * squares + _TINY)
    return slopes / unit, without / unit[:, None], trust, ratio


def _root_of_diagonal(matrices):
    """Return the roots of the diagonals, `(batch, size)`, above 0."""
    identity = np.eye(matrices.shape[-1], dtype=standardize_dtype(matrices.dtype))
    return ops.sqrt(ops.sum(ops.multiply(matrices, identity), axis=2) + _TINY)


def _form(matrices, vectors):
    """Return the quadratic forms `(...)` of matrices `(..., size, size)`."""
    return ops.sum(vectors * ops.matmul(matrices, vectors[..., None])[..., 0], axis=-1)


def _trust(fitted, size, number, count):
    """Return the share of the effects to believe in, `(batch, 1)`.

    Args:
        fitted: `(batch, parts)`, products of the changes in left-out parts and their predictions.
        size: `(batch, parts)`, squares of these predictions.
        number: `(batch, 1)`, number of known values.
        count: `(batch, 1)`, number of features that vary in the window.
    """
    per_value = count / ops.maximum(number, 1)
    needed = LEAST_EVIDENCE * (1 + EVIDENCE_GROWTH * ops.square(per_value))
    trust = trust_in_slope(fitted, size, needed * BLOCKS / (BLOCKS - 1))
    return ops.where(number >= BLOCKS, trust, 0.0)


def trust_in_slope(fitted, size, evidence):
    """Return `slope * (1 - evidence / t**2)`, at least 0 and at most 1, `(batch, 1)`.

    The slope is that of values on their predictions, and t its t-value over the parts.

    Args:
        fitted: `(batch, parts)`, products of the values and their predictions.
        size: `(batch, parts)`, squares of the predictions.
        evidence: Squared t-value below which the slope is not believed.
    """
    total = ops.sum(size, axis=1, keepdims=True) + _TINY
    slope = ops.sum(fitted, axis=1, keepdims=True) / total
    errors = ops.sum(ops.square(fitted - slope * size), axis=1, keepdims=True)
    share = 1 - evidence * errors / ops.square(total) / (ops.square(slope) + _TINY)
    return ops.clip(slope, 0, 1) * ops.maximum(share, 0)


def _centered(values, mask):
    """Return values `(..., time)` less their mean where the mask is 1, 0 elsewhere."""
    return (values - masked_mean(values, mask, keepdims=True)) * mask


def solve_by_conjugate_gradients(matrices, targets, steps):
    """Solve `matrices @ x = targets` for symmetric, positive definite matrices.

    The steps are sums and products only: exported formats have no operator that solves a system.
    The more the eigenvalues of a matrix cluster, the fewer steps are needed, at most as many as it
    has rows.

    Args:
        matrices: `(..., size, size)`.
        targets: `(..., size)`.
        steps: int, number of steps.

    Returns:
        Tensor of the shape of the targets.

    Source: Hestenes, Stiefel (1952), "Methods of conjugate gradients for solving linear systems".
    """
    x, residual, direction = ops.zeros_like(targets), targets, targets
    size = ops.sum(ops.square(residual), axis=-1, keepdims=True)
    for _ in range(steps):
        product = ops.matmul(matrices, direction[..., None])[..., 0]
        curvature = ops.sum(direction * product, axis=-1, keepdims=True)
        length = size / ops.maximum(curvature, _SMALLEST)
        x = x + length * direction
        residual = residual - length * product
        next_size = ops.sum(ops.square(residual), axis=-1, keepdims=True)
        direction = residual + next_size / ops.maximum(size, _SMALLEST) * direction
        size = next_size
    return x
