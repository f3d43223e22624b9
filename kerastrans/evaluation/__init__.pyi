"""Written by tools/checks/stubs.py from kerastrans/evaluation/__init__.py."""

from kerastrans.evaluation import backtesting as backtesting
from kerastrans.evaluation import baselines as baselines
from kerastrans.evaluation.baselines import intermittent_backtests as intermittent_backtests, naive2_backtest as naive2_backtest, statistical_backtests as statistical_backtests
from kerastrans.evaluation import columns as columns
from kerastrans.evaluation import plotting as plotting
from kerastrans.evaluation import report as report
from kerastrans.evaluation.scores import crps as crps
from kerastrans.evaluation.scores.crps import crps_negative_binomial as crps_negative_binomial, crps_student_t as crps_student_t, threshold_weighted as threshold_weighted
from kerastrans.evaluation.scores import metrics as metrics
from kerastrans.evaluation.scores import path_scores as path_scores
from kerastrans.evaluation.scores.path_scores import energy_score as energy_score, score_paths as score_paths, variogram_score as variogram_score
from kerastrans.evaluation.scores import windows as windows
from kerastrans.evaluation.scores.windows import ForecastError as ForecastError, compare as compare, forecast_windows as forecast_windows, last_value as last_value, seasonal_naive as seasonal_naive
from kerastrans.evaluation.significance import calibration as calibration
from kerastrans.evaluation.significance.calibration import coverage_tests as coverage_tests, randomized_pit as randomized_pit, reliability as reliability
from kerastrans.evaluation.significance import model_sets as model_sets
from kerastrans.evaluation.significance.model_sets import geometric_mean_interval as geometric_mean_interval, mean_ranks as mean_ranks, model_confidence_set as model_confidence_set
