"""Contract checks for models and forecasters, including custom ones."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "cases": ("example_inputs", "example_windows"),
        "forecasters": ("check_forecaster",),
        "models": ("check_model",),
        "reports": ("CheckReport", "CheckResult"),
    },
)
