"""Parts of synthetic series: trends, seasons and noise, `(count, length)` each, of unit size."""

import numpy as np
from scipy.signal import lfilter

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
