"""Keras layers for sequence forecasting, one idea per file."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
