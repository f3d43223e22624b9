"""Eleven more families of made series, in addition to the six that version 1 was trained on.

Each takes a generator, `Strata` and a length, and returns `(count, length)`.

Sources: sums of SARIMA processes with stable roots and noise of a rate after SarSim0 (2026);
regime-switching mean reversion after Moroshan et al. (2025), TempoPFN; causal mixes after CauKer
(2025); equal shares after "Mix, Don't Pick" (2026).
"""

import numpy as np
from scipy.signal import lfilter

from tools.presets.synthetic import (
    GENERATORS,
    NUM_HARMONICS,
    fill,
    line,
    noise,
    periods,
    pick,
    saturation,
    season,
    shocks,
    smooth,
    two_seasons,
    walk,
    wave,
)
from tools.presets.zero2.strata import draw_strata

TRENDS = (line, smooth, saturation, walk)


def draw_series(count, length, rng, spans, more=()):
    """Series of all families, old and new, in equal shares and random order.

    Families named in `more`, once for each time, have a larger share.
    """
    strata = draw_strata(rng, spans)
    makers = [*FAMILIES.values(), *(FAMILIES[name] for name in more)]
    kinds = (rng.permutation(count) + rng.integers(len(makers))) % len(makers)
    return fill(kinds, length, makers, lambda make, rows: make(rng, strata.rows(rows), length))


def signal(rng, strata, length):
    """Trend and seasons of the strata's sizes, sums or products of unit size, without noise."""
    count = len(strata)
    trend = strata.trend * _unit(pick(rng, count, length, strata.spans, TRENDS))
    cycles = strata.season * two_seasons(rng, count, length, strata.spans)
    grows = 0.3 * (rng.random((count, 1)) < 0.3) * np.clip(trend, -3, 3)
    return trend + cycles * (1 + grows)


def sarima_sums(rng, strata, length):
    """Sums of two or three SARIMA processes whose roots lie inside the unit circle."""
    count = len(strata)
    series = strata.trend * _unit(pick(rng, count, length, strata.spans, TRENDS))
    for row in range(count):
        for number in range(rng.integers(2, 4)):
            period = int(periods(rng, 1, strata.spans[row : row + 1])[0])
            x = lfilter(_polynomial(rng, 0.9), _polynomial(rng, 0.99), _heavy(rng, 2 * length))
            if number == 0 and strata.season[row] > 0:
                gap = np.zeros(period - 1)
                root = 1 - 10 ** rng.uniform(-3, -0.7)
                x = lfilter([1.0, *gap, -rng.uniform(0, 0.8)], [1.0, *gap, -root], x)
            size = (strata.season if number == 0 else strata.noise)[row]
            series[row] += max(size[0], 0.05) * _unit(x[None, -length:])[0]
    return series


def regimes(rng, strata, length):
    """Mean reversion to a season, whose level, pull and noise switch, with jumps that decay."""
    count = len(strata)
    chance = rng.uniform(0.5, 8, (count, 1)) / strata.spans[:, None]
    kind = np.cumsum(rng.random((count, length)) < chance, axis=1) % 3
    rows = np.arange(count)[:, None]
    level = (strata.trend * rng.normal(size=(count, 3)))[rows, kind]
    pull = (10 ** rng.uniform(-2, -0.1, (count, 3)))[rows, kind]
    spread = (strata.noise * 10 ** rng.uniform(-0.5, 0.5, (count, 3)))[rows, kind]
    cycles = strata.season * two_seasons(rng, count, length, strata.spans)
    jumps = rng.random((count, length)) < 10 ** rng.uniform(-3, -1.3, (count, 1))
    up = np.where(rng.random((count, 1)) < 0.5, 1.0, rng.choice([-1, 1], (count, length)))
    jumps = jumps * up * rng.exponential(size=(count, length)) * 6 * strata.noise
    steps = spread * shocks(rng, count, length) + jumps
    away, series = np.zeros(count), np.empty((count, length))
    mean = level[:, 0].copy()
    for step in range(length):
        mean += 0.3 * (level[:, step] - mean)
        away = away * (1 - pull[:, step]) + steps[:, step]
        series[:, step] = mean + away
    return series + cycles


