"""Checks of arguments, whose messages state the given and the expected value in one line."""

import difflib
import importlib
import itertools
import os
from collections.abc import Iterable
from numbers import Integral, Real
from pathlib import Path

from kerastrans.utils.lazy import install

MAX_NAMES = 5  # number of names that a message lists
MAX_KNOWN = 20  # number of known names up to which a message lists all of them
MAX_LENGTH = 60  # of a name or a cell in a message, in characters


class NoSeriesError(ValueError):
    """Raised if no series can be used, because none is given or all are invalid.

    Attributes:
        faults: Dict of series -> reason why it was left out.
    """

    def __init__(self, message, faults=()):
        super().__init__(message)
        self.faults = dict(faults)


def check_positive_integers(**values):
    """Raise ValueError for the first value that is not an integer of at least 1."""
    for name, value in values.items():
        check_integer(name, value, 1)


def check_integer(name, value, least):
    """Raise ValueError unless a value is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")


def check_seed(seed):
    """Raise ValueError unless a seed is an int of at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise ValueError(f"seed must be an int of at least 0, got {seed!r}.")


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


def check_weight(**values):
    """Raise ValueError for the first value that is not a number in (0, 1]."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value <= 1:
            raise ValueError(f"{name} must be a number in (0, 1], got {value!r}.")


def check_share(**values):
    """Raise ValueError for the first value that is not a number in [0, 1]."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value <= 1:
            raise ValueError(f"{name} must be a number in [0, 1], got {value!r}.")


def check_valid_lengths(lengths, steps):
    """Raise ValueError unless every valid length is from 1 to `steps`."""
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


def check_sequence(**shapes):
    """Raise ValueError for the first shape that is not `(batch, time, width)`, or None."""
    for name, shape in shapes.items():
        if shape is not None and len(shape) != 3:
            raise ValueError(f"{name} must have shape (batch, time, width), got {tuple(shape)}.")


def check_block(shape, encoder_shape, ff_dim, dropout, norm, normalization):
    """Raise ValueError for shapes and options that no block of a Transformer can have."""
    check_sequence(**{"inputs": shape, "the encoder's output": encoder_shape})
    check_positive_integers(ff_dim=ff_dim)
    check_dropout(dropout)
    check_choice("norm", norm, ("pre", "post"))
    check_choice("normalization", normalization, ("layer", "batch"))


