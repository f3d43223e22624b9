"""Checks, hints and solutions for the exercises of the lessons."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "course": ("check", "hint", "numbers", "solution"),
        "exercise": ("Exercise", "Verdict"),
    },
)
