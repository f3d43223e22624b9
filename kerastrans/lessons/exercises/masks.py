"""Exercises of lesson 3."""

import functools

import numpy as np

from kerastrans.lessons.exercise import Exercise, known_mistakes


def decoder_mask(lengths, size):
    """Return (batch, query, key): True for valid keys that are not later than the query."""
    steps = np.arange(size)
    not_later = steps[None] <= steps[:, None]  # (query, key)
    valid = steps < lengths[:, None]  # (batch, key)
    return not_later & valid[:, None]


def window_mask(size, width):
    """Return (query, key): True for the step itself and the width - 1 steps before it."""
    steps = np.arange(size)
    distance = steps[:, None] - steps
    return (distance >= 0) & (distance < width)


def sees_future(model, inputs):
    """Return True if an output of the model depends on a later input."""
    before = model(inputs)
    for step in range(1, inputs.shape[1]):
        changed = inputs.copy()
        changed[:, step:] += 1
        if np.abs(model(changed) - before)[:, :step].max() > 1e-6:
            return True
    return False


def _tries_one_step(step):
    later = (np.arange(INPUTS.shape[1]) >= step)[:, None]
    return lambda model, x: bool(np.abs(model(x + later) - model(x))[:, :step].max() > 1e-6)


def _as_model(function):
    """Let a function be called as a Keras model, also by `predict`."""

    @functools.wraps(function)
    def call(x, **options):
        return function(np.asarray(x))

    call.predict = call
    return call


@_as_model
def _causal(x):
    return x.cumsum(axis=1)


@_as_model
def _sees_all(x):
    return x + x.mean(axis=1, keepdims=True)


def _step_sees(step, later):
    """A model of steps of any number; one output depends on one later input."""

    @_as_model
    def model(x):
        y = x.cumsum(axis=1)
        y[:, step : step + 1] += x[:, later : later + 1].sum(axis=1, keepdims=True)
        return y

    model.__name__ = f"output {step} sees input {later}"
    return model


INPUTS = np.random.default_rng(0).standard_normal((2, 6, 3))

EXERCISES = (
    Exercise(
        "3.1",
        "much smaller",
        {
            "Each step could copy its answer from the next one, but training need not use that: "
            "the error ends below half of the variance, with the inverted mask above it.": (
                "the same"
            ),
            "The inverted mask hides the past too; without a mask a step sees more, not less.": (
                "larger"
            ),
        },
        (
            "Which step has nothing to its right, even without a mask?",
            "The last step can copy only by cross-attention. Does that help the other steps?",
            "What serves the last step serves all; a leak is an opportunity, not a necessity.",
        ),
        why="A leak can be used, but does not have to be. The inverted mask hides the past too.",
        question="Predict the generated error without any mask, compared with the inverted one.",
    ),
    Exercise(
        "3.2",
        decoder_mask,
        known_mistakes("3.2"),
        (
            "Make two masks, one (query, key) and one (batch, key).",
            "Keys are the last axis: steps[None] <= steps[:, None]; steps < lengths[:, None].",
            "not_later & valid[:, None]",
        ),
        cases=((np.array([3, 2]), 4), (np.array([5]), 5)),
        why="combine_masks does the same with padding[:, None], which has an axis for queries.",
    ),
    Exercise(
        "3.3",
        window_mask,
        known_mistakes("3.3"),
        (
            "Compute the distance from each query back to each key.",
            "distance = steps[:, None] - steps; a negative distance is the future.",
            "(distance >= 0) & (distance < width)",
        ),
        cases=((6, 3), (4, 1)),
        why="Each step attends to at most `width` keys, however long the sequence is.",
    ),
    Exercise(
        "3.4",
        sees_future,
        {
            "Your test finds a leak in a causal model: did you copy the inputs before you changed "
            "them, and compare only the steps before?": lambda model, inputs: True,
            "Your test finds no leak in any model: did you change a copy, and run the model on the "
            "unchanged inputs too?": lambda model, inputs: False,
            "Only one place was tried; the leak can be at another step.": _tries_one_step(3),
            "Only the last input was changed; the leak can be from another.": _tries_one_step(5),
            "The answer is the other way round: True if there is a leak.": (
                lambda *case: not sees_future(*case)
            ),
        },
        (
            "Change later inputs, and look at the outputs before them.",
            "Do it for every step: changed[:, step:] += 1.",
            "np.abs(model(changed) - model(inputs))[:, :step].max() > 1e-6, for any step.",
        ),
        cases=tuple(
            (model, INPUTS)
            for model in (_causal, _sees_all, *map(_step_sees, (4, 0, 2), (5, 1, 3)))
        ),
        why="The test needs no training, and finds every inverted mask.",
    ),
)
