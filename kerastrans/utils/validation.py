"""Checks of a user's values: one line that says what was given and what is wanted."""

import difflib
import importlib
import itertools
import os
from collections.abc import Iterable
from numbers import Integral, Real


class NoSeriesError(ValueError):
    """There is no series to work on: none at all, or each has a fault.

    Attributes:
        faults: dict of series -> why it was left out.
    """

    def __init__(self, message, faults=()):
        super().__init__(message)
        self.faults = dict(faults)


def check_positive_integers(**values):
    """Raise ValueError for the first value that is not an integer of at least 1."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")


def check_dropout(dropout, name="dropout"):
    """Raise ValueError unless 0 <= dropout < 1."""
    if isinstance(dropout, bool) or not isinstance(dropout, Real) or not 0 <= dropout < 1:
        raise ValueError(f"{name} must be a number in [0, 1), got {dropout!r}.")


def check_non_negative(**values):
    """Raise ValueError for the first value that is not a finite number of at least 0."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value < float("inf"):
            raise ValueError(f"{name} must be a number of at least 0, got {value!r}.")


def check_positive(**values):
    """Raise ValueError for the first value that is not a finite number above 0."""
    check_non_negative(**values)
    for name, value in values.items():
        if value == 0:
            raise ValueError(f"{name} must be above 0, got {value!r}.")


def check_valid_lengths(lengths, steps):
    """Raise ValueError unless every valid length is from 1 to the steps there are."""
    for row, length in enumerate(lengths):
        if not 1 <= length <= steps:
            raise ValueError(
                f"valid lengths must be from 1 to {steps} steps, got {length} in row {row}."
            )


def check_divides(**values):
    """Raise ValueError unless the first of two named values divides the second."""
    (name, value), (other, total) = values.items()
    if total % value:
        raise ValueError(f"{name} must divide {other}={total}, got {value}.")


def check_at_most(**values):
    """Raise ValueError if the first of two named values is greater than the second."""
    (name, value), (other, limit) = values.items()
    if value > limit:
        raise ValueError(f"{name} must be at most {other}={limit}, got {value}.")


def check_choice(name, value, choices):
    """Raise ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")


def check_columns(**kinds):
    """Raise ValueError for the first list of column names that is one name, or has one twice."""
    for kind, names in kinds.items():
        if isinstance(names, str):
            raise ValueError(f"{kind} must be a list of column names, got {names!r}.")
        for name in names:
            if list(names).count(name) > 1:
                raise ValueError(f"{kind} names the column {name!r} twice.")


def check_levels(levels):
    """The levels as a tuple of floats; ValueError unless increasing and in (0, 1)."""
    levels = tuple(map(float, levels if isinstance(levels, Iterable) else [levels]))
    ordered = all(low < high for low, high in itertools.pairwise((0.0, *levels, 1.0)))
    if not levels or not ordered:
        raise ValueError(f"levels must increase and lie in (0, 1), got {list(levels)}.")
    return levels


def check_percents(levels):
    """The levels of intervals as a tuple of increasing percents.

    Raises:
        ValueError: no number, none above 0 and below 100, or a share where a percent is meant.
    """
    levels = tuple(levels) if isinstance(levels, Iterable) else (levels,)
    for level in levels:
        if isinstance(level, bool) or not isinstance(level, Real) or not 0 < level < 100:
            raise ValueError(f"levels are percents above 0 and below 100, got {level!r}.")
        if level < 1:
            raise ValueError(f"levels are percents: {level!r} means {100 * level:g}, give that.")
    return tuple(sorted(set(levels)))


def check_finite_output(values):
    """Raise ValueError where an infinite value has come out of a model."""
    if (abs(values) == float("inf")).any():
        raise ValueError("the forecast is past what a float holds: scale the series down.")


def check_prediction_length(model, prediction_length):
    """Raise ValueError unless a direct model was built for this horizon."""
    built_for = model.output_shape[1]
    if prediction_length != built_for:
        raise ValueError(
            f"{model.name} was built for prediction_length={built_for}, got {prediction_length}."
        )


def suggest(name, known):
    """End of an error about an unknown name: the nearest known one, if any is near, and all."""
    near = difflib.get_close_matches(str(name).lower(), known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}known are {', '.join(known)}."


def import_extra(module, wanted_by, extra):
    """The module of an optional package; ImportError that names the extra where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError:
        message = f'{wanted_by} wants the extra: pip install "kerastrans[{extra}]".'
        raise ImportError(message) from None


def check_new(path):
    """Raise FileExistsError if there is anything at `path`, a broken link too."""
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists: name a new one, or remove it first.")
