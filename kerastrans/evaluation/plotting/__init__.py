"""Plots of forecasts, backtests and models. Every function returns a matplotlib Figure."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
