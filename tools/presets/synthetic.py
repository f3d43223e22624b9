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

from kerastrans.utils.random import draw_seed
from kerastrans.utils.validation import check_positive_integers

# Steps in an hour, a day, a week or a year at common frequencies.
PERIODS = np.array([4, 5, 6, 7, 10, 12, 13, 24, 26, 30, 48, 52, 60, 96, 144, 168, 288, 336, 365])
# A season and its number in a longer season: (24, 7) is the hours of a day and the days of a week.
PAIRS = np.array([(24, 7), (24, 7), (48, 7), (7, 52), (12, 2), (4, 6), (96, 5), (144, 3), (24, 14)])
NUM_HARMONICS = 8
NUM_FEATURES = 12  # random features of a smooth process


def pick(rng, count, length, spans, makers, shares=None):
    """Return rows from several generators, chosen at random with these shares."""
    kinds = rng.choice(len(makers), size=count, p=shares)
    return fill(kinds, length, makers, lambda make, rows: make(rng, len(rows), length, spans[rows]))


def fill(kinds, length, makers, draw):
    """Return series of several generators.

    Args:
        kinds: int array `(count,)`, the generator of each row.
        length: int, number of steps of each series.
        makers: Iterable of generators.
        draw: Function of a generator and its rows, `(chosen,)`, that returns `(chosen, length)`.
    """
    result = np.empty((len(kinds), length))
    for kind, make in enumerate(makers):
        rows = np.flatnonzero(kinds == kind)
        if len(rows):
            result[rows] = draw(make, rows)
    return result


def sizes(rng, count, low=-1.0, high=0.5):
    """Return sizes `(count, 1)` whose decimal logarithms are uniform between `low` and `high`."""
    return 10 ** rng.uniform(low, high, (count, 1))


def smooth(rng, count, length, spans):
    """Return Gaussian processes, with a squared exponential kernel or a rougher one.

    They are approximated by random features: sums of cosines with random frequencies.
    """
    scale = spans[:, None] * 10 ** rng.uniform(-2, 0.3, (count, 1))
    speeds = rng.normal(size=(count, NUM_FEATURES)) / scale
    is_rough = rng.random((count, 1)) < 0.5
    speeds = np.where(is_rough, speeds / np.sqrt(rng.gamma(1.5, 1 / 1.5, speeds.shape)), speeds)
    angles = speeds[..., None] * np.arange(length, dtype="float32")
    angles += rng.uniform(0, 2 * np.pi, (count, NUM_FEATURES, 1))
    return np.cos(angles, dtype="float32").sum(axis=1) * np.sqrt(2 / NUM_FEATURES)


def line(rng, count, length, spans):
    """Return lines, or powers of time."""
    time = np.arange(-length + 1, 1) / spans[:, None] + 1
    power = np.where(rng.random((count, 1)) < 0.6, 1.0, rng.uniform(0.5, 3, (count, 1)))
    return 2 * rng.normal(size=(count, 1)) * np.sign(time) * np.abs(time) ** power


def saturation(rng, count, length, spans):
    """Return growth that saturates, or a line that bends."""
    time = np.arange(-length + 1, 1) / spans[:, None] + 1
    middle, pace = rng.uniform(0, 1.2, (count, 1)), 10 ** rng.uniform(0.3, 1.5, (count, 1))
    curve = np.tanh(pace * (time - middle))
    bend = np.maximum(time - middle, 0) * 3 + time * rng.normal(size=(count, 1))
    return np.where(rng.random((count, 1)) < 0.5, curve, bend) * rng.choice([-1, 1], (count, 1))


def walk(rng, count, length, spans):
    """Return random walks, some with a drift, and some with a slope that is a random walk too."""
    steps = shocks(rng, count, length) / np.sqrt(spans)[:, None]
    slope = np.cumsum(steps * 0.3, axis=1) * (rng.random((count, 1)) < 0.3)
    drift = rng.normal(size=(count, 1)) / spans[:, None] * (rng.random((count, 1)) < 0.7)
    return np.cumsum(steps + drift * 2 + slope * 5 / spans[:, None], axis=1)