def rates(rng, strata, length):
    """Poisson and negative binomial counts at rates with trend and season."""
    count = len(strata)
    height = rng.uniform(-1, 7, (count, 1))
    rate = np.exp(np.clip(height + 0.3 * signal(rng, strata, length), -6, 12))
    shape = 1 / np.maximum(strata.noise, 0.02) ** 2
    is_spread = rng.random((count, 1)) < 0.6
    rate = rate * np.where(is_spread, rng.gamma(shape, 1 / shape, rate.shape), 1)
    return rng.poisson(np.minimum(rate, 1e6)).astype(float)


def capped(rng, strata, length):
    """Series that a floor or a capacity cuts off, such as sales of a stock or light at night."""
    count = len(strata)
    series = signal(rng, strata, length) + strata.noise * noise(rng, count, length)
    size = series.std(axis=1, keepdims=True)
    middle = np.median(series, axis=1, keepdims=True)
    cap = middle + size * rng.uniform(-0.3, 1.5, (count, 1))
    moves = rng.random((count, 1)) < 0.3  # a capacity that is extended from time to time
    chance = 2 / strata.spans[:, None]
    cap = cap + moves * 0.5 * size * np.cumsum(rng.random((count, length)) < chance, axis=1)
    kind = rng.integers(0, 3, (count, 1))
    floor = middle - size * rng.uniform(-0.5, 1.2, (count, 1))
    high = np.where(kind == 1, np.inf, cap)
    return np.clip(series, np.where(kind == 0, -np.inf, np.minimum(floor, high)), high)


def causal_mixes(rng, strata, length):
    """A node of a graph of causes: functions of sums of delayed parents."""
    count, nodes = len(strata), []
    for number in range(5):
        root = signal(rng, strata, length) + strata.noise * noise(rng, count, length)
        if number < 2:
            nodes.append(_unit(root))
            continue
        total = 0.3 * _unit(root)
        for parent in nodes:
            delay = int(rng.integers(0, 13))
            weight = rng.normal(size=(count, 1)) * (rng.random((count, 1)) < 0.7)
            total = total + weight * np.roll(parent, delay, axis=1)
        kind = rng.integers(0, 4, (count, 1))
        shapes = [np.tanh(total), np.maximum(total, 0), np.exp(np.clip(total, -3, 3))]
        nodes.append(_unit(np.select([kind == 0, kind == 1, kind == 2], shapes, total)))
    return nodes[-1] + 0.2 * strata.noise * noise(rng, count, length)


def intermittent(rng, strata, length):
    """Demand that is mostly 0, whose chance has trend and season, in sizes of their own."""
    count = len(strata)
    odds = rng.uniform(-3.5, 1, (count, 1)) + 0.5 * signal(rng, strata, length)
    demand = rng.random((count, length)) < 1 / (1 + np.exp(-np.clip(odds, -20, 20)))
    height = np.exp(rng.uniform(0, 3, (count, 1)))
    amounts = height * np.exp(strata.noise * rng.normal(size=(count, length)))
    whole = np.where(rng.random((count, 1)) < 0.7, np.ceil(amounts), amounts)
    return np.where(demand, whole, 0.0)


def evolving_seasons(rng, strata, length):
    """Two or three seasons whose shapes move on, around a level that walks: prices, loads."""
    count = len(strata)
    level = strata.trend * _unit(walk(rng, count, length, strata.spans))
    level = level + 0.3 * strata.trend * _unit(smooth(rng, count, length, strata.spans))
    cycles = two_seasons(rng, count, length, strata.spans)
    other = season(rng, count, length, strata.spans)
    share = 1 / (1 + np.exp(-2 * smooth(rng, count, length, strata.spans)))
    moves = rng.random((count, 1)) < 0.6
    cycles = np.where(moves, share * cycles + (1 - share) * other, cycles)
    cycles = strata.season * cycles * (1 + 0.4 * smooth(rng, count, length, strata.spans))
    series = level + cycles + strata.noise * noise(rng, count, length)
    is_product = rng.random((count, 1)) < 0.4
    return np.where(is_product, np.exp(np.clip(0.4 * series, -6, 6)), series)


