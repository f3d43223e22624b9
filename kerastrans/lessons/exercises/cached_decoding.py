"""Exercises of lesson 7."""

import numpy as np

from kerastrans.lessons.exercise import Exercise
from kerastrans.lessons.exercises.attention import attention


def count_positions(num_steps):
    """Return how many positions the plain loop computes for num_steps steps."""
    return num_steps * (num_steps + 1) // 2


def attend_next(query, key, value, cache):
    """Attend to the cache and to the new step; return the result, the keys and the values."""
    keys, values = cache
    keys, values = np.concatenate([keys, key]), np.concatenate([values, value])
    exponentials = np.exp(query @ keys.T / np.sqrt(query.shape[-1]))
    return exponentials / exponentials.sum() @ values, keys, values


def _sees_only_earlier(query, key, value, cache):
    keys, values = cache
    result = attention(query, keys, values, np.ones((1, len(keys)), bool))
    return result, *attend_next(query, key, value, cache)[1:]


_random = np.random.default_rng(0)
STEP = tuple(_random.standard_normal((3, 1, 4)))
CACHE = tuple(_random.standard_normal((2, 5, 4)))

EXERCISES = (
    Exercise(
        "7.1",
        count_positions,
        {
            "This is what the cached loop computes: one position per step.": lambda n: n,
            "Step t computes t positions, not all of them.": lambda n: n * n,
            "The new position of each step is computed too: 1 + 2 + ... + n.": lambda n: (
                n * (n - 1) // 2
            ),
        },
        (
            "The first step computes one position, the second two.",
            "Sum 1 + 2 + ... + n.",
            "n (n + 1) / 2",
        ),
        cases=((12,), (48,)),
        why="The ratio to the cached loop is (n + 1) / 2.",
    ),
    Exercise(
        "7.2",
        attend_next,
        {
            "The step does not see itself: extend the cache before you attend.": (
                _sees_only_earlier
            ),
            "The earlier steps are lost: append to the cache instead of replacing it.": (
                lambda *case: attend_next(*case[:3], [x[:0] for x in case[3]])
            ),
            "The cache has to grow: return it with the new key and value.": (
                lambda *case: (attend_next(*case)[0], *case[3])
            ),
            "The new step is the last one: append it, do not put it in front.": (
                lambda query, key, value, cache: attend_next(query, *cache, (key, value))
            ),
            "The scores are not divided by the root of the width.": (
                lambda query, *others: attend_next(query * query.shape[-1] ** 0.5, *others)
            ),
        },
        (
            "cache is a pair, the keys and the values (steps, width).",
            "np.concatenate([keys, key]) extends the keys by the new one.",
            "Extend both, attend with all of them, and return (result, keys, values).",
        ),
        cases=((*STEP, CACHE),),
        why="No mask is needed: what comes later is not in the cache yet.",
    ),
    Exercise(
        "7.3",
        "decoder self-attention",
        {
            "The encoder's output is computed once, before the first step.": "encoder",
            "Its keys and values come from the encoder's output, which does not change.": (
                "cross-attention"
            ),
        },
        (
            "Which keys belong to steps that do not exist yet?",
            "The history does not grow while the model decodes.",
            "Only the decoder's own steps are added one by one.",
        ),
        why="Each step adds one key and one value.",
        question="Which cache grows while decoding?",
    ),
    Exercise(
        "7.4",
        "less",
        {
            "The batch shares what a step costs anyway: starting operations, reading weights.": (
                "the same"
            ),
            "The whole batch takes longer, but one series of it takes less.": "more",
        },
        (
            "At these sizes a step is mostly overhead.",
            "The overhead is paid once per step, not once per series.",
            "Divide the time of the batch by 64.",
        ),
        why="The answers measure it.",
        question="Predict the time for a series in a batch of 64, compared with a single series.",
    ),
)