def shocks(rng, count, length):
    """Return white noise, normal or with heavier tails."""
    x = rng.normal(size=(count, length))
    heavy = rng.random((count, 1)) < 0.35
    chi = rng.chisquare(rng.uniform(3, 10, (count, 1)), (count, length))
    return np.where(heavy, x * np.sqrt(4 / np.maximum(chi, 0.05)), x)


def noise(rng, count, length):
    """Return noise of unit size, white or autocorrelated."""
    memory = np.where(rng.random(count) < 0.5, 0.0, rng.uniform(-0.3, 0.95, count))
    white = shocks(rng, count, length)
    rows = [
        lfilter([np.sqrt(1 - rho**2)], [1, -rho], row) if rho else row
        for rho, row in zip(memory, white, strict=True)
    ]
    return np.stack(rows)


def periods(rng, count, spans):
    """Return integer periods `(count,)`, most of them at most half as long as their spans."""
    longest = np.maximum(2, np.minimum(512, spans * np.where(rng.random(count) < 0.9, 0.45, 1.0)))
    usual = rng.choice(PERIODS, size=count)
    free = np.exp(rng.uniform(np.log(2), np.log(longest + 1)))
    # Replace a common period that is too long by one that fits.
    chosen = np.where((rng.random(count) < 0.6) & (usual <= longest), usual, free)
    return np.maximum(2, chosen.astype(int))


def wave(rng, count, phases):
    """Return a periodic pattern of the phase in [0, 1): smooth, sharp, clipped or on-off."""
    phases = (phases + rng.random((count, 1))) % 1
    decay = rng.uniform(0.5, 2.5, (count, 1))
    result = np.zeros_like(phases)
    for j in range(1, NUM_HARMONICS + 1):
        size = rng.normal(size=(count, 1)) / j**decay
        if j > 1:
            size *= rng.random((count, 1)) < 0.7
        result += size * np.cos(2 * np.pi * (j * phases + rng.random((count, 1))))
    kind = rng.integers(0, 6, (count, 1))
    cut = np.maximum(result - rng.uniform(-1, 0.7, (count, 1)), 0)
    sharp = np.exp(np.minimum(1.5 * result, 4)) / 2
    return np.select([kind == 0, kind == 1, kind == 2], [cut, sharp, np.sign(result)], result)


def season(rng, count, length, spans):
    """Return one season, whose size changes slowly in some series."""
    period = periods(rng, count, spans)[:, None]
    step = np.arange(length)
    pattern = wave(rng, count, step % period / period)
    changes = rng.random((count, 1)) < 0.3
    drifting = 1 + 0.5 * changes * smooth(rng, count, length, spans)
    return pattern * drifting


def two_seasons(rng, count, length, spans):
    """Return one season, in some series with a longer season that consists of several of it."""
    pairs = PAIRS[rng.integers(0, len(PAIRS), count)]
    fits = (pairs.prod(axis=1) < spans) & (rng.random(count) < 0.5)
    result = season(rng, count, length, spans)
    if fits.any():
        number, rows = fits.sum(), np.flatnonzero(fits)
        period, many = pairs[rows].T[..., None]
        step = np.arange(length) + rng.integers(0, 10_000, (number, 1))
        shorter = wave(rng, number, step % period / period)
        place = step // period % many
        # Either some of the shorter seasons differ, as weekends do, or a slow wave is added.
        rests = np.where(
            place >= many - np.maximum(1, many // 4), rng.uniform(-1, 1, (number, 1)), 1
        )
        slow = wave(rng, number, step % (period * many) / (period * many))
        is_rest = rng.random((number, 1)) < 0.6
        share = rng.uniform(0.1, 1, (number, 1))
        result[rows] = np.where(is_rest, shorter * rests + share * rests, shorter + share * slow)
    return result


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
