"""Checks, hints and solutions for the exercises of the lessons, and the scorer of the capstone."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "capstone.sales": ("load_capstone",),
        "capstone.rubric": ("Criterion", "Scorecard"),
        "capstone.score": ("score_capstone",),
        "course": ("check", "hint", "numbers", "solution"),
        "exercise": ("Exercise", "Verdict"),
    },
)
