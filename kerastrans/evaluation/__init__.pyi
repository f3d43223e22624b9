"""Written by tools/checks/stubs.py from kerastrans/evaluation/__init__.py."""

from kerastrans.evaluation import backtesting as backtesting
from kerastrans.evaluation import baselines as baselines
from kerastrans.evaluation import columns as columns
from kerastrans.evaluation import metrics as metrics
from kerastrans.evaluation import naive2 as naive2
from kerastrans.evaluation.naive2 import naive2_backtest as naive2_backtest
from kerastrans.evaluation import path_scores as path_scores
from kerastrans.evaluation.path_scores import energy_score as energy_score, score_paths as score_paths, variogram_score as variogram_score
from kerastrans.evaluation import plotting as plotting
from kerastrans.evaluation import report as report
from kerastrans.evaluation import windows as windows
from kerastrans.evaluation.windows import ForecastError as ForecastError, compare as compare, forecast_windows as forecast_windows, last_value as last_value, seasonal_naive as seasonal_naive
