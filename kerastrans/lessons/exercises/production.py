"""Exercises of lesson 9."""

import numpy as np

from kerastrans.lessons.exercise import Exercise


def checked_history(history, context_length):
    """Return the history if it has context_length rows, otherwise raise an error.

    ValueError, IndexError and a failed assert are accepted.
    """
    if history.shape[1] != context_length:
        raise ValueError(f"history must have {context_length} rows, got {history.shape[1]}")
    return history


def forecast_raw(model, history, mean, std):
    """Forecast raw values with a model of scaled ones: scale, forecast, unscale."""
    return model((history - mean) / std) * std + mean


def _scaled_by_the_window(model, history, mean, std):
    mean, std = history.mean(axis=1, keepdims=True), history.std(axis=1, keepdims=True)
    return forecast_raw(model, history, mean, std)


def _double(history):
    return 2 * history


HISTORY = np.random.default_rng(0).uniform(0, 30, (2, 5, 3))
MEAN, STD = np.array([10.0, 12.0, 8.0]), np.array([3.0, 2.0, 4.0])

EXERCISES = (
    Exercise(
        "9.1",
        checked_history,
        {
            "A longer history is cut without a word: a caller never learns of the mistake.": (
                lambda history, n: checked_history(history[:, -n:], n)
            ),
            "Histories that are too long pass.": (
                lambda history, n: checked_history(history, max(n, history.shape[1]))
            ),
            "Histories that are too short pass.": (
                lambda history, n: checked_history(history, min(n, history.shape[1]))
            ),
        },
        (
            "The history is (batch, rows, channels).",
            "Compare history.shape[1] with context_length.",
            "Raise ValueError if they differ, and say both numbers.",
        ),
        cases=((HISTORY, 5), (HISTORY, 4), (HISTORY, 6)),
        why="The exported function makes this check itself.",
    ),
    Exercise(
        "9.2",
        "refused",
        {
            "A service may be reading the first export at this moment: it is never written over.": (
                "replaced"
            ),
            "Files of two models in one folder would be neither of them.": "merged",
        },
        (
            "What would a service do that reads the folder meanwhile?",
            "Nothing is written before all is checked.",
            "An error names the folder.",
        ),
        why="The first export stays whole.",
        question="What happens to a second export to the same folder?",
    ),
    Exercise(
        "9.3",
        forecast_raw,
        {
            "The forecast is still scaled: multiply by std, add the mean.": (
                lambda model, history, mean, std: model((history - mean) / std)
            ),
            "Unscale in the other order: first multiply by std, then add the mean.": (
                lambda model, history, mean, std: (model((history - mean) / std) + mean) * std
            ),
            "Scale by the training rows' mean and std, not by those of the window.": (
                _scaled_by_the_window
            ),
        },
        (
            "The model was trained on (values - mean) / std.",
            "Its output is scaled like its input.",
            "model((history - mean) / std) * std + mean",
        ),
        cases=((_double, HISTORY, MEAN, STD),),
        why="Two numbers per channel are all that an export needs of the training data.",
    ),
)
