"""Deprecated names, which are accepted with a warning for two minor versions."""

import warnings


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
