"""Baselines for the rows of a backtest: naive, intermittent and statistical forecasts."""

from kerastrans.utils.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "intermittent": ("intermittent_backtests",),
        "naive": ("best_naive", "best_of", "naive_backtests", "verdicts"),
        "naive2": ("naive2_backtest",),
        "statistical": ("statistical_backtests",),
    },
    with_modules=False,
)
