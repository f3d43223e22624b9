"""Dependence of forecast errors over steps and series: a Gaussian copula with shrinkage."""

import functools
import zlib
from dataclasses import dataclass

import numpy as np
import scipy

from kerastrans.forecasting.conformal.offsets import count_effective

MAX_FACTORS = 32  # number of common factors of the series that are kept
MAX_PAIRWISE = 2048  # series with gaps whose pairs are each counted by their common rows: 32 MB
DIGITS = 4  # decimals of the stored numbers, so that a file has the same ones
DEFAULT_PROCESS = 0.7  # if no history is long enough to learn the dependence of the steps
# Coefficients of autoregressive processes, 1 of a random walk.
PROCESSES = (-0.9, -0.6, -0.3, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0)


@dataclass(frozen=True)
class Dependence:
    """Gaussian copula of the errors of a forecast, over its steps and over series.

    The correlation of two errors is the product of the correlation of their steps and that of their
    series. The correlation of the steps is shared by all series. That of the series is a factor
    model: each series is a weighted sum of common factors and an independent part, so that the
    draws of one series depend neither on the number nor on the order of the others. A channel of a
    wide frame counts as a series.

    Attributes:
        steps: `(prediction_length, prediction_length)`, correlation matrix.
        names: Tuple of str, the series that were learnt.
        loadings: `(series, factors)`, weights of the common factors; the squared weights of a
            series sum to at most 1.

    Source: Gneiting, Stanberry, Grimit, Held, Johnson (2008) and Möller, Lenkoski, Thorarinsdottir
    (2013) for a Gaussian copula of calibrated forecasts.

    Example:
        >>> dependence = Dependence.default(3)
        >>> dependence.steps
        array([[1.    , 0.5735, 0.3725],
               [0.5735, 1.    , 0.6496],
               [0.3725, 0.6496, 1.    ]])
        >>> dependence.draw(["a", "b"], 100, seed=0).shape
        (2, 100, 3)
    """

    steps: np.ndarray
    names: tuple = ()
    loadings: np.ndarray = None

    @classmethod
    def default(cls, prediction_length):
        """Return the dependence that is used if there is nothing to learn it from.

        The series are independent, and the steps depend on each other as in the forecasts of an
        autoregressive process.
        """
        return cls(np.round(_errors_of(DEFAULT_PROCESS, prediction_length), DIGITS))

    @classmethod
    def fit(cls, scores, names, times, others=None):
        """Return the dependence of some forecasts, or None without any known score.

        Both correlation matrices are shrunk, the more the fewer origins there are: that of the
        steps to that of the errors of an autoregressive process, that of the series to a constant
        correlation, a pair with fewer common origins more than others. Means are not subtracted:
        a bias that all steps or series share is a part of the uncertainty of their sum.

        Args:
            scores: `(windows, prediction_length, num_channels)`, standard normal scores of the
                outcomes under their forecast distributions, NaN if unknown.
            names: `(windows, num_channels)`, str, the series of each window and channel.
            times: `(windows,)`, ints, the time of the first target of each window.
            others: Tuple of the same three of windows that count less, such as those that a model
                was trained on: they choose the process. None to choose it by `scores`.

        Source: Schäfer, Strimmer (2005), "A shrinkage approach to large-scale covariance matrix
        estimation", equation 8 and table 2, with the variance of a correlation of normal numbers.

        Example:
            >>> noise = np.random.default_rng(0).normal(size=(400, 1, 2))
            >>> scores = np.repeat(noise, 2, axis=1)  # both steps are equal
            >>> fitted = Dependence.fit(scores, np.array([["a", "b"]] * 400), np.arange(400))
            >>> fitted.steps.round(2)
            array([[1., 1.],
                   [1., 1.]])
            >>> bool(abs(fitted.series_correlation[0, 1]) < 0.1)
            True
        """
        known = np.isfinite(scores)
        if not known.any():
            return None
        length = scores.shape[1]
        times_known = times[known.any(axis=(1, 2))]
        num_origins = max(1, count_effective(times_known, length))
        target = _target(*(others or (scores, names, times)))
        found, loadings = _fit_series(scores, names, times, num_origins * _effective(target))
        squared_sum = _sum_of_squares(loadings)
        # Overlapping windows begin with other shocks, so that each origin counts for the steps.
        num_rows = len(np.unique(times_known)) * len(found) ** 2 / squared_sum
        steps = _as_correlation(_shrunk(_step_correlation(scores), target, num_rows))
        return cls(steps, found, np.round(loadings, DIGITS))

    @property
    def series_correlation(self):
        """Correlation matrix of the learnt series, `(series, series)`."""
        matrix = self.loadings @ self.loadings.T
        np.fill_diagonal(matrix, 1.0)
        return matrix

    def draw(self, names, num_paths, seed, first=0, stream=()):
        """Return standard normal numbers `(series, num_paths, prediction_length)`.

        The common factors are drawn for each step of the clock, so that series whose forecasts
        begin at different times share those of the times that both forecast.

        Args:
            names: Names of the series to draw; those that were not learnt are independent.
            num_paths: int, number of draws.
            seed: int, or tuple of ints; the first one is the seed of the factors.
            first: int, or ints `(series,)`, number of the first step of each series on the clock.
            stream: Tuple of ints, for other draws with the same seed.
        """
        length = len(self.steps)
        seed = [*np.atleast_1d(seed).tolist(), *stream]
        own = [np.random.default_rng([*seed, 1, zlib.crc32(str(x).encode())]) for x in names]
        drawn = np.stack([x.standard_normal((num_paths, length)) for x in own])
        if self.names:
            weights = np.stack([self._weights_of.get(str(x), self._no_weights) for x in names])
            rest = np.sqrt(np.maximum(1 - np.square(weights).sum(axis=1), 0.0))
            drawn *= rest[:, None, None]
            first = np.broadcast_to(first, len(names))
            shape = self.loadings.shape[1], num_paths
            times = np.unique(np.unique(first)[:, None] + np.arange(length))
            # A seed is not negative, but numbers before 1970 are.
            seeds = [[seed[0], *stream, 0, int(time) % 2**32] for time in times]
            factors = np.stack(
                [np.random.default_rng(x).standard_normal(shape) for x in seeds], axis=-1
            )
            for begin in np.unique(first):
                place, rows = np.searchsorted(times, begin), first == begin
                drawn[rows] += np.tensordot(weights[rows], factors[..., place : place + length], 1)
        return drawn @ self.root

    def probabilities(self, names, num_paths, seed, first=0):
        """Return dependent probabilities `(series, num_paths, prediction_length)`, see `draw`.

        At each step of a series, one of the probabilities is in each of `num_paths` intervals of
        equal length, so that quantiles at these probabilities reproduce their distribution.

        Source: Packham, Schmidt (2010), "Latin hypercube sampling with dependence".

        Example:
            >>> found = Dependence.default(1).probabilities(["a"], 4, seed=0)
            >>> np.sort((4 * found).astype(int).ravel())
            array([0, 1, 2, 3])
        """
        ranks = self.draw(names, num_paths, seed, first).argsort(axis=1).argsort(axis=1)
        # The place within an interval has the same dependence, for the sake of a single path.
        inside = scipy.special.ndtr(self.draw(names, num_paths, seed, first, stream=(2,)))
        return np.clip((ranks + inside) / num_paths, 1e-12, 1 - 1e-12)

    def unknown(self, names):
        """Return the names that were not learnt."""
        return [name for name in map(str, names) if name not in self._weights_of]

    @functools.cached_property
    def _weights_of(self):
        return dict(zip(self.names, () if self.loadings is None else self.loadings, strict=True))

    @property
    def _no_weights(self):
        return np.zeros(self.loadings.shape[1])

    @functools.cached_property
    def root(self):
        """Symmetric square root of the correlation of the steps.

        With it, the errors of forecasts of one time from different origins have nearly the
        correlation of those from one origin. A triangular root, whose shocks belong to their times,
        has 0.31 to 0.59 of it for errors with a correlation of 0.95, and sums are then narrower if
        some series end earlier.
        """
        return _matrix_function(self.steps, np.sqrt)

    def to_dict(self):
        """Return the dependence as a JSON-serializable dict, which `from_dict` reads."""
        loadings = [] if self.loadings is None else self.loadings.tolist()
        lower = [row[: i + 1].tolist() for i, row in enumerate(self.steps)]
        return {"steps": lower, "names": list(self.names), "loadings": loadings}

    @classmethod
    def from_dict(cls, config):
        """Return the dependence that `to_dict` converted."""
        rows = config["steps"]
        lower = np.array([[*row, *[0.0] * (len(rows) - len(row))] for row in rows])
        steps = lower + np.tril(lower, -1).T
        loadings = np.asarray(config["loadings"]) if config["names"] else None
        return cls(steps, tuple(config["names"]), loadings)


