"""Contract checks for models and forecasters, including custom ones."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
