"""Exercises of lesson 4b."""

import numpy as np

from kerastrans.lessons.exercise import Exercise


def differs(first, second):
    """Return True if two lists of errors differ by more than three deviations of the seeds.

    Compare the means; the deviation is the root of the mean of the two sample variances (n - 1).
    """
    spread = ((np.var(first, ddof=1) + np.var(second, ddof=1)) / 2) ** 0.5
    return bool(abs(np.mean(first) - np.mean(second)) > 3 * spread)


def layers_needed(n, width):
    """Return how many centred convolutions reach from the first of n steps to the last.

    Their width is odd.
    """
    reach = width // 2  # steps to one side, per layer
    return -(-(n - 1) // reach)


def causal_targets(series, horizon):
    """Return (batch, time, horizon): the values that follow each of the first time steps.

    The series is (batch, time + horizon).
    """
    time = series.shape[1] - horizon
    steps = np.arange(time)[:, None] + 1 + np.arange(horizon)
    return series[:, steps]


def _one_sided(first, second):
    spread = ((np.var(first, ddof=1) + np.var(second, ddof=1)) / 2) ** 0.5
    return bool(np.mean(first) - np.mean(second) > 3 * spread)


def _compared_by(margin):
    """The same comparison with another margin, a function of both lists of errors."""
    return lambda first, second: bool(
        abs(np.mean(first) - np.mean(second)) > margin(np.array([first, second]))
    )


def _same_for_all(series, horizon):
    return np.repeat(series[:, None, -horizon:], series.shape[1] - horizon, axis=1)


_SERIES = np.random.default_rng(0).standard_normal((2, 9))

EXERCISES = (
    Exercise(
        "4b.1",
        differs,
        {
            "Only the first can be larger here: take the absolute difference.": _one_sided,
            "The sample variance of three seeds divides by n - 1: ddof=1.": _compared_by(
                lambda errors: 3 * errors.var(axis=1).mean() ** 0.5
            ),
            "One deviation is not enough: the margin is three.": _compared_by(
                lambda errors: errors.var(axis=1, ddof=1).mean() ** 0.5
            ),
            "This is the larger deviation: average the two variances, then take the root.": (
                _compared_by(lambda errors: 3 * errors.std(axis=1, ddof=1).max())
            ),
            "The variances are averaged, not the deviations: take the root afterwards.": (
                _compared_by(lambda errors: 3 * errors.std(axis=1, ddof=1).mean())
            ),
            "The two variances are added; average them.": _compared_by(
                lambda errors: 3 * errors.var(axis=1, ddof=1).sum() ** 0.5
            ),
        },
        (
            "Two numbers: the difference of the means, and the margin.",
            "np.var(errors, ddof=1) is a sample variance; take the root of the mean of both.",
            "abs(np.mean(first) - np.mean(second)) > 3 * spread",
        ),
        cases=(
            ([1.0, 1.1, 1.2], [2.0, 2.0, 2.0]),
            ([2.0, 2.0, 2.0], [1.0, 1.1, 1.2]),
            ([1.0, 1.1, 1.2], [1.3, 1.3, 1.3]),
            ([1.0, 1.1, 1.2], [1.22, 1.22, 1.22]),
            ([1.0, 1.1, 1.2], [1.33, 1.33, 1.33]),
            ([1.0, 1.1, 1.2], [1.26, 1.26, 1.26]),
            ([1.0, 1.1, 1.2], [1.35, 1.45, 1.55]),
        ),
        why="A difference within the spread may change its sign with the next seed.",
    ),
    Exercise(
        "4b.2",
        layers_needed,
        {
            "A layer of width 3 reaches one step to each side, not three.": lambda n, width: (
                -(-(n - 1) // width)
            ),
            "This convolution looks back only; a centred one sees both sides.": (
                lambda n, width: -(-(n - 1) // (width - 1))
            ),
            "The reach adds up; it multiplies only if the convolutions are dilated.": (
                lambda n, width: int(np.ceil(np.log(n) / np.log(width)))
            ),
            "From the first to the last of n steps are n - 1 steps, not n.": lambda n, width: (
                -(-n // (width // 2))
            ),
            "Round up: a layer that is needed in part is needed.": lambda n, width: (
                (n - 1) // (width // 2)
            ),
        },
        (
            "How many steps to one side does one layer see?",
            "width // 2 steps per layer, n - 1 steps in all, rounded up.",
            "-(-(n - 1) // (width // 2))",
        ),
        cases=((8, 3), (32, 3), (32, 5), (10, 7), (9, 5)),
        why="Attention needs one layer for any n.",
    ),
    Exercise(
        "4b.3",
        causal_targets,
        {
            "The target begins with the step itself: the answer is in the input.": (
                lambda series, horizon: causal_targets(np.roll(series, 1, axis=1), horizon)
            ),
            "The first window is no target: it begins with the first step itself.": (
                lambda *x: np.lib.stride_tricks.sliding_window_view(*x, axis=1)
            ),
            "Each step has its own target, not all the last one.": _same_for_all,
        },
        (
            "The target of step t begins at t + 1.",
            "Make an index (time, horizon), and use it on the second axis.",
            "series[:, np.arange(time)[:, None] + 1 + np.arange(horizon)]",
        ),
        cases=((_SERIES, 3), (_SERIES, 1)),
        why="With a causal mask, one window trains as many forecasts as it has tokens.",
    ),
)