def _errors_of(coefficient, length):
    """Return the correlations of the errors of a forecast of an autoregressive process of order 1.

    The error of a step is the sum of all shocks since the origin, each `coefficient` times as large
    as the one after it.
    """
    sizes = np.sqrt(np.cumsum(coefficient ** (2.0 * np.arange(length))))
    ratios = sizes[:, None] / sizes
    return _powers(coefficient, length) * np.minimum(ratios, ratios.T)


def _powers(coefficient, length):
    """Return the correlations of an autoregressive process of order 1."""
    return scipy.linalg.toeplitz(float(coefficient) ** np.arange(length))


def _target(scores, names, times):
    """Return a simple matrix near the correlations of the steps of a forecast, see `fit`.

    It is a mixture of a constant correlation, of an autoregressive process or the errors of its
    forecast, and of noise. Its three numbers have the least squared error over all pairs of steps,
    among a grid of processes. A constant is shrunk to 0 if the number of forecasts hardly shows it:
    it adds to the variance of a sum as often as there are pairs.
    """
    raw = _step_correlation(scores)
    num_forecasts = count_effective(times, len(raw)) * len(np.unique(names))
    pairs = ~np.eye(len(raw), dtype=bool)
    if not pairs.any():
        return np.ones((1, 1))
    best = (np.inf, None)
    for process in (x(c, len(raw)) for c in PROCESSES for x in (_errors_of, _powers)):
        x, y = process[pairs], raw[pairs]
        # Least squares with a slope and a constant of at least 0. Two steps have a slope only.
        centered = x - x.mean()
        slope = centered @ y / (centered @ centered) if centered.any() else y.mean() / x.mean()
        constant = max(0.0, y.mean() - max(slope, 0.0) * x.mean())
        constant *= constant**2 / (constant**2 + 1 / num_forecasts)
        weight = np.clip(x @ (y - constant) / (x @ x), 0, max(0, 1 - constant))
        distance = np.square(weight * x + constant - y).sum()
        if distance < best[0] - 1e-12:
            best = distance, weight * process + min(1, constant)
    np.fill_diagonal(best[1], 1.0)
    return best[1]


