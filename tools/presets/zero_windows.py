"""Windows of made series, as kerastrans-zero is trained on them."""

import numpy as np

from tools.presets.synthetic import synthetic_series

SERIES = 60  # made at once, of one length
WINDOWS = 5  # cut from each
POOL = 16  # times as many series are mixed
SHORT = 100  # steps: as many as yearly to monthly series have
STEPS = 16  # of the future, of each window
LAGS = (1, 4, 7, 12, 24, 48, 96, 144, 168)  # of the naive errors
SMALLEST_UNIT = 0.02
LARGEST = 20.0


def draw_windows(batch, context_length, seed):
    """Batches without end: ([values, observed, steps], targets and their units), all scaled."""
    rng = np.random.default_rng(seed)
    pool = []
    while True:
        while len(pool) < POOL * SERIES * WINDOWS:
            pool += make(rng, context_length)
        order = rng.permutation(len(pool))
        taken = [pool[i] for i in order[:batch]]
        pool = [pool[i] for i in order[batch:]]
        values, observed, steps, targets = (np.stack(part) for part in zip(*taken, strict=True))
        yield [values, observed, steps], targets


def make(rng, context_length, draw=synthetic_series, span=None):
    """Windows of some series that `draw` makes and that are seen for about as many steps."""
    span = draw_span(rng, context_length) if span is None else span
    horizon = int(np.exp(rng.uniform(np.log(4), np.log(min(300, 2 * span + 4)))))
    length = min(int(1.5 * span), context_length) + horizon + 2 * WINDOWS
    series = draw(SERIES, length, rng, spans=np.full(SERIES, span))
    mix = rng.random(SERIES) < 0.15
    shares = rng.uniform(0.2, 0.8, (SERIES, 1))
    series_scaled = scaled(series)
    mixed = shares * series_scaled + (1 - shares) * series_scaled[rng.permutation(SERIES)]
    series = np.where(mix[:, None], mixed, series)
    windows = []
    for row in series:
        row = spoiled(rng, row)
        for end in rng.integers(max(8, length // 2 - horizon), length - horizon + 1, WINDOWS):
            size = min(end, context_length, int(span * rng.uniform(0.6, 1.4)) + 4)
            window = cut(rng, row[end - size : end], row[end : end + horizon], context_length)
            if window is not None:
                windows.append(window)
    return windows


def draw_span(rng, context_length):
    """How many steps series are seen for."""
    longest = context_length if rng.random() < 0.6 else SHORT
    return int(np.exp(rng.uniform(np.log(8), np.log(longest))))


def spoiled(rng, row):
    """A series as it may come: upside down, rounded, cut off, with outliers."""
    size = row.std() + 1e-9
    if rng.random() < 0.15:
        row = -row
    if rng.random() < 0.15:
        grain = size * 10 ** rng.uniform(-2, 0)
        row = np.round(row / grain) * grain
    if rng.random() < 0.1:
        row = np.maximum(row, np.quantile(row, rng.uniform(0, 0.6)))
    if rng.random() < 0.1:
        hits = rng.random(len(row)) < rng.uniform(0.001, 0.02)
        row = row + hits * rng.normal(size=len(row)) * size * rng.uniform(2, 8)
    return row


def cut(rng, past, future, context_length):
    """One window: scaled values, where they are seen, some steps, their targets and units."""
    seen = np.ones(len(past))
    if rng.random() < 0.15:
        seen = (rng.random(len(past)) >= rng.uniform(0, 0.6)).astype(float)
    if rng.random() < 0.05:
        start, stop = np.sort(rng.integers(0, len(past) + 1, 2))
        seen[start:stop] = 0
    if seen.sum() < 3:
        return None
    mean = past[seen > 0].mean()
    size = past[seen > 0].std()
    if not size > 1e-6 * (1 + abs(mean)):
        return None
    x = (past - mean) / size
    # What a seasonal naive forecast would miss, at the end of the future.
    gaps = {lag * -(-len(future) // lag) for lag in LAGS}
    errors = [np.abs(x[gap:] - x[:-gap]).mean() for gap in gaps if 3 * gap <= 2 * len(x)]
    unit = min([1.0, *errors]) + SMALLEST_UNIT
    steps = rng.integers(1, len(future) + 1, STEPS)
    targets = np.clip((future[steps - 1] - mean) / size, -LARGEST, LARGEST)
    values, observed = np.zeros((2, context_length), "float32")
    values[-len(past) :], observed[-len(past) :] = x * seen, seen
    return (
        values,
        observed,
        steps.astype("float32"),
        np.stack([targets, np.full(STEPS, unit)], axis=-1).astype("float32"),
    )


def scaled(x):
    """Rows of mean 0 and deviation 1."""
    return (x - x.mean(axis=1, keepdims=True)) / (x.std(axis=1, keepdims=True) + 1e-9)
