"""Parts of made series: trends, seasons, noise, `(count, length)` each and of about unit size."""

import numpy as np
from scipy.signal import lfilter

# Steps of an hour, a day, a week or a year at usual frequencies.
PERIODS = np.array([4, 5, 6, 7, 10, 12, 13, 24, 26, 30, 48, 52, 60, 96, 144, 168, 288, 336, 365])
# A season and how many of them make the longer one, such as hours of a day and days of a week.
PAIRS = np.array([(24, 7), (24, 7), (48, 7), (7, 52), (12, 2), (4, 6), (96, 5), (144, 3), (24, 14)])
HARMONICS = 8
FEATURES = 12  # of a smooth process


def pick(rng, count, length, spans, makers, shares=None):
    """Rows of several makers, each drawn by its share."""
    kinds = rng.choice(len(makers), size=count, p=shares)
    result = np.empty((count, length))
    for kind, make in enumerate(makers):
        rows = np.flatnonzero(kinds == kind)
        if len(rows):
            result[rows] = make(rng, len(rows), length, spans[rows])
    return result


def sizes(rng, count, low=-1.0, high=0.5):
    """Sizes `(count, 1)`, whose logarithms to the base 10 are even between two."""
    return 10 ** rng.uniform(low, high, (count, 1))


def smooth(rng, count, length, spans):
    """A Gaussian process with the kernel of squares, or one that is rougher, by random features."""
    scale = spans[:, None] * 10 ** rng.uniform(-2, 0.3, (count, 1))
    speeds = rng.normal(size=(count, FEATURES)) / scale
    is_rough = rng.random((count, 1)) < 0.5
    speeds = np.where(is_rough, speeds / np.sqrt(rng.gamma(1.5, 1 / 1.5, speeds.shape)), speeds)
    angles = speeds[..., None] * np.arange(length, dtype="float32")
    angles += rng.uniform(0, 2 * np.pi, (count, FEATURES, 1))
    return np.cos(angles, dtype="float32").sum(axis=1) * np.sqrt(2 / FEATURES)


def line(rng, count, length, spans):
    """A line, or a power of time."""
    time = np.arange(-length + 1, 1) / spans[:, None] + 1
    power = np.where(rng.random((count, 1)) < 0.6, 1.0, rng.uniform(0.5, 3, (count, 1)))
    return 2 * rng.normal(size=(count, 1)) * np.sign(time) * np.abs(time) ** power


def saturation(rng, count, length, spans):
    """Growth that comes to an end, or a bend from one line to another."""
    time = np.arange(-length + 1, 1) / spans[:, None] + 1
    middle, pace = rng.uniform(0, 1.2, (count, 1)), 10 ** rng.uniform(0.3, 1.5, (count, 1))
    curve = np.tanh(pace * (time - middle))
    bend = np.maximum(time - middle, 0) * 3 + time * rng.normal(size=(count, 1))
    return np.where(rng.random((count, 1)) < 0.5, curve, bend) * rng.choice([-1, 1], (count, 1))


def walk(rng, count, length, spans):
    """A random walk with a drift, and perhaps with a slope that walks too."""
    steps = shocks(rng, count, length) / np.sqrt(spans)[:, None]
    slope = np.cumsum(steps * 0.3, axis=1) * (rng.random((count, 1)) < 0.3)
    drift = rng.normal(size=(count, 1)) / spans[:, None] * (rng.random((count, 1)) < 0.7)
    return np.cumsum(steps + drift * 2 + slope * 5 / spans[:, None], axis=1)


def shocks(rng, count, length):
    """White noise: normal, or with heavier tails, and in some series larger at some times."""
    x = rng.normal(size=(count, length))
    heavy = rng.random((count, 1)) < 0.35
    chi = rng.chisquare(rng.uniform(3, 10, (count, 1)), (count, length))
    return np.where(heavy, x * np.sqrt(4 / np.maximum(chi, 0.05)), x)


def noise(rng, count, length):
    """Noise of unit size, white or with memory."""
    memory = np.where(rng.random(count) < 0.5, 0.0, rng.uniform(-0.3, 0.95, count))
    white = shocks(rng, count, length)
    rows = [
        lfilter([np.sqrt(1 - rho**2)], [1, -rho], row) if rho else row
        for rho, row in zip(memory, white, strict=True)
    ]
    return np.stack(rows)


def periods(rng, count, spans):
    """Whole periods `(count,)`, most of them seen at least twice in their spans."""
    longest = np.maximum(2, np.minimum(512, spans * np.where(rng.random(count) < 0.9, 0.45, 1.0)))
    usual = rng.choice(PERIODS, size=count)
    free = np.exp(rng.uniform(np.log(2), np.log(longest + 1)))
    # A usual one that is too long gives way to one that is not.
    found = np.where((rng.random(count) < 0.6) & (usual <= longest), usual, free)
    return np.maximum(2, found.astype(int))


def wave(rng, count, phases):
    """A pattern of the phase, which is in [0, 1): smooth, sharp, or on and off."""
    phases = (phases + rng.random((count, 1))) % 1
    decay = rng.uniform(0.5, 2.5, (count, 1))
    result = np.zeros_like(phases)
    for j in range(1, HARMONICS + 1):
        size = rng.normal(size=(count, 1)) / j**decay
        if j > 1:
            size *= rng.random((count, 1)) < 0.7
        result += size * np.cos(2 * np.pi * (j * phases + rng.random((count, 1))))
    kind = rng.integers(0, 6, (count, 1))
    cut = np.maximum(result - rng.uniform(-1, 0.7, (count, 1)), 0)
    sharp = np.exp(np.minimum(1.5 * result, 4)) / 2
    return np.select([kind == 0, kind == 1, kind == 2], [cut, sharp, np.sign(result)], result)


def season(rng, count, length, spans):
    """One season, which in some series changes slowly."""
    period = periods(rng, count, spans)[:, None]
    step = np.arange(length)
    pattern = wave(rng, count, step % period / period)
    changes = rng.random((count, 1)) < 0.3
    drifting = 1 + 0.5 * changes * smooth(rng, count, length, spans)
    return pattern * drifting


def two_seasons(rng, count, length, spans):
    """A season, and in some series a longer one of several of it, which differ."""
    pairs = PAIRS[rng.integers(0, len(PAIRS), count)]
    fits = (pairs.prod(axis=1) < spans) & (rng.random(count) < 0.5)
    result = season(rng, count, length, spans)
    if fits.any():
        number, rows = fits.sum(), np.flatnonzero(fits)
        period, many = pairs[rows].T[..., None]
        step = np.arange(length) + rng.integers(0, 10_000, (number, 1))
        shorter = wave(rng, number, step % period / period)
        place = step // period % many
        # Some of the shorter seasons differ, as a weekend does, or all are on a slow wave.
        rests = np.where(
            place >= many - np.maximum(1, many // 4), rng.uniform(-1, 1, (number, 1)), 1
        )
        slow = wave(rng, number, step % (period * many) / (period * many))
        is_rest = rng.random((number, 1)) < 0.6
        share = rng.uniform(0.1, 1, (number, 1))
        result[rows] = np.where(is_rest, shorter * rests + share * rests, shorter + share * slow)
    return result
