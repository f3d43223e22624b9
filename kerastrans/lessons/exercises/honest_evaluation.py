"""Exercises of lesson 5d."""

import numpy as np

from kerastrans.lessons.exercise import Exercise


def leaks(contexts, targets):
    """Return True if a context reaches into its target; both hold row numbers (window, step)."""
    return bool((contexts.max(axis=1) >= targets.min(axis=1)).any())


def standardised(train, test):
    """Return training and test rows (time, channel), standardised without a leak."""
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    return (train - mean) / deviation, (test - mean) / deviation


def skill(errors, baseline_errors):
    """Return the skill: by which fraction the mean error is below that of the baseline."""
    return 1 - np.mean(errors) / np.mean(baseline_errors)


def _together(train, test):
    rows = np.concatenate([train, test])
    return standardised(rows, train)[1], standardised(rows, test)[1]


def _each_by_itself(train, test):
    return standardised(train, train)[0], standardised(test, test)[0]


def _one_scale(train, test):
    return (train - train.mean()) / train.std(), (test - train.mean()) / train.std()


def _cut(length, gap, context=4, horizon=2):
    rows = np.arange(length)
    starts = range(length - context - horizon - gap + 1)
    contexts = np.stack([rows[s : s + context] for s in starts])
    return contexts, np.stack([rows[s + context + gap :][:horizon] for s in starts])


_random = np.random.default_rng(0)
_TRAIN, _TEST = _random.normal(5, 2, (20, 2)) * [1, 10], _random.normal(8, 3, (10, 2)) * [1, 10]
_ONE_BAD = _cut(12, 0)
_ONE_BAD[0][3, -1] += 1

EXERCISES = (
    Exercise(
        "5d.1",
        leaks,
        {
            "The off-by-one window passes: the last row of the context is the first of the "
            "target. Compare with >=.": lambda contexts, targets: bool(
                (contexts.max(axis=1) > targets.min(axis=1)).any()
            ),
            "One leaking window is enough: any, not all.": lambda contexts, targets: bool(
                (contexts.max(axis=1) >= targets.min(axis=1)).all()
            ),
            "Compare each context with its own target: windows overlap with later ones.": (
                lambda contexts, targets: bool(contexts.max() >= targets.min())
            ),
        },
        (
            "A context must end before its target begins.",
            "Take the largest row of each context and the smallest row of its target.",
            "(contexts.max(axis=1) >= targets.min(axis=1)).any()",
        ),
        cases=(_cut(12, 0), _cut(12, -1), _cut(12, -2), _cut(12, 1), _ONE_BAD),
        why="Run it on row numbers whenever you write code that cuts windows.",
    ),
    Exercise(
        "5d.2",
        standardised,
        {
            "The test rows take part in the mean and the deviation: this is a leak.": _together,
            "Each part has its own scale: the level of the test rows is lost.": _each_by_itself,
            "Each channel has its own mean and deviation: axis=0.": _one_scale,
        },
        (
            "Which rows may the scale be computed from?",
            "train.mean(axis=0) and train.std(axis=0), for both parts.",
            "(train - mean) / deviation, (test - mean) / deviation",
        ),
        cases=((_TRAIN, _TEST),),
        why="The test rows need not have a mean of 0 then, and that is right.",
    ),
    Exercise(
        "5d.3",
        skill,
        {
            "The ratio is upside down: divide by the baseline's error.": (
                lambda errors, baseline: 1 - np.mean(baseline) / np.mean(errors)
            ),
            "This is the ratio of the errors; the skill is 1 minus it.": (
                lambda errors, baseline: np.mean(errors) / np.mean(baseline)
            ),
            "Divide the means. A mean of ratios is ruled by days with a small baseline error.": (
                lambda errors, baseline: 1 - np.mean(np.divide(errors, baseline))
            ),
        },
        (
            "Two means, one ratio.",
            "A skill of 0 is as good as the baseline, 1 is perfect.",
            "1 - np.mean(errors) / np.mean(baseline_errors)",
        ),
        cases=((np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 5.0])),),
        why="A negative skill is worse than the baseline.",
    ),
)
