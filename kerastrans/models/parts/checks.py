"""Argument checks of the builders, as one decorator."""

import functools
import inspect

import keras
import numpy as np

from kerastrans import heads
from kerastrans.models.parts.contract import OPTIONS
from kerastrans.models.parts.features import check_top, remove_top
from kerastrans.utils.backend import is_out_of_memory
from kerastrans.utils.validation import (
    check_choice,
    check_divides,
    check_dropout,
    check_integer,
    check_non_negative,
    check_positive_integers,
)

SIZES = ("context_length", "prediction_length", "num_channels")  # first in every builder
MAX_MATRIX_SIZE = 2**31 - 1  # largest int32 index of the backends; 8.6 GB of float32


def checked(build=None, *, may_be_zero=(), may_be_tuple=()):
    """Decorate a builder so that it checks its arguments and resolves its head.

    The arguments are checked before any work, by their names and defaults:

    - `context_length`, `prediction_length`, `num_channels` and arguments whose default is an
      integer must be positive integers.
    - Arguments whose default is None, except `head` and `covariates`, must be None or a positive
      integer.
    - Those of them that are named in `may_be_zero` may be 0 too, and those in `may_be_tuple` a
      tuple or a list of positive integers, see `one_each`.
    - Arguments whose default is a bool must be a bool, those whose default is a tuple a tuple or a
      list.
    - `dropout` and `..._dropout` must be in [0, 1), other arguments whose default is a float must
      be at least 0, and `num_heads` must divide `d_model`.
    - A matrix of the two largest sizes must not have more numbers than int32 can index.

    The function also takes `include_top` and `pooling`, see `kerastrans.zoo.build`. A model that
    does not fit into memory raises an error too. The builder receives `head` as a
    `kerastrans.heads.Head`, and a default name with a number if a model already has it, as Keras
    names layers: "tide", "tide_1".

    Args:
        build: Function of `context_length`, `prediction_length`, `num_channels` and, by keyword,
            hyperparameters with defaults and optionally `head`.
        may_be_zero: Names of integer arguments that may be 0.
        may_be_tuple: Names of integer arguments that may have several values.

    Returns:
        The function with its checks. It raises ValueError for an invalid argument.

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
    if build is None:
        return functools.partial(checked, may_be_zero=may_be_zero, may_be_tuple=may_be_tuple)
    signature = inspect.signature(build)
    defaults = {name: parameter.default for name, parameter in signature.parameters.items()}

    @functools.wraps(build)
    def checked_build(*args, include_top=True, pooling=None, **kwargs):
        bound = signature.bind(*args, **kwargs)
        is_named = "name" in bound.arguments or "name" not in defaults
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            if isinstance(value, np.generic):  # a size that NumPy or pandas computed
                bound.arguments[key] = value.item()
        check_arguments(bound.arguments, defaults, may_be_zero, may_be_tuple)
        features = build.__globals__.get("ARCHITECTURE", {}).get("features", "")
        check_top(defaults.get("name"), features, include_top, pooling, bound.arguments.get("head"))
        if "head" in bound.arguments:
            bound.arguments["head"] = heads.get(bound.arguments["head"])
        if not is_named:
            bound.arguments["name"] = unique_name(defaults["name"])
        try:
            model = build(*bound.args, **bound.kwargs)
            return model if include_top else remove_top(model, features, pooling)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            sizes = ", ".join(f"{name}={bound.arguments[name]}" for name in SIZES)
            raise ValueError(
                f"not enough memory for a model of {sizes}: make it smaller."
            ) from error

    return checked_build


def unique_name(name):
    """Return a name for a new model: the first one has `name` itself, the second one `name_1`."""
    count = keras.backend.get_uid(name) - 1
    return f"{name}_{count}" if count else name


def check_arguments(arguments, defaults, may_be_zero=(), may_be_tuple=()):
    """Raise ValueError for the first argument of a builder that breaks a rule of `checked`.

    Args:
        arguments: Dict of all arguments.
        defaults: Dict of their defaults.
        may_be_zero: Names of integer arguments that may be 0.
        may_be_tuple: Names of integer arguments that may have several values.
    """
    sizes = {}
    for name, value in arguments.items():
        default = defaults[name]
        optional = default is None and name not in OPTIONS
        if name in SIZES or type(default) is int or (optional and value is not None):
            if name in may_be_zero:
                check_integer(name, value, 0)
            elif name in may_be_tuple and isinstance(value, tuple | list):
                sizes |= {f"{name}[{i}]": x for i, x in enumerate(value)}
            else:
                sizes[name] = value
    check_sizes(**sizes)
    if {"num_heads", "d_model"} <= sizes.keys():
        check_divides(num_heads=sizes["num_heads"], d_model=sizes["d_model"])
    for name, value in arguments.items():
        if name.endswith("dropout"):
            check_dropout(value, name)
        elif type(defaults[name]) is float:
            check_non_negative(**{name: value})
        elif type(defaults[name]) is bool:
            check_choice(name, value, (False, True))
        elif type(defaults[name]) is tuple and not isinstance(value, tuple | list):
            raise ValueError(f"{name} must be a tuple or a list, got {value!r}.")


def one_each(name, value, count, items):
    """Return a tuple of `count` sizes from an argument that is one size, or a tuple of them.

    Args:
        name: Name of the argument.
        value: int, or a tuple or a list of int, one for each item.
        count: int, number of items.
        items: str, noun for the items in the message.

    Raises:
        ValueError: If the number of sizes is another one.

    Example:
        >>> one_each("hidden_dim", 8, 2, "stacks")
        (8, 8)
    """
    values = tuple(value) if isinstance(value, tuple | list) else (value,) * count
    if len(values) != count:
        raise ValueError(f"{name} must have one number for each of {count} {items}, got {value}.")
    return values


def check_scales(num_scales, context_length):
    """Raise ValueError if a context is too short for the coarsest of several resolutions."""
    shortest = 2 ** (num_scales - 1)
    if shortest > context_length:
        raise ValueError(
            f"num_scales={num_scales} needs a context of at least {shortest} steps, got "
            f"{context_length}."
        )


def check_sizes(**sizes):
    """Raise ValueError for a size below 1, or two sizes whose matrix would be too large."""
    check_positive_integers(**sizes)
    second, first = sorted(sizes, key=sizes.get)[-2:]
    if sizes[first] * sizes[second] > MAX_MATRIX_SIZE:
        raise ValueError(
            f"{first}={sizes[first]} and {second}={sizes[second]} are too large: a matrix of both "
            f"would hold more than {MAX_MATRIX_SIZE} numbers."
        )
