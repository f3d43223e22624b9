"""The public names, which are imported on first use."""

from . import backtesting as backtesting
from . import baselines as baselines
from .baselines import (
    intermittent_backtests as intermittent_backtests,
    naive2_backtest as naive2_backtest,
    statistical_backtests as statistical_backtests,
)
from . import columns as columns
from . import plotting as plotting
from . import report as report
from .scores import crps as crps
from .scores.crps import (
    crps_negative_binomial as crps_negative_binomial,
    crps_student_t as crps_student_t,
    threshold_weighted as threshold_weighted,
)
from .scores import metrics as metrics
from .scores import path_scores as path_scores
from .scores.path_scores import (
    energy_score as energy_score,
    score_paths as score_paths,
    variogram_score as variogram_score,
)
from .scores import windows as windows
from .scores.windows import (
    ForecastError as ForecastError,
    compare as compare,
    forecast_windows as forecast_windows,
    last_value as last_value,
    seasonal_naive as seasonal_naive,
)
from .significance import calibration as calibration
from .significance.calibration import (
    coverage_tests as coverage_tests,
    randomized_pit as randomized_pit,
    reliability as reliability,
)
from .significance import model_sets as model_sets
from .significance.model_sets import (
    geometric_mean_interval as geometric_mean_interval,
    mean_ranks as mean_ranks,
    model_confidence_set as model_confidence_set,
)