def _step_correlation(scores):
    """Return the correlations of the steps of scores `(windows, steps, channels)`."""
    return _correlation(np.moveaxis(scores, 1, 2).reshape(-1, scores.shape[1]))


def _correlation(scores):
    """Return the matrix of the correlations about 0 of columns `(rows, columns)` with gaps."""
    known = np.isfinite(scores).astype("float64")
    filled = np.where(known > 0, scores, 0.0)
    # Sums over the rows that have both columns.
    sizes = np.square(filled).T @ known
    sizes = np.sqrt(sizes * sizes.T)
    return np.where(sizes > 0, filled.T @ filled / np.where(sizes > 0, sizes, 1.0), 0.0)


def _shrunk(raw, target, num_rows):
    """Return correlations moved to their targets, with the least expected squared error."""
    outside = ~np.eye(len(raw), dtype=bool)
    noise = ((1 - target[outside] ** 2) ** 2).sum() / num_rows
    distance = ((raw - target)[outside] ** 2).sum()
    share = min(1.0, noise / distance) if distance > 0 else 1.0
    return share * target + (1 - share) * raw


def _fit_series(scores, names, times, num_rows):
    """Return the names of the series, and the loadings `(series, factors)`.

    Args:
        scores: See `Dependence.fit`, as the following.
        names: Names of the series.
        times: Times of the windows.
        num_rows: float, effective number of independent rows.
    """
    found, codes = np.unique(names.astype(str), return_inverse=True)
    codes = codes.reshape(names.shape)
    origins, places = np.unique(times, return_inverse=True)
    # One row per origin and step, one column per series.
    table = np.full((len(origins), scores.shape[1], len(found)), np.nan)
    table[places[:, None], :, codes] = scores.swapaxes(1, 2)
    table = table.reshape(-1, len(found))
    table = table[np.isfinite(table).any(axis=1)]
    if len(found) == 1:
        loadings = np.zeros((1, 0))
    elif np.isfinite(table).all() or len(found) > MAX_PAIRWISE:
        loadings = _common_factors(np.nan_to_num(table), num_rows)
    else:
        loadings = _pairwise_factors(table, num_rows)
    return tuple(found.tolist()), loadings[:, np.abs(loadings).max(axis=0) > 10.0**-DIGITS]


