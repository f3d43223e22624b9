"""Exercises of lesson 5."""

import numpy as np

from kerastrans.lessons.exercise import Exercise, known_mistakes


def windows(series, context_length, prediction_length):
    """Return all windows of a series: contexts, and the targets that follow them."""
    total = context_length + prediction_length
    starts = range(len(series) - total + 1)
    cut = np.stack([series[start : start + total] for start in starts])
    return cut[:, :context_length], cut[:, context_length:]


def mase(targets, forecasts, train, season):
    """Return the mean absolute scaled error (MASE) of forecasts of one series."""
    scale = np.abs(train[season:] - train[:-season]).mean()
    return np.abs(targets - forecasts).mean() / scale


def _seasonal_error(train, season, size=np.abs):
    return size(train[season:] - train[:-season]).mean()


_random = np.random.default_rng(0)
SERIES = _random.standard_normal(12).cumsum()
ERRORS = np.array([1, -2, 0.5, 3])  # of both signs, so that they can cancel

EXERCISES = (
    Exercise(
        "5.1",
        windows,
        known_mistakes("5.1"),
        (
            "A window has context_length + prediction_length values in a row.",
            "It can start at 0 .. len(series) - total.",
            "Stack series[start : start + total], and cut each at context_length.",
        ),
        cases=((SERIES, 4, 2), (SERIES, 10, 2)),
        why="A target that overlaps its context makes any model look good.",
    ),
    Exercise(
        "5.2",
        mase,
        {
            "Scale by differences of a season, not of one step.": (
                lambda y, forecasts, train, season: mase(y, forecasts, train, 1)
            ),
            "The scale comes from the test values; it has to come from the training rows.": (
                lambda y, forecasts, train, season: mase(y, forecasts, y, season)
            ),
            "Errors are absolute here, not squared.": lambda y, forecasts, *rows: (
                np.square(y - forecasts).mean() / _seasonal_error(*rows, np.square)
            ),
            "The error is squared and its scale is not: both are absolute.": (
                lambda y, forecasts, *rows: np.square(y - forecasts).mean() / _seasonal_error(*rows)
            ),
            "The mean comes before the absolute value: errors of both signs cancel.": (
                lambda y, forecasts, *rows: abs((y - forecasts).mean()) / _seasonal_error(*rows)
            ),
            "The absolute value is missing: errors of both signs cancel.": (
                lambda y, forecasts, *rows: (y - forecasts).mean() / _seasonal_error(*rows)
            ),
            "np.roll moves the end to the front: compare train[season:] with train[:-season].": (
                lambda y, forecasts, train, season: (
                    np.abs(y - forecasts).mean() / np.abs(train - np.roll(train, season)).mean()
                )
            ),
            "The scale is the size of the values; it has to be the error of a forecast.": (
                lambda y, forecasts, train, season: (
                    np.abs(y - forecasts).mean() / np.abs(train).mean()
                )
            ),
            "The error is not scaled: divide by that of the seasonal naive on the training rows.": (
                lambda y, forecasts, train, season: np.abs(y - forecasts).mean()
            ),
        },
        (
            "The scale is the error of the seasonal naive forecast on the training rows.",
            "train[season:] - train[:-season] are its errors.",
            "np.abs(targets - forecasts).mean() / np.abs(train[season:] - train[:-season]).mean()",
        ),
        cases=((SERIES[8:], SERIES[8:] + ERRORS, SERIES[:8], 3),),
        why="A MASE below 1 is better than the seasonal naive was on the training rows.",
    ),
    Exercise(
        "5.3",
        "larger",
        {
            "Dropout is noise in training; six epochs on 6,000 windows do not overfit yet.": (
                "smaller"
            ),
            "It is 0.4 flights larger, more than ten deviations of three seeds.": "the same",
        },
        (
            "What does dropout guard against, and does it happen in six epochs?",
            "A fifth of all activations are set to zero in training.",
            "The training is too short for the noise to pay.",
        ),
        why="The error grows by 0.4 flights, to that of the week before.",
        question="Predict the error after six epochs with dropout=0.2, compared with the lesson's.",
    ),
    Exercise(
        "5.4",
        "the same",
        {
            "The encoder already has the week before among its seven tokens.": "smaller",
            "An input that adds nothing does not hurt either: the error is within 0.03.": "larger",
        },
        (
            "Which tokens does the encoder see?",
            "Seven days of history: is the day a week before among them?",
            "Cross-attention can read it; the lag adds nothing new.",
        ),
        why="The error differs by less than 0.03 flights.",
        question="Predict the error if the decoder also sees the week before, lags=(168,).",
    ),
    Exercise(
        "5.5",
        "slightly larger",
        {
            "The Transformer's error is 0.05 flights smaller with each of three seeds.": "smaller",
            "Most of this series is a linear function of the week: NLinear is close.": (
                "much larger"
            ),
        },
        (
            "How much of tomorrow is a weighted sum of the hours of the last week?",
            "Repeating the week before has an error of 2.5 flights.",
            "NLinear has 2.18, the Transformer 2.13.",
        ),
        why="Most of what can be forecast here is linear in the week.",
        question=(
            "Predict the error of NLinear, a linear map of the differences from the last value, "
            "compared with that of the Transformer."
        ),
    ),
)
