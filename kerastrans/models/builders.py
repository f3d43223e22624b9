"""What every builder of a direct model checks: one decorator, in front of each of them."""

import functools
import inspect

from kerastrans import heads
from kerastrans.utils.validation import (
    check_choice,
    check_divides,
    check_dropout,
    check_positive_integers,
)

SIZES = ("context_length", "prediction_length", "num_channels")  # first in every builder
LARGEST_MATRIX = 2**31 - 1  # numbers: what the backends' int32 indices reach, 8.6 GB of float32


def checked(build):
    """Decorate a builder: its arguments are checked before any work, and its head is made.

    What an argument has to be is read from its name and its default: the three sizes of the
    contract, and what is an integer by default, are positive integers; a `dropout` and an
    `..._dropout` are in [0, 1); what is a bool by default is a bool; `num_heads` divides `d_model`;
    two sizes do not span a matrix that no machine holds. The builder gets `head` as a
    `kerastrans.heads.Head`, whatever it was given as.

    Args:
        build: function of `context_length`, `prediction_length`, `num_channels` and, by keyword,
            hyperparameters with defaults and perhaps `head`.

    Returns:
        The same function, which raises ValueError for arguments that are not as they should be.

    Example:
        >>> import keras
        >>> @checked
        ... def build_mean_model(context_length, prediction_length, num_channels, *, factor=1):
        ...     history = keras.Input((context_length, num_channels), name="history")
        ...     mean = keras.ops.mean(history, axis=1, keepdims=True)
        ...     return keras.Model(history, keras.ops.repeat(mean, prediction_length, axis=1))
        >>> build_mean_model(8, 4, 1, factor=0)
        Traceback (most recent call last):
            ...
        ValueError: factor must be an integer of at least 1, got 0.
    """
    signature = inspect.signature(build)
    defaults = {name: parameter.default for name, parameter in signature.parameters.items()}

    @functools.wraps(build)
    def checked_build(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        check_arguments(bound.arguments, defaults)
        if "head" in bound.arguments:
            bound.arguments["head"] = heads.get(bound.arguments["head"])
        return build(*bound.args, **bound.kwargs)

    return checked_build


def check_arguments(arguments, defaults):
    """Raise ValueError for the first argument of a builder that is not as `checked` wants it.

    Args:
        arguments: dict of all arguments.
        defaults: dict of their defaults.
    """
    sizes = {}
    for name, value in arguments.items():
        default = defaults[name]
        if name in SIZES or type(default) is int:
            check_positive_integers(**{name: value})
            sizes[name] = value
        elif type(default) is bool:
            check_choice(name, value, (False, True))
        elif name.endswith("dropout"):
            check_dropout(value, name)
    if {"num_heads", "d_model"} <= sizes.keys():
        check_divides(num_heads=sizes["num_heads"], d_model=sizes["d_model"])
    check_matrix(sizes)


def check_matrix(sizes):
    """Raise ValueError if the two largest of a dict of sizes span too large a matrix."""
    second, first = sorted(sizes, key=sizes.get)[-2:]
    if sizes[first] * sizes[second] > LARGEST_MATRIX:
        raise ValueError(
            f"{first}={sizes[first]} and {second}={sizes[second]} are too large: a matrix of both "
            f"would hold more than {LARGEST_MATRIX} numbers."
        )
