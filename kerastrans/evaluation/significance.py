"""Whether one forecast is better than another by more than chance."""

import numpy as np
from scipy import stats

LEVEL = 0.05  # of p-values, up to which a difference is called one
MIN_BLOCKS = 4
MAX_BLOCKS = 12


def time_blocks(origins, ends):
    """Blocks of origins whose forecasts have no true value in common with those of other blocks.

    Forecasts that follow each other without an overlap, as many as there is room for, are joined
    to 12 blocks at most, of which each has as many as the others or one more. A block holds all
    origins whose forecasts are inside it. Fewer and longer blocks than there could be cost next to
    little (the critical value of t is 2.20 with 12 blocks, 1.96 with thousands), and differences
    that persist for longer than a forecast are less correlated between them. Of a true null with
    an autocorrelation of 0.9 from one origin to the next, 6 % are rejected at 5 % with 1000
    origins and one step ahead, but 15 % with 200.

    Args:
        origins: `(origins,)`, time stamps or numbers, increasing.
        ends: `(origins,)`, the last step that is forecast from each.

    Returns:
        `(origins,)` of ints: the block of each origin, from 0, or -1 for those between blocks.

    Example:
        >>> origins = np.arange(7)
        >>> time_blocks(origins, origins + 3).tolist()  # every third
        [0, -1, -1, 1, -1, -1, 2]
    """
    origins, ends = np.asarray(origins), np.asarray(ends)
    chain = []
    for i in range(len(origins)):
        if not chain or origins[i] >= ends[chain[-1]]:
            chain.append(i)
    blocks = np.full(len(origins), -1)
    for number, part in enumerate(np.array_split(chain, min(MAX_BLOCKS, len(chain)))):
        first, last = part[0], part[-1]
        blocks[(origins >= origins[first]) & (ends <= ends[last])] = number
    return blocks


def diebold_mariano(differences, blocks):
    """Whether two forecasts are equally good: a t-test of the means of blocks of time.

    Args:
        differences: `(origins, ...)`, loss of the one minus loss of the other, of each origin the
            mean over its series and steps. Further axes are tests of their own.
        blocks: `(origins,)`, as `time_blocks` returns them.

    Returns:
        `(statistic, p)`, two-sided, each of the further axes' shape; the statistic is negative
        where the first is better. p is 1 where all losses are equal. Both are NaN for fewer than
        4 blocks.

    Example:
        >>> statistic, p = diebold_mariano([-1.0, -2.0, -1.5, -1.2], [0, 1, 2, 3])
        >>> bool(statistic < 0), bool(p < 0.05)
        (True, True)

    Source: Diebold, Mariano (1995), with the t-test of means of groups of Ibragimov,
    Mueller (2010) in place of an estimate of the long-run variance, which is too small where
    origins overlap.
    """
    differences, blocks = np.asarray(differences, "float64"), np.asarray(blocks)
    count = blocks.max(initial=-1) + 1
    if count < MIN_BLOCKS:
        nothing = np.full(differences.shape[1:], np.nan)
        return nothing[()], nothing[()]
    means = np.stack([differences[blocks == block].mean(axis=0) for block in range(count)])
    mean, spread = means.mean(axis=0), means.std(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = mean / (spread / np.sqrt(count))
    statistic = np.where((mean == 0) & (spread == 0), 0.0, statistic)[()]
    return statistic, 2 * stats.t.sf(np.abs(statistic), count - 1)


def holm(p):
    """p-values of several tests, adjusted so that one in twenty families has a false finding.

    Args:
        p: `(tests,)`; NaN for those that were not made, which do not count.

    Returns:
        `(tests,)`: each times the number of those that are not smaller, and never below the
        adjusted one of a smaller p.

    Source: Holm (1979).

    Example:
        >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
        [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, "float64")
    order = np.argsort(p)[: np.isfinite(p).sum()]
    factors = np.arange(len(order), 0, -1)
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted
