"""Written by tools/checks/stubs.py from kerastrans/evaluation/baselines/__init__.py."""

from kerastrans.evaluation.baselines.intermittent import intermittent_backtests as intermittent_backtests
from kerastrans.evaluation.baselines.naive import best_naive as best_naive, best_of as best_of, naive_backtests as naive_backtests, verdicts as verdicts
from kerastrans.evaluation.baselines.naive2 import naive2_backtest as naive2_backtest
from kerastrans.evaluation.baselines.statistical import statistical_backtests as statistical_backtests
