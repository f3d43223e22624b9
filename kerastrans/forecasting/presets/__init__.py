"""Trained forecasters by name: find, load, write and upload them."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "catalog": ("card", "check", "evaluate", "load", "load_trained", "write"),
        "sources": ("FOLDER", "names"),
    },
)
