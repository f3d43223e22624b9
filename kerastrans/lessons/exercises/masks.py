"""Exercises of lesson 3."""

import functools

import numpy as np

from kerastrans.lessons.exercise import Exercise


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


def _hides_queries(lengths, size):
    steps = np.arange(size)
    return (steps[None] <= steps[:, None]) & (steps < lengths[:, None])[:, :, None]


def _either(lengths, size):
    steps = np.arange(size)
    return (steps[None] <= steps[:, None]) | (steps < lengths[:, None])[:, None]


def _compares_the_step_itself(model, inputs):
    before = model(inputs)
    changed = [inputs + (np.arange(inputs.shape[1]) >= step)[:, None] for step in (1, 2)]
    return any(np.abs(model(x) - before)[:, 1].max() > 1e-6 for x in changed)


def _first_half_only(model, inputs):
    half = inputs.shape[1] // 2
    changed = inputs + (np.arange(inputs.shape[1]) >= half)[:, None]
    return bool(np.abs(model(changed) - model(inputs))[:, :half].max() > 1e-6)


def _last_only(model, inputs):
    changed = inputs.copy()
    changed[:, -1] += 1
    return bool(np.abs(model(changed) - model(inputs))[:, :-1].max() > 1e-6)


def _as_model(function):
    """Let a function be called as a Keras model, also by `predict`."""

    @functools.wraps(function)
    def call(x, training=False, verbose=0):
        return function(np.asarray(x))

    call.predict = call
    return call


@_as_model
def _causal(x):
    return x.cumsum(axis=1)


@_as_model
def _sees_all(x):
    return x + x.mean(axis=1, keepdims=True)


@_as_model
def _sees_the_next_step_at_the_end(x):
    y = x.cumsum(axis=1)
    y[:, -2] += x[:, -1]
    return y


@_as_model
def _first_sees_the_second(x):
    y = x.cumsum(axis=1)
    y[:, 0] += x[:, 1]
    return y


INPUTS = np.random.default_rng(0).standard_normal((2, 6, 3))


@_as_model
def _third_sees_the_fourth(x):
    y = x.cumsum(axis=1)
    y[:, 2] += x[:, 3]
    return y


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
        {
            "This mask is inverted: True means visible.": lambda lengths, size: (
                ~decoder_mask(lengths, size)
            ),
            "Both must hold: combine the masks by &, not by |.": _either,
            "The padding is on the axis of the queries; it has to hide keys.": _hides_queries,
            "A length of 3 means the keys 0, 1 and 2: steps < lengths, not <=.": (
                lambda lengths, size: decoder_mask(lengths + 1, size)
            ),
            "A step may see itself: <=, not <.": lambda lengths, size: (
                decoder_mask(lengths, size) & ~np.eye(size, dtype=bool)
            ),
            "The padding is missing: keys from the length on are hidden too.": (
                lambda lengths, size: decoder_mask(np.full_like(lengths, size), size)
            ),
            "The look-ahead mask is missing: later keys are hidden too.": lambda lengths, size: (
                np.repeat((np.arange(size) < lengths[:, None])[:, None], size, axis=1)
            ),
            "The future is shown and the past is hidden: np.tril, not np.triu.": (
                lambda lengths, size: (
                    np.triu(np.ones((size, size), bool))
                    & (np.arange(size) < lengths[:, None])[:, None]
                )
            ),
            "This is an additive mask of 0 and -1e9; here masks are boolean, True = visible.": (
                lambda lengths, size: np.where(decoder_mask(lengths, size), 0, -1e9)
            ),
        },
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
        {
            "The window lets a step see the steps after it.": lambda size, width: (
                np.arange(size)[:, None] - np.arange(size) < width
            ),
            "The window is one step too wide: the step itself counts.": lambda size, width: (
                window_mask(size, width + 1)
            ),
            "The window reaches to both sides; the steps after a step are hidden.": (
                lambda size, width: window_mask(size, width) | window_mask(size, width).T
            ),
            "The step itself is missing: a distance of 0 is in the window.": (
                lambda size, width: window_mask(size, width + 1) & ~np.eye(size, dtype=bool)
            ),
            "A step is missing: `width` steps in all, with the step itself.": (
                lambda size, width: window_mask(size, width - 1)
            ),
            "The window is in the future: rows are queries, columns are keys.": (
                lambda size, width: window_mask(size, width).T
            ),
            "This mask is inverted: True means visible.": lambda size, width: (
                ~window_mask(size, width)
            ),
        },
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
            "A step may depend on itself: compare only the steps before the changed ones.": (
                _compares_the_step_itself
            ),
            "Only one place was tried; the leak can be at another step.": _first_half_only,
            "Only the last input was changed; a step can also see another later one.": _last_only,
            "The answer is the other way round: True if there is a leak.": lambda model, inputs: (
                not sees_future(model, inputs)
            ),
        },
        (
            "Change later inputs, and look at the outputs before them.",
            "Do it for every step: changed[:, step:] += 1.",
            "np.abs(model(changed) - model(inputs))[:, :step].max() > 1e-6, for any step.",
        ),
        cases=tuple(
            (model, INPUTS)
            for model in (
                _causal,
                _sees_all,
                _sees_the_next_step_at_the_end,
                _first_sees_the_second,
                _third_sees_the_fourth,
            )
        ),
        why="The test needs no training, and finds every inverted mask.",
    ),
)
