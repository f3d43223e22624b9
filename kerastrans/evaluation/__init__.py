"""Evaluation of forecasts: metrics, scores of backtests, baselines, plots and HTML reports."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)