def heavy_tails(rng, strata, length):
    """Trend and season with noise of few, very large values, on both sides or on one."""
    count = len(strata)
    freedom = rng.uniform(1.2, 4, (count, 1))
    chi = rng.chisquare(freedom, (count, length)) / freedom
    x = rng.normal(size=(count, length)) / np.sqrt(np.maximum(chi, 1e-3))
    skewed = np.exp(np.minimum(rng.uniform(0.5, 1.3, (count, 1)) * x, 4)) - 1
    x = np.where(rng.random((count, 1)) < 0.5, np.clip(x, -40, 40), skewed)
    memory = np.where(rng.random(count) < 0.5, 0.0, rng.uniform(0.2, 0.9, count))
    x = np.stack([lfilter([1.0], [1, -rho], row) for rho, row in zip(memory, x, strict=True)])
    return signal(rng, strata, length) + strata.noise * x


def phase_noise(rng, strata, length):
    """Noise whose size depends on the phase: calm nights, restless days."""
    count = len(strata)
    period = periods(rng, count, strata.spans)[:, None]
    phases = (np.arange(length) + rng.integers(0, 10_000, (count, 1))) % period / period
    pattern = _unit(wave(rng, count, phases))
    # Half of the sizes are on and off, half vary smoothly: by a factor of 2 to 20.
    is_sharp = rng.random((count, 1)) < 0.5
    pattern = np.where(is_sharp, np.sign(pattern - rng.uniform(-1, 1, (count, 1))), pattern)
    spread = np.exp(np.clip(rng.uniform(0.3, 1.5, (count, 1)) * pattern, -3, 3))
    cycles = strata.season * wave(rng, count, phases)
    trend = strata.trend * _unit(pick(rng, count, length, strata.spans, TRENDS))
    return trend + cycles + np.maximum(strata.noise, 0.1) * spread * noise(rng, count, length)


