"""Baselines for the rows of a backtest: naive, intermittent and statistical forecasts."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
