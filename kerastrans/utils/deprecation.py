"""Deprecated names and positional arguments, accepted with a warning for two minor versions."""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from kerastrans.utils.user_warnings import warn_user

P = ParamSpec("P")
R = TypeVar("R")


def warn_former_name(kind: str, former: str, name: str, *, since: str, until: str) -> None:
    """Warn that a name has been replaced by another one.

    Args:
        kind: What the name refers to, such as "architecture".
        former: The name that was given.
        name: The name to use instead.
        since: The version that renamed it.
        until: The version that removes the former name, at least two minor versions later.

    Warns:
        FutureWarning: Unlike a `DeprecationWarning` it is also shown to users.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_former_name("loss", "pinball", "crps", since="0.2", until="0.4")
        >>> print(caught[0].message)
        the loss 'pinball' was renamed to 'crps' in 0.2; version 0.4 will not accept the former
        name.
    """
    message = (
        f"the {kind} {former!r} was renamed to {name!r} in {since}; version {until} will not "
        "accept the former name."
    )
    warnings.warn(message, FutureWarning, stacklevel=3)


def positional_until(until: str, *names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function so that arguments which are now keyword-only may still be positional.

    Args:
        until: The version that accepts these arguments only by name.
        *names: Names of the arguments in their former positional order, after those that are
            still positional.

    Warns:
        FutureWarning: If an argument is given by position; the message spells the keywords.

    Example:
        >>> import warnings
        >>> @positional_until("0.5", "width", "depth")
        ... def volume(height, *, depth, width):
        ...     return height, depth, width
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     print(volume(1, 2, depth=3))
        (1, 3, 2)
        >>> print(caught[0].message)
        volume: name the argument, width=2; version 0.5 will not accept it by position.
    """

    def decorate(function):
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        signature = inspect.signature(function)
        count = sum(parameter.kind in kinds for parameter in signature.parameters.values())

        @functools.wraps(function)
        def named(*args, **kwargs):
            former = args[count:]
            if not 0 < len(former) <= len(names):
                return function(*args, **kwargs)
            given = dict(zip(names, former, strict=False))
            spelt = ", ".join(f"{name}={value!r}" for name, value in given.items())
            is_class = function.__name__ == "__init__"
            name = type(args[0]).__name__ if is_class else function.__qualname__
            argument, it = ("argument", "it") if len(given) == 1 else ("arguments", "them")
            warn_user(
                f"{name}: name the {argument}, {spelt}; version {until} will not accept {it} by "
                "position.",
                FutureWarning,
            )
            return function(*args[:count], **given, **kwargs)

        named.__signature__ = signature  # Keras reads that of an `__init__`, without unwrapping
        return named

    return decorate
