"""Synthetic series of many kinds, for pretraining forecasters without real data.

The arguments of each generator are a random generator, the number of series, their length, and
`spans` `(count,)`: the number of steps over which a series changes as a whole. If only the last 20
steps of a series are used, its trend should be visible within 20 steps.

Sources: Gaussian processes after Ansari et al. (2024), Chronos, appendix A, drawn by random
features (Rahimi, Recht, 2007); trend, season and remainder after Bahrpeyma et al. (2021); an equal
mixture of generators, which Moroshan et al. (2025) found to do as well as the best of them.
"""

import numpy as np
from scipy.signal import lfilter

from kerastrans.datasets.synthetic_parts import (
    fill,
    line,
    noise,
    periods,
    pick,
    saturation,
    season,
    shocks,
    sizes,
    smooth,
    two_seasons,
    walk,
)
from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import check_positive_integers


def synthetic_series(count, length, seed=None, *, spans=None):
    """Return series of all generators in equal shares and random order.

    Args:
        count: int, number of series.
        length: int, number of steps of each series.
        seed: int or NumPy generator; None draws a seed, see `keras.utils.set_random_seed`.
        spans: int array `(count,)`, number of steps over which each series changes as a whole; its
            length by default.

    Returns:
        NumPy array `(count, length)`; scales differ between series.

    Raises:
        ValueError: If `count` or `length` is below 1.

    Example:
        >>> synthetic_series(12, 100, seed=0).shape
        (12, 100)
    """
    check_positive_integers(count=count, length=length)
    rng = np.random.default_rng(draw_seed() if seed is None else seed)
    spans = np.full(count, length) if spans is None else np.asarray(spans)
    kinds = rng.permutation(np.arange(count) % len(GENERATORS))
    makers = GENERATORS.values()
    return fill(kinds, length, makers, lambda make, rows: make(rng, len(rows), length, spans[rows]))


def gaussian_process(rng, count, length, spans):
    """Return sums and products of smooth, periodic, linear and white processes."""
    result = np.zeros((count, length))
    for number in range(rng.integers(2, 5)):
        part = pick(rng, count, length, spans, (smooth, season, line), (0.4, 0.45, 0.15))
        # A part is added, or one in four (but not the first) multiplies the sum of those before.
        is_factor = (rng.random((count, 1)) < 0.25) & (number > 0)
        summand = np.where(is_factor, 0, part * sizes(rng, count))
        result = result * np.where(is_factor, 1 + 0.5 * part, 1) + summand
    return result + noise(rng, count, length) * sizes(rng, count, -3, 0)


def trend_season(rng, count, length, spans):
    """Return the sum or product of a trend, one or two seasons, and a remainder."""
    trend = pick(rng, count, length, spans, (line, smooth, saturation, walk))
    cycles = two_seasons(rng, count, length, spans)
    grows = rng.random((count, 1)) < 0.3
    cycles = cycles * sizes(rng, count) * (1 + 0.3 * grows * trend)
    remainder = noise(rng, count, length) * sizes(rng, count, -2, 0.3)
    series = trend * sizes(rng, count) + cycles + remainder
    is_product = rng.random((count, 1)) < 0.4
    return np.where(is_product, np.exp(np.clip(0.5 * series, -8, 8)), series)


def autoregression(rng, count, length, spans):
    """Return ARMA processes, some with a seasonal random walk, integrated up to twice."""
    series = np.empty((count, length))
    period = periods(rng, count, spans)
    # The shocks are twice as long as needed: the first half lets the filters forget their start.
    for row, x in enumerate(shocks(rng, count, 2 * length)):
        roots = rng.uniform(-0.98, 0.98, rng.integers(0, 4))
        x = lfilter([1.0, *rng.uniform(-0.9, 0.9, rng.integers(0, 3))], np.poly(roots), x)
        if rng.random() < 0.4:
            gap = np.zeros(period[row] - 1)
            root = rng.choice([1.0, rng.uniform(0.7, 1.0)])
            x = lfilter([1.0, *gap, -rng.uniform(0, 0.9)], [1.0, *gap, -root], x)
        x = x[-length:]
        for _ in range(rng.choice([0, 1, 2], p=[0.45, 0.45, 0.1])):
            drift = 0.1 * rng.normal() * x.std() * (rng.random() < 0.5)
            damping = rng.choice([1.0, rng.uniform(0.8, 1.0)])
            x = lfilter([1.0], [1.0, -damping], x - x.mean() + drift)
        series[row] = x
    return series


