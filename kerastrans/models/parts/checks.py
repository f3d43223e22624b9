"""The checks that every builder of a direct model makes, as one decorator."""

import functools
import inspect

from kerastrans import heads
from kerastrans.models.architecture import OPTIONS
from kerastrans.utils.backend import is_out_of_memory
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

    What an argument has to be is read from its name and its default. The three sizes of the
    contract, and what is an integer by default, are positive integers; what is None by default is
    one or None. What is a bool or a tuple by default is one, a `dropout` or `..._dropout` is in
    [0, 1), and `num_heads` divides `d_model`. Two sizes whose matrix is larger than int32 indices
    reach are refused, and so is a model that does not fit into memory. The builder gets `head` as
    a `kerastrans.heads.Head`.

    Args:
        build: function of `context_length`, `prediction_length`, `num_channels` and, by keyword,
            hyperparameters with defaults and perhaps `head`.

    Returns:
        The function with its checks.

    Raises:
        ValueError: When it is called with an argument that is not as it should be.

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
        try:
            return build(*bound.args, **bound.kwargs)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            sizes = ", ".join(f"{name}={bound.arguments[name]}" for name in SIZES)
            raise ValueError(f"no memory for a model of {sizes}: make it smaller.") from error

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
        optional = default is None and name not in OPTIONS
        if name in SIZES or type(default) is int or (optional and value is not None):
            sizes[name] = value
    check_sizes(**sizes)
    if {"num_heads", "d_model"} <= sizes.keys():
        check_divides(num_heads=sizes["num_heads"], d_model=sizes["d_model"])
    for name, value in arguments.items():
        if name.endswith("dropout"):
            check_dropout(value, name)
        elif type(defaults[name]) is bool:
            check_choice(name, value, (False, True))
        elif type(defaults[name]) is tuple and not isinstance(value, tuple | list):
            raise ValueError(f"{name} must be a tuple or a list, got {value!r}.")


def check_sizes(**sizes):
    """Raise ValueError for a size below 1, or two that span too large a matrix."""
    check_positive_integers(**sizes)
    second, first = sorted(sizes, key=sizes.get)[-2:]
    if sizes[first] * sizes[second] > LARGEST_MATRIX:
        raise ValueError(
            f"{first}={sizes[first]} and {second}={sizes[second]} are too large: a matrix of both "
            f"would hold more than {LARGEST_MATRIX} numbers."
        )