def _common_factors(table, num_rows):
    """Return the loadings of series whose scores are all known, without a matrix of all pairs."""
    sizes = np.sqrt(np.square(table).sum(axis=0))
    table = table / np.where(sizes > 0, sizes, 1.0)  # table.T @ table are the correlations
    count = table.shape[1]
    pairs = count * (count - 1)
    mean = (np.square(table.sum(axis=1)).sum() - count) / pairs
    mean = float(np.clip(mean, 0.0, 1.0))
    _, singular, vectors = np.linalg.svd(table, full_matrices=False)
    distance = (singular**4).sum() - count - pairs * mean**2
    noise = pairs * (1 - mean**2) ** 2 / num_rows
    share = min(1.0, noise / distance) if distance > 0 else 1.0
    factors = (np.sqrt(1 - share) * singular[:, None] * vectors)[:MAX_FACTORS]
    constant = np.full((1, count), np.sqrt(share * mean))
    return np.concatenate([factors, constant]).T


def _pairwise_factors(table, num_rows):
    """Return the loadings of series with gaps: each pair counts as its common rows allow.

    The share of the constant correlation is that of `_common_factors` if all scores are known. It
    is 1 for a pair without common rows.
    """
    known = np.isfinite(table).astype("float64")
    rows = num_rows * (known.T @ known) / len(table)
    np.fill_diagonal(rows, 0.0)
    raw = _correlation(table)
    mean = (rows * raw).sum() / max(rows.sum(), 1.0)
    mean = float(np.clip(mean, 0.0, 1.0))
    noise = (1 - mean**2) ** 2  # of a single row
    excess = (rows * (raw - mean) ** 2).sum() - noise * (rows > 0).sum()
    variance = max(excess, 0.0) / max(rows.sum(), 1.0)  # of the correlations about their mean
    weights = rows * variance / (rows * variance + noise) if noise else np.ones(rows.shape)
    matrix = weights * raw + (1 - weights) * mean
    np.fill_diagonal(matrix, 1.0)
    values, vectors = np.linalg.eigh(matrix)
    kept = slice(-1, -MAX_FACTORS - 2, -1)
    loadings = vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))
    return loadings / np.sqrt(np.maximum(np.square(loadings).sum(axis=1), 1.0))[:, None]


def _sum_of_squares(loadings):
    """Return the sum of the squared correlations of all pairs of series."""
    inner = loadings.T @ loadings
    own = np.square(loadings).sum(axis=1)  # what the factors explain of each series
    return max((inner**2).sum() + (1 - own**2).sum(), len(loadings))


def _effective(correlation):
    """Return the number of independent values with as much information as correlated ones."""
    return len(correlation) ** 2 / np.square(correlation).sum()


def _as_correlation(matrix):
    """Return the matrix without negative eigenvalues, its diagonal 1, rounded."""
    matrix = _matrix_function(matrix, lambda x: x)
    sizes = np.sqrt(np.diag(matrix))
    matrix = np.round(matrix / sizes / sizes[:, None], DIGITS)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def _matrix_function(matrix, function):
    """Return a function of the eigenvalues of a symmetric matrix, at least 0."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * function(np.maximum(values, 0.0))) @ vectors.T
