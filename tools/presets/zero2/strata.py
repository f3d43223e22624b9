"""How strong season, trend and noise are: each combination as often as any other."""

from dataclasses import dataclass

import numpy as np

# Smallest and largest size of each level, drawn with uniform logarithms; 0 is none.
SEASONS = ((0, 0), (0.2, 1), (1, 4))
TRENDS = ((0, 0), (0.2, 1), (1, 4))
NOISES = ((0.02, 0.1), (0.1, 0.5), (0.5, 2))
# Numbers of steps that a series is seen for: one class is as likely as another.
SPANS = ((8, 24), (24, 64), (64, 160), (160, 400), (400, 1024))


@dataclass(frozen=True)
class Strata:
    """What rows of series look like.

    Attributes:
        spans: int array `(count,)`, steps over which each series changes as a whole.
        season: Sizes `(count, 1)` of the season.
        trend: Sizes `(count, 1)` of the trend.
        noise: Sizes `(count, 1)` of the noise.
    """

    spans: np.ndarray
    season: np.ndarray
    trend: np.ndarray
    noise: np.ndarray

    def __len__(self):
        return len(self.spans)

    def rows(self, chosen):
        """Those of some rows."""
        return Strata(*(x[chosen] for x in (self.spans, self.season, self.trend, self.noise)))


def draw_strata(rng, spans):
    """Draw the strata of rows with these spans: 27 combinations in turn, from a random one on."""
    place = (np.arange(len(spans)) + rng.integers(27)) % 27
    levels = np.unravel_index(place, (3, 3, 3))
    sizes = [_sizes(rng, kind, level) for kind, level in zip(KINDS, levels, strict=True)]
    return Strata(np.asarray(spans), *sizes)


def draw_span(rng):
    """Draw the number of steps that series are seen for."""
    low, high = SPANS[rng.integers(len(SPANS))]
    return int(np.exp(rng.uniform(np.log(low), np.log(high))))


def _sizes(rng, bounds, level):
    low, high = np.array(bounds, float)[level].T
    share = rng.random(len(level))
    sizes = np.exp((1 - share) * np.log(low + 1e-9) + share * np.log(high + 1e-9))
    return np.where(high > 0, sizes, 0.0)[:, None]


KINDS = (SEASONS, TRENDS, NOISES)