def check_choice(name, value, choices):
    """Raise ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")


def check_column_names(**kinds):
    """Raise ValueError for what is not a list of column names, or contains duplicates."""
    for kind, names in kinds.items():
        if isinstance(names, str | dict) or not isinstance(names, Iterable):
            raise ValueError(f"{kind} must be a list of column names, got {names!r}.")
        for name in names:
            if list(names).count(name) > 1:
                raise ValueError(f"{kind} names the column {name!r} twice.")


def check_levels(levels):
    """Return the levels as a tuple of floats; raise ValueError unless increasing in (0, 1)."""
    levels = tuple(map(float, levels if isinstance(levels, Iterable) else [levels]))
    ordered = all(low < high for low, high in itertools.pairwise((0.0, *levels, 1.0)))
    if not levels or not ordered:
        raise ValueError(f"levels must increase and be in (0, 1), got {list(levels)}.")
    return levels


def check_percents(levels):
    """Return the levels of intervals as a tuple of increasing percents.

    Raises:
        ValueError: If a level is not a number above 0 and below 100, or is below 1 and therefore
            probably a fraction.
    """
    levels = tuple(levels) if isinstance(levels, Iterable) else (levels,)
    for level in levels:
        if isinstance(level, bool) or not isinstance(level, Real) or not 0 < level < 100:
            raise ValueError(f"levels are percents above 0 and below 100, got {level!r}.")
        if level < 1:
            raise ValueError(f"levels are percents: for {level!r} use {100 * level:g} instead.")
    return _distinct("levels", levels)


def check_thresholds(thresholds):
    """Return thresholds as a tuple of increasing numbers.

    Raises:
        ValueError: If a threshold is not a finite number.
    """
    thresholds = tuple(thresholds) if isinstance(thresholds, Iterable) else (thresholds,)
    for x in thresholds:
        if isinstance(x, bool) or not isinstance(x, Real) or not abs(x) < float("inf"):
            raise ValueError(f"thresholds are finite numbers, got {x!r}.")
    return _distinct("thresholds", thresholds)


def exact(number):
    """Return the shortest text of a number that is read as the same number, for names of columns.

    Example:
        >>> exact(80.0), exact(4_500_001), exact(0.1 + 0.2)
        ('80', '4500001', '0.30000000000000004')
    """
    value = float(str(number)) if hasattr(number, "dtype") else float(number)  # 0.1 of float32
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def _distinct(kind, numbers):
    """Return numbers as an increasing tuple; raise ValueError if two have one name."""
    numbers = tuple(sorted(set(numbers)))
    for low, high in itertools.pairwise(numbers):
        if exact(low) == exact(high):
            raise ValueError(f"{kind} {low!r} and {high!r} have one name, {exact(low)}: give one.")
    return numbers


def check_finite_output(values):
    """Raise ValueError if the output of a model contains an infinite value or NaN."""
    if (abs(values) == float("inf")).any():
        raise ValueError("the forecast exceeds the range of floats: scale the series down.")
    if (values != values).any():
        raise ValueError("the forecast is not a number: a weight or an input is not finite.")


def check_prediction_length(model, prediction_length):
    """Raise ValueError unless a direct model was built for this prediction length."""
    built_for = model.output_shape[1]
    if prediction_length != built_for:
        raise ValueError(
            f"{model.name} was built for prediction_length={built_for}, got {prediction_length}."
        )


def suggest(name, known):
    """Return the end of an error about an unknown name: the nearest known name, and others.

    Example:
        >>> suggest("meen", ["mean", "median"])
        "did you mean 'mean'? known are mean, median."
    """
    known = list(known)
    near = difflib.get_close_matches(str(name).lower(), known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    shown = known if len(known) <= MAX_KNOWN else known[:MAX_NAMES]
    more = f" and {len(known) - len(shown)} more" if len(known) > len(shown) else ""
    return f"{hint}known are {', '.join(shown)}{more}."


def quote(value):
    """Return a value as Python writes it, for a message; the end of a long one is left out.

    Example:
        >>> len(quote("a" * 1000))
        64
    """
    text = repr(value)
    return f"{text[:MAX_LENGTH]}...{text[-1]}" if len(text) > MAX_LENGTH + 4 else text


def list_names(names):
    """Return names for a message; of more than five, the first ones and the number of the others.

    Example:
        >>> list_names("abcdefg")
        "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    names = list(names)
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(map(quote, names[:MAX_NAMES])) + more


def import_extra(module, wanted_by, extra):
    """Import a module of an optional package; raise ImportError naming the extra if it is missing.

    Args:
        module: str, name of the module.
        wanted_by: str, name of the function or feature that needs it.
        extra: str, extra of kerastrans that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        message = f"{wanted_by} requires an optional package: {install(extra)}."
        raise ImportError(message) from None


def check_new(path):
    """Raise FileExistsError if `path` exists, even as a broken link."""
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists: choose another name, or remove it first.")


def check_can_create(path, replace=False):
    """Check that a file or folder, and its missing parents, can be created, or it can be replaced.

    Raises:
        FileExistsError: If `path` exists, even as a broken link.
        NotADirectoryError: If one of its parents is a file.
        PermissionError: If the folder is read-only.
    """
    if not replace:
        check_new(path)
    parent = next(x for x in Path(path).absolute().parents if os.path.lexists(x))
    if not parent.is_dir():
        raise NotADirectoryError(f"{path} cannot be created: {parent} is not a folder.")
    if not os.access(parent, os.W_OK):
        raise PermissionError(f"{path} cannot be created: the folder {parent} is read-only.")
