"""Checks of a user's values: one line that says what was given and what is wanted."""

from numbers import Integral, Real
from pathlib import Path


def check_positive_integers(**values):
    """Raise ValueError for the first value that is not an integer of at least 1."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}.")


def check_dropout(dropout):
    """Raise ValueError unless 0 <= dropout < 1."""
    if isinstance(dropout, bool) or not isinstance(dropout, Real) or not 0 <= dropout < 1:
        raise ValueError(f"dropout must be a number in [0, 1), got {dropout!r}.")


def check_non_negative(**values):
    """Raise ValueError for the first value that is not a finite number of at least 0."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value < float("inf"):
            raise ValueError(f"{name} must be a number of at least 0, got {value!r}.")


def check_choice(name, value, choices):
    """Raise ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")


def check_new(path):
    """Raise FileExistsError if there is anything at `path`: nothing is written over."""
    if Path(path).exists():
        raise FileExistsError(f"{path} exists: name a new one, or remove it first.")
