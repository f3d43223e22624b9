"""Candidates of `kerastrans.select`, in the order in which they are trained."""

import numpy as np

from kerastrans import heads
from kerastrans.data.time.seasons import season_of
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.forecasting.presets.pretrained import from_pretrained
from kerastrans.models import registry
from kerastrans.models.parts.ensemble import at_levels, with_residuals

QUANTILES = heads.QuantileHead().levels
NAIVE = "seasonal_naive"
PRETRAINED = "kerastrans_zero"
# Architecture, whether it has calendar features, and seed; the other options are the defaults.
CANDIDATES = (
    (PRETRAINED, False, 0),
    ("rlinear", False, 0),
    ("tide", True, 0),
    ("nhits", False, 0),
    ("tide", False, 0),
    ("patchtst", True, 0),
    ("patchtst", False, 0),
    ("nhits", True, 1),
    ("tide", True, 1),
    ("patchtst", True, 1),
)
MAX_RESIDUAL_WINDOWS = 1000  # windows to measure the residuals of the naive forecast on


def train_candidate(
    candidate, frame, prediction_length, freq, time_limit, static, *, seed, **columns
):
    """Return the forecaster of a candidate: naive, pretrained, or trained by default.

    Args:
        candidate: One of `CANDIDATES`, or that of `NAIVE`.
        frame: Long frame.
        prediction_length: int, number of steps to forecast.
        freq: str, pandas frequency.
        time_limit: float, seconds for the training.
        static: Frame of static covariates, or None.
        seed: int, added to the seed of the candidate.
        **columns: "past" and "future", names of covariates.
    """
    name, calendar, candidate_seed = candidate
    if name == NAIVE:
        return fit_naive(frame, prediction_length, freq, seed=seed)
    if name == PRETRAINED:
        return load_pretrained(frame, prediction_length, freq, seed)
    options = {"calendar": calendar, "seed": seed + candidate_seed, **columns}
    forecaster = Forecaster(name, prediction_length=prediction_length, **options)
    return forecaster.fit(frame, static=static, freq=freq, time_limit=time_limit, verbose=0)


def load_pretrained(frame, prediction_length, freq, seed):
    """Return the pretrained model of the package, with the quantiles of the other candidates.

    Args:
        frame: Long frame.
        prediction_length: int, number of steps to forecast.
        freq: str, pandas frequency.
        seed: int, seed of the forecaster.
    """
    published = from_pretrained(PRETRAINED, prediction_length, verbose=False)
    size = published.config.context_length, prediction_length
    model = at_levels(published.model, QUANTILES)
    forecaster = Forecaster(model, *size, scaler=None, alias=PRETRAINED, seed=seed)
    return forecaster.fit(frame, freq=freq, epochs=0)


def fit_naive(frame, prediction_length, freq, **options):
    """Return the seasonal naive forecaster, with the quantiles of its errors on this frame.

    Args:
        frame: Long frame.
        prediction_length: int, number of steps to forecast.
        freq: str, pandas frequency.
        **options: Options of `Forecaster`; only "seed" and "short" are used, because covariates
            would require weights.
    """
    longest = int(frame.groupby("unique_id").size().max())
    season = season_of(freq)
    season = season if 2 * season <= longest else 1
    context_length = max(2 * season, 3)
    options = {key: options[key] for key in options.keys() & {"seed", "short"}}
    size = context_length, prediction_length
    points = Forecaster(NAIVE, *size, season=season, **options).fit(frame, freq=freq)
    panel = points.reader.panel(frame)
    rows = [
        (series, cut)
        for series, (begin, length) in enumerate(zip(panel.begins, panel.lengths, strict=True))
        for cut in range(begin + min(season, length - 1) + 1, begin + length)
    ]
    rows = np.array(rows[:: -(-len(rows) // MAX_RESIDUAL_WINDOWS) or 1]).reshape(-1, 2)
    model = registry.build(NAIVE, *size, 1, season=season)
    residuals = _residual_quantiles(points, panel, rows, prediction_length)
    model = with_residuals(model, residuals, QUANTILES)
    return Forecaster(model, *size, alias=NAIVE, **options).fit(frame, freq=freq, epochs=0)


def _residual_quantiles(points, panel, rows, prediction_length):
    """Return the quantiles of the errors of each step, in units of the scales of the windows.

    Args:
        points: `Forecaster` of points.
        panel: `Panel`.
        rows: Ints `(windows, 2)`, series and cut of each window.
        prediction_length: int, number of steps to forecast.

    Returns:
        Array `(prediction_length, quantiles)`.
    """
    if not len(rows):
        return np.zeros((prediction_length, len(QUANTILES)))
    windows = windows_of(points.fitted, panel, *rows.T)
    forecasts = forecast_windows(points.fitted, windows)
    # Targets `(windows, prediction_length, 1)`, NaN after the end of a series.
    rows = windows.cuts[:, None] + np.arange(prediction_length)
    is_known = rows < panel.cuts[windows.series][:, None]
    targets = panel.values[np.minimum(rows, len(panel.values) - 1)]
    targets = np.where(is_known[..., None], targets, np.nan)
    errors = ((targets - forecasts.parameters) / forecasts.scale)[..., 0]
    # A step with few known targets is given the quantiles of the step before it.
    quantiles = np.zeros((prediction_length, len(QUANTILES)))
    for step in range(prediction_length):
        known = errors[:, step][np.isfinite(errors[:, step])]
        if len(known) < 20 and step:
            quantiles[step] = quantiles[step - 1]
        elif len(known):
            quantiles[step] = np.quantile(known, QUANTILES)
    return quantiles
