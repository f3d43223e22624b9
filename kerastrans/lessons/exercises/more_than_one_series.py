"""Exercises of lesson 5c."""

import numpy as np

from kerastrans.lessons.exercise import Exercise


def hour_features(hours):
    """Return (time, 2): the sine and the cosine of the hour of the day, an array of 0 to 23."""
    angle = 2 * np.pi * hours / 24
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1)


def patches(windows, patch_length):
    """Return (batch * channels, patches, patch_length) of windows (batch, time, channels)."""
    batch, time, channels = windows.shape
    series = np.swapaxes(windows, 1, 2)  # (batch, channels, time)
    return series.reshape(batch * channels, time // patch_length, patch_length)


def known_in_advance(columns):
    """Return the columns that the model may read for the days to forecast, in their order.

    `columns` is a dict of name -> "measured", "calendar", "planned" or "weather forecast".
    """
    known = ("calendar", "planned", "weather forecast")
    return np.array([name for name, kind in columns.items() if kind in known])


def _not_swapped(windows, patch_length):
    batch, time, channels = windows.shape
    return windows.reshape(batch * channels, time // patch_length, patch_length)


def _strided(windows, patch_length):
    batch, _, channels = windows.shape
    series = np.swapaxes(windows, 1, 2).reshape(batch * channels, patch_length, -1)
    return np.swapaxes(series, 1, 2)


_COLUMNS = {
    "temperature": "measured",
    "temperature tomorrow": "weather forecast",
    "weekday": "calendar",
    "promotion": "planned",
    "sales of the neighbour": "measured",
}
_WINDOWS = np.arange(48.0).reshape(2, 8, 3)

EXERCISES = (
    Exercise(
        "5c.1",
        hour_features,
        {
            "With 23 as the period, 23 and 0 are the same hour.": lambda h: hour_features(
                h * 24 / 23
            ),
            "The hours are in degrees of no circle: multiply by 2 pi / 24.": (
                lambda h: hour_features(h * 12 / np.pi)
            ),
            "The factor 2 pi is missing: 24 hours are a full circle.": (
                lambda h: hour_features(h / 2 / np.pi)
            ),
            "The sine comes first.": lambda hours: hour_features(hours)[:, ::-1],
        },
        (
            "A day is a circle: 24 hours are 2 pi.",
            "angle = 2 * np.pi * hours / 24",
            "np.stack([np.sin(angle), np.cos(angle)], axis=-1)",
        ),
        cases=((np.arange(24),), (np.array([0, 6, 23]),)),
        why="23 and 0 are as close as 0 and 1.",
    ),
    Exercise(
        "5c.2",
        patches,
        {
            "The channels are mixed: swap time and channels before the reshape.": _not_swapped,
            "A patch holds neighbouring steps, not every n-th one.": _strided,
        },
        (
            "Each channel becomes a series of the batch.",
            "np.swapaxes(windows, 1, 2) has shape (batch, channels, time).",
            "np.swapaxes(windows, 1, 2).reshape(batch * channels, time // n, n)",
        ),
        cases=((_WINDOWS, 4), (_WINDOWS, 2)),
        why="All channels then share the weights.",
    ),
    Exercise(
        "5c.3",
        known_in_advance,
        {
            "A measured value is known only afterwards: this is a leak.": lambda columns: np.array(
                list(columns)
            ),
            "A weather forecast is known in advance, too, unlike the weather.": lambda columns: (
                np.array([n for n, k in columns.items() if k in ("calendar", "planned")])
            ),
            "These are the columns that are not known.": lambda columns: np.array(
                [n for n, k in columns.items() if k == "measured"]
            ),
        },
        (
            "Ask of each column: who knows its value for tomorrow, today?",
            "Calendars, plans and forecasts are known; measurements are not.",
            'Keep the names whose kind is not "measured", in an array of the names.',
        ),
        cases=((_COLUMNS,),),
        why="In a backtest, take the weather forecast of that day, not the weather.",
        run=lambda answer, columns: np.array([str(name) for name in answer(columns)]),
    ),
)
