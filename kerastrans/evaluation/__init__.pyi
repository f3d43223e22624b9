"""Written by tools/checks/stubs.py from kerastrans/evaluation/__init__.py."""

from kerastrans.evaluation import backtesting as backtesting
from kerastrans.evaluation import baselines as baselines
from kerastrans.evaluation import calibration as calibration
from kerastrans.evaluation.calibration import coverage_tests as coverage_tests, randomized_pit as randomized_pit, reliability as reliability
from kerastrans.evaluation import columns as columns
from kerastrans.evaluation import crps as crps
from kerastrans.evaluation.crps import crps_negative_binomial as crps_negative_binomial, crps_student_t as crps_student_t, threshold_weighted as threshold_weighted
from kerastrans.evaluation import intermittent as intermittent
from kerastrans.evaluation.intermittent import intermittent_backtests as intermittent_backtests
from kerastrans.evaluation import metrics as metrics
from kerastrans.evaluation import model_sets as model_sets
from kerastrans.evaluation.model_sets import bootstrap_interval as bootstrap_interval, mean_ranks as mean_ranks, model_confidence_set as model_confidence_set
from kerastrans.evaluation import naive2 as naive2
from kerastrans.evaluation.naive2 import naive2_backtest as naive2_backtest
from kerastrans.evaluation import path_scores as path_scores
from kerastrans.evaluation.path_scores import energy_score as energy_score, score_paths as score_paths, variogram_score as variogram_score
from kerastrans.evaluation import plotting as plotting
from kerastrans.evaluation import report as report
from kerastrans.evaluation import statistical as statistical
from kerastrans.evaluation.statistical import statistical_backtests as statistical_backtests
from kerastrans.evaluation import windows as windows
from kerastrans.evaluation.windows import ForecastError as ForecastError, compare as compare, forecast_windows as forecast_windows, last_value as last_value, seasonal_naive as seasonal_naive
