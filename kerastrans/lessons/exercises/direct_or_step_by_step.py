"""Exercises of lesson 5b."""

import numpy as np

from kerastrans.lessons.exercise import Exercise, known_mistakes


def roll_out(one_step, history, num_steps):
    """Forecast num_steps values of (batch, time): each step is appended, the oldest one dropped.

    The function one_step maps (batch, time) to the next value, (batch,).
    """
    outputs = []
    for _ in range(num_steps):
        outputs.append(one_step(history))
        history = np.concatenate([history[:, 1:], outputs[-1][:, None]], axis=1)
    return np.stack(outputs, axis=1)


def pinball(targets, forecasts, quantile):
    """Return the mean pinball loss of forecasts of one quantile."""
    distance = targets - forecasts
    return np.maximum(quantile * distance, (quantile - 1) * distance).mean()


def coverage(low, high, targets):
    """Return the share of targets in their intervals, whose ends belong to them."""
    return ((low <= targets) & (targets <= high)).mean()


def _weighted(history):
    return history @ np.array([0.1, -0.4, 0.3, 0.9])


_random = np.random.default_rng(0)
_HISTORY = _random.standard_normal((2, 4))
_TARGETS, _FORECASTS = _random.standard_normal((2, 20))
_ENDS = np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])

EXERCISES = (
    Exercise(
        "5b.1",
        roll_out,
        known_mistakes("5b.1"),
        (
            "Keep a window of constant length, and move it by one step each time.",
            "history[:, 1:] drops the oldest step.",
            "history = np.concatenate([history[:, 1:], step[:, None]], axis=1)",
        ),
        cases=((_weighted, _HISTORY, 3), (_weighted, _HISTORY, 6)),
        why="From the second step on the model reads its own outputs.",
    ),
    Exercise(
        "5b.2",
        pinball,
        {
            "The sides are swapped: a target above the forecast costs quantile per unit.": (
                lambda targets, forecasts, quantile: pinball(targets, forecasts, 1 - quantile)
            ),
            "This is the absolute error: the two sides have different costs.": (
                lambda targets, forecasts, quantile: np.abs(targets - forecasts).mean()
            ),
            "The loss is never negative: a target below costs 1 - quantile times the distance.": (
                lambda y, f, quantile: (np.where(y > f, quantile, 1 - quantile) * (y - f)).mean()
            ),
            "This is the sum, not the mean.": lambda y, *others: pinball(y, *others) * len(y),
        },
        (
            "A target above the forecast costs quantile times the distance.",
            "A target below it costs 1 - quantile times the distance.",
            "np.maximum(quantile * d, (quantile - 1) * d).mean(), with d = targets - forecasts",
        ),
        cases=((_TARGETS, _FORECASTS, 0.9), (_TARGETS, _FORECASTS, 0.25)),
        why="For quantile 0.5 it is half the absolute error.",
    ),
    Exercise(
        "5b.3",
        coverage,
        {
            "The ends belong to the interval: <=, not <.": (
                lambda low, high, x: ((low < x) & (x < high)).mean()
            ),
            "Both ends count: a target above high is outside.": lambda low, _, x: (low <= x).mean(),
            "This is in per cent; the share is between 0 and 1.": lambda *x: 100 * coverage(*x),
            "This is the share outside.": lambda *x: 1 - coverage(*x),
        },
        (
            "Two comparisons per target, joined by &.",
            "The mean of booleans is the share that is True.",
            "((low <= targets) & (targets <= high)).mean()",
        ),
        cases=((*_ENDS, np.array([0.5, 2.0, 3.5])), (*_ENDS, np.array([-1.0, 1.0, 5.0]))),
        why="An interval of 80 % should contain 80 %, neither fewer nor more.",
    ),
)
