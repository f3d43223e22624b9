"""Data frames, panels, splits, scaling, windows and teacher-forcing pairs."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
