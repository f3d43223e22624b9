"""Few combinations of many options, in which every two values meet."""

import itertools
import random


def pairwise(options, is_allowed):
    """Combinations in which each pair of values occurs that some allowed combination has.

    Args:
        options: dict of name -> tuple of values.
        is_allowed: function of a combination, whether its values go together.

    Returns:
        List of dicts of name -> value, the same in every process.
    """
    rng = random.Random(0)
    missing = {
        pair
        for one, other in itertools.combinations(options, 2)
        for pair in itertools.product(
            itertools.product([one], options[one]), itertools.product([other], options[other])
        )
    }
    rows = []
    while missing:
        pair = min(missing, key=repr)
        candidates = [
            {name: rng.choice(values) for name, values in options.items()} | dict(pair)
            for _ in range(200)
        ]
        rows.append(
            max(
                filter(is_allowed, candidates),
                key=lambda row: len(missing.intersection(_pairs(row))),
                default=dict(pair),
            )
        )
        missing -= {pair, *_pairs(rows[-1])}
    return [row for row in rows if len(row) == len(options)]  # the others are never allowed


def _pairs(row):
    return itertools.combinations(row.items(), 2)
