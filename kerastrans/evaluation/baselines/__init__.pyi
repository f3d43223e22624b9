"""The public names, which are imported on first use."""

from .intermittent import intermittent_backtests as intermittent_backtests
from .naive import (
    best_naive as best_naive,
    best_of as best_of,
    naive_backtests as naive_backtests,
    verdicts as verdicts,
)
from .naive2 import naive2_backtest as naive2_backtest
from .statistical import statistical_backtests as statistical_backtests
