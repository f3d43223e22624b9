"""The forecasters that `kerastrans.select` tries, the cheap ones first."""

import numpy as np

from kerastrans import heads
from kerastrans.data.time.seasons import season_of
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.forecasting.presets.pretrained import from_pretrained
from kerastrans.models import registry
from kerastrans.models.parts.ensemble import at_levels, with_residuals

LEVELS = heads.QuantileHead().levels
NAIVE = "seasonal_naive"
PRETRAINED = "kerastrans_zero"
# Architecture, whether it knows the calendar, and its seed; the rest is by default.
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
WINDOWS = 1000  # that the residuals of a naive forecast are read off, at most


def made(candidate, frame, prediction_length, freq, time_limit, static, *, seed, **columns):
    """A forecaster: naive, pretrained, or trained by default.

    Args:
        candidate: one of `CANDIDATES`, or that of `NAIVE`.
        frame: long.
        prediction_length: int.
        freq: str, pandas frequency.
        time_limit: float, seconds of a training.
        static: frame of static covariates, or None.
        seed: int, to which the candidate's own is added.
        **columns: "past" and "future", names of covariates.
    """
    name, calendar, own_seed = candidate
    if name == NAIVE:
        return naive(frame, prediction_length, freq, seed=seed)
    if name == PRETRAINED:
        return pretrained(frame, prediction_length, freq, seed)
    options = {"calendar": calendar, "seed": seed + own_seed, **columns}
    forecaster = Forecaster(name, prediction_length=prediction_length, **options)
    return forecaster.fit(frame, static=static, freq=freq, time_limit=time_limit, verbose=0)


def pretrained(frame, prediction_length, freq, seed):
    """Weights that come with the package, at the levels of the other candidates.

    Args:
        frame: long, as `Forecaster.fit` takes it.
        prediction_length: int.
        freq: str, pandas frequency.
        seed: int.
    """
    published = from_pretrained(PRETRAINED, prediction_length, verbose=False)
    size = published.config.context_length, prediction_length
    model = at_levels(published.model, LEVELS)
    forecaster = Forecaster(model, *size, scaler=None, alias=PRETRAINED, seed=seed)
    return forecaster.fit(frame, freq=freq, epochs=0)


def naive(frame, prediction_length, freq, **options):
    """The season before, with the quantiles of its own errors on this frame at each step.

    Args:
        frame: long, as `Forecaster.fit` takes it.
        prediction_length: int.
        freq: str, pandas frequency.
        **options: of `Forecaster`.

    Returns:
        A `Forecaster` that needs no training.
    """
    longest = int(frame.groupby("unique_id").size().max())
    season = season_of(freq)
    season = season if 2 * season <= longest else 1
    context_length = max(2 * season, 3)
    # Covariates would need weights.
    options = {key: options[key] for key in options.keys() & {"seed", "short"}}
    size = context_length, prediction_length
    points = Forecaster(NAIVE, *size, season=season, **options).fit(frame, freq=freq)
    panel = points.reader.panel(frame)
    lengths = panel.cuts - panel.begins
    rows = [
        (series, cut)
        for series, (begin, length) in enumerate(zip(panel.begins, lengths, strict=True))
        for cut in range(begin + min(season, length - 1) + 1, begin + length)
    ]
    rows = np.array(rows[:: -(-len(rows) // WINDOWS) or 1]).reshape(-1, 2)
    model = registry.build(NAIVE, *size, 1, season=season)
    model = with_residuals(model, _residuals(points, panel, rows, prediction_length), LEVELS)
    return Forecaster(model, *size, alias=NAIVE, **options).fit(frame, freq=freq, epochs=0)


def _residuals(points, panel, rows, prediction_length):
    """Quantiles of the errors of each step, `(prediction_length, levels)`, in windows' scales."""
    if not len(rows):
        return np.zeros((prediction_length, len(LEVELS)))
    windows = windows_of(points.fitted, panel, *rows.T)
    forecasts = forecast_windows(points.fitted, windows)
    ends = panel.cuts[windows.series][:, None, None]
    steps = windows.cuts[:, None, None] + np.arange(prediction_length)[:, None]
    inside = steps < ends
    targets = panel.values[np.minimum(steps[..., 0], len(panel.values) - 1)]
    errors = (np.where(inside, targets, np.nan) - forecasts.parameters) / forecasts.scale
    errors = errors[..., 0]
    # Of a step that is seldom known the errors of the steps before it count too.
    found = np.zeros((prediction_length, len(LEVELS)))
    for step in range(prediction_length):
        known = errors[:, step][np.isfinite(errors[:, step])]
        if len(known) < 20 and step:
            found[step] = found[step - 1]
        elif len(known):
            found[step] = np.quantile(known, LEVELS)
    return found