def prices(rng, strata, length):
    """Days of several types, whose levels and shapes revert from day to day, with spikes."""
    count = len(strata)
    day = periods(rng, count, np.maximum(strata.spans // 2, 4))
    week = rng.choice([1, 5, 7, 7, 7, 14], count)
    sizes = strata.season, strata.trend, strata.noise
    rows = [
        _days(rng, length, *row) for row in zip(day, week, *(x[:, 0] for x in sizes), strict=True)
    ]
    series = np.stack(rows)
    is_product = rng.random((count, 1)) < 0.3
    return np.where(is_product, np.exp(np.clip(0.5 * series, -6, 6)), series)


def yearly(rng, strata, length):
    """Few values without season: drifts that change, damped slopes, growth, breaks."""
    count = len(strata)
    span = strata.spans[:, None]
    steps = shocks(rng, count, length) * np.maximum(strata.noise, 0.1)
    slope_steps = (rng.random((count, length)) < 4 / span) * rng.normal(size=(count, length))
    damping = np.where(rng.random(count) < 0.5, 1.0, rng.uniform(0.8, 1.0, count))
    moves = np.where(rng.random((count, 1)) < 0.5, slope_steps, 0.3 * steps)
    start = rng.normal(size=(count, 1)) * (np.arange(length) == 0)
    slopes = [
        lfilter([1.0], [1, -rho], row) for rho, row in zip(damping, moves + start, strict=True)
    ]
    drift = strata.trend * 4 / span * (np.stack(slopes) + rng.normal(size=(count, 1)))
    breaks = (rng.random((count, length)) < 1.5 / span) * rng.standard_t(3, (count, length))
    has_breaks = rng.random((count, 1)) < 0.3
    series = np.cumsum(drift + steps + has_breaks * breaks, axis=1)
    white = rng.random((count, 1)) < 0.5
    series = series + white * strata.noise * rng.normal(size=(count, length))
    grows = rng.random((count, 1)) < 0.4
    return np.where(grows, np.exp(np.clip(0.3 * series, -8, 8)), series)


def _days(rng, length, day, week, season, trend, noise):
    """One series: a day has so many steps, a week so many days."""
    steps = np.arange(length) + rng.integers(day * week)
    number = steps // day - steps[0] // day
    weekday = np.arange(number[-1] + 2) + steps[0] // day
    # Shapes of a day are sums of harmonics; those of some days of a week differ.
    angles = 2 * np.pi * np.arange(day) / day * np.arange(1, NUM_HARMONICS + 1)[:, None]
    waves = np.concatenate([np.cos(angles), np.sin(angles)])
    weights = np.tile(np.arange(1.0, NUM_HARMONICS + 1) ** -rng.uniform(0.7, 2), 2)
    is_rest = weekday % week >= week - max(1, week // 4) if week > 1 else np.zeros(len(weekday))
    shapes = weights * rng.normal(size=(2, len(weights)))
    shapes[1] = shapes[0] + rng.uniform(0, 1) * (shapes[1] - shapes[0])
    fall = season * rng.normal() * rng.uniform(0, 1.5)
    # Deviations of a day's level and shape pass to the next day in part.
    level = trend * _revert(rng, len(weekday), 1)[:, 0] - fall * is_rest
    change = rng.uniform(0.1, 0.8) * weights * _revert(rng, len(weekday), len(weights))
    chosen = np.where(np.array(is_rest, bool)[:, None], shapes[1], shapes[0])
    days = season * chosen + max(season, noise) * change
    series = np.einsum("nk,kn->n", days[number], waves[:, steps % day])
    share = steps % day / day if rng.random() < 0.5 else 0.0  # the level moves, or jumps
    series = series + (1 - share) * level[number] + share * level[number + 1]
    spikes = rng.random(length) < 10 ** rng.uniform(-3.5, -1.5)
    spikes = lfilter([1.0], [1, -rng.uniform(0, 0.8)], spikes * rng.exponential(size=length))
    rough = np.exp(rng.uniform(0, 0.8) * waves[rng.integers(len(waves)), steps % day])
    within = lfilter([1.0], [1, -rng.uniform(0, 0.95)], _heavy(rng, length))
    within = noise * rough * within / (within.std() + 1e-9)
    return series + within + rng.choice([-1, 1, 1]) * 6 * noise * spikes


def _revert(rng, number, count):
    """Autoregressions of unit size that forget in days or in months, some with few large steps."""
    memory = 1 - 10 ** rng.uniform(-2, -0.1)
    x = lfilter([1.0], [1, -memory], shocks(rng, count, number + 50))[:, 50:].T
    return x * np.sqrt(1 - memory**2)


def _unit(x):
    """Rows of mean 0 and deviation 1."""
    return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1e-9)


def _heavy(rng, length):
    return shocks(rng, 1, length)[0]


def _polynomial(rng, largest):
    """One with up to two pairs of complex roots and a real one, all at most so large."""
    roots = []
    for _ in range(rng.integers(0, 3)):
        root = largest * np.sqrt(rng.random()) * np.exp(1j * rng.uniform(0, np.pi))
        roots += [root, np.conj(root)]
    if rng.random() < 0.7:
        roots.append(largest * rng.choice([-0.5, 1, 1, 1]) * np.sqrt(rng.random()))
    return np.real(np.poly(roots)) if roots else np.ones(1)


def _of_version_1(make):
    return lambda rng, strata, length: make(rng, len(strata), length, strata.spans)


NEW = {
    make.__name__: make
    for make in (
        sarima_sums,
        regimes,
        rates,
        capped,
        causal_mixes,
        intermittent,
        evolving_seasons,
        heavy_tails,
        phase_noise,
        prices,
        yearly,
    )
}
FAMILIES = {**{name: _of_version_1(make) for name, make in GENERATORS.items()}, **NEW}