def counts_and_spikes(rng, count, length, spans):
    """Return counts at various rates, some mostly 0, and spikes at roughly regular times."""
    rate = np.exp(
        rng.uniform(-2, 5, (count, 1))
        + 0.6 * rng.random((count, 1)) * two_seasons(rng, count, length, spans)
        + 0.4 * rng.random((count, 1)) * smooth(rng, count, length, spans)
    )
    # Gamma rates give negative binomial counts; the demand is 0 except with some probability.
    shape = sizes(rng, count, -0.3, 2)
    is_spread = rng.random((count, 1)) < 0.6
    rate = np.where(is_spread, rng.gamma(shape, 1 / shape, rate.shape), 1) * rate
    chance = np.where(rng.random((count, 1)) < 0.6, 1, rng.uniform(0.05, 0.9, (count, 1)))
    demand = rng.poisson(np.minimum(rate, 1e6)) * (rng.random(rate.shape) < chance)
    # Spikes at regular times, with heights that vary.
    period = periods(rng, count, spans)[:, None]
    is_time = (np.arange(length) + rng.integers(0, 400, (count, 1))) % period == 0
    heights = np.exp(rng.normal(size=rate.shape) * rng.uniform(0, 0.5, (count, 1)))
    spikes = is_time * heights + 0.1 * rng.random((count, 1)) * noise(rng, count, length)
    return np.where(rng.random((count, 1)) < 0.75, demand, spikes)


def chaos(rng, count, length, spans):
    """Return logistic maps, Lorenz flows and mean-reverting processes, with some noise."""
    kinds = rng.integers(0, 3, count)
    growth, x = rng.uniform(3.5, 4.0, count), rng.uniform(0.2, 0.8, count)
    flow = rng.normal(size=(3, count)) + np.array([[0.0], [0.0], [25.0]])
    pace = 10 ** rng.uniform(-2.5, -1.6, count)
    pull, level = 10 ** rng.uniform(-2.5, -0.2, count), np.zeros(count)
    white = rng.normal(size=(2, count, length))
    series = np.empty((count, length))
    for step in range(length):
        x = growth * x * (1 - x)
        a, b, c = flow
        change = np.stack([10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c])
        flow = np.clip(flow + pace * change, -60, 60)
        level = level * (1 - pull) + white[0, :, step]
        series[:, step] = np.select([kinds == 0, kinds == 1], [x, flow[0] / 8], level)
    return series + white[1] * sizes(rng, count, -3, -0.7)


def steps_and_regimes(rng, count, length, spans):
    """Return levels that jump, on-off signals, and changes of the noise, some with a season."""
    chance = rng.uniform(0.5, 8, (count, 1)) / spans[:, None]
    jumps = rng.random((count, length)) < chance
    regime = np.cumsum(jumps, axis=1) % 2
    level = np.cumsum(jumps * rng.standard_t(3, (count, length)), axis=1)
    is_switch = rng.random((count, 1)) < 0.4
    level = np.where(is_switch, regime * sizes(rng, count), level)
    spread = np.where(rng.random((count, 1)) < 0.4, 0.3 + regime * 2, 1.0)
    remainder = noise(rng, count, length) * sizes(rng, count, -2.5, 0) * spread
    has_season = rng.random((count, 1)) < 0.6
    cycles = has_season * sizes(rng, count) * two_seasons(rng, count, length, spans)
    return level + remainder + cycles


GENERATORS = {
    make.__name__: make
    for make in (
        gaussian_process,
        trend_season,
        autoregression,
        counts_and_spikes,
        chaos,
        steps_and_regimes,
    )
}
