"""Former names, which go on for two minor versions and say so."""

import warnings


def warn_former_name(kind: str, former: str, name: str, *, since: str, until: str) -> None:
    """Warn of a name that has another one now.

    Args:
        kind: What it names, such as "architecture".
        former: The name that was given.
        name: The name to give instead.
        since: The version that renamed it.
        until: The version without the former name, two minor ones later at the earliest.

    Warns:
        FutureWarning: Shown to users too, unlike a `DeprecationWarning`.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_former_name("loss", "pinball", "crps", since="0.2", until="0.4")
        >>> print(caught[0].message)
        the loss 'pinball' is 'crps' since 0.2: version 0.4 will no longer know its former name.
    """
    message = (
        f"the {kind} {former!r} is {name!r} since {since}: version {until} will no longer know its "
        "former name."
    )
    warnings.warn(message, FutureWarning, stacklevel=3)
