"""Candidates of `kerastrans.select`, in training order, and the folder that stores them."""

import contextlib
import json
import warnings
from pathlib import Path

import numpy as np

from kerastrans import heads
from kerastrans.data.covariates import Covariates
from kerastrans.data.time.seasons import shortest_season
from kerastrans.decoding.graph import history_input
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.forecasting.training.defaults import LONG_CONTEXT
from kerastrans.forecasting.training.fallback import build_published
from kerastrans.forecasting.training.spread import UnmeasuredSpreadWarning
from kerastrans.forecasting.training.time_limit import TimeLimitWarning
from kerastrans.models import registry
from kerastrans.models.parts.ensemble import at_levels, with_residuals
from kerastrans.models.pretrained.shipped import DEFAULT as PRETRAINED
from kerastrans.utils.files import new_file, read_json
from kerastrans.utils.identity import differing, fingerprints

SETTINGS_FILE = "selection.json"

QUANTILES = heads.QuantileHead().levels
NAIVE = "seasonal_naive"
# Architecture, whether it has calendar features, and seed; all other options have their defaults.
CANDIDATES = (
    (PRETRAINED, False, 0),
    ("rlinear", False, 0),
    ("tide", True, 0),
    ("decoder_transformer", False, 0),
    ("nhits", False, 0),
    ("tide", False, 0),
    ("patchtst", True, 0),
    ("patchtst", False, 0),
    ("nhits", True, 1),
    ("tide", True, 1),
    ("patchtst", True, 1),
)
MAX_RESIDUAL_WINDOWS = 1000  # windows to measure the residuals of the naive forecast on
MIN_RESIDUALS = 20  # residuals that the quantiles of a step require


def train_candidate(
    candidate, frame, prediction_length, freq, time_limit, static, *, seed, **columns
):
    """Return the forecaster of a candidate: naive, pretrained, or trained with default options.

    Args:
        candidate: One of `CANDIDATES`, or the tuple of `NAIVE`.
        frame: Long frame.
        prediction_length: int, number of steps to forecast.
        freq: str, pandas frequency.
        time_limit: float, maximum seconds of training, which need not be above 0 for the naive.
        static: Frame of static covariates, or None.
        seed: int, added to the seed of the candidate.
        **columns: Names of covariates, "past" and "future".
    """
    name, calendar, candidate_seed = candidate
    if name == NAIVE:
        return fit_naive(frame, prediction_length, freq, seed=seed)
    if name == PRETRAINED:
        return load_pretrained(frame, prediction_length, freq, seed, **columns)
    options = {"calendar": calendar, "seed": seed + candidate_seed, **columns}
    forecaster = Forecaster(name, prediction_length=prediction_length, **options)
    with warnings.catch_warnings():  # candidates are scored on rows that select holds out
        warnings.simplefilter("ignore", UnmeasuredSpreadWarning)
        warnings.simplefilter("ignore", TimeLimitWarning)  # the limit is that of select
        return forecaster.fit(frame, static=static, freq=freq, time_limit=time_limit, verbose=0)


def load_pretrained(frame, prediction_length, freq, seed, **columns):
    """Return the pretrained model of the package, with the same quantiles as other candidates.

    It takes the effects of covariates from each window, without training.

    Args:
        frame: Long frame.
        prediction_length: int, number of steps to forecast.
        freq: str, pandas frequency.
        seed: int, seed of the forecaster.
        **columns: Names of covariates, "past" and "future".
    """
    covariates = Covariates.of(frame, **columns)
    max_context = LONG_CONTEXT * _longest(frame)  # so that longer series can follow
    model, _ = build_published(prediction_length, covariates, freq, max_context)
    size = history_input(model).shape[1], prediction_length
    options = {"scaler": None, "alias": PRETRAINED, "seed": seed, **columns}
    forecaster = Forecaster(at_levels(model, QUANTILES), *size, **options)
    return forecaster.fit(frame, freq=freq, epochs=0)


def fit_naive(frame, prediction_length, freq, season=None, seed=0):
    """Return a seasonal naive forecaster whose quantiles come from its errors on this frame.

    Args:
        frame: Long frame.
        prediction_length: int, number of steps to forecast.
        freq: str, pandas frequency.
        season: int, number of steps of a season; by default the shortest one of the frequency.
        seed: int, seed of the forecaster.
    """
    season = season or shortest_season(freq, _longest(frame))
    size = max(2 * season, 3), prediction_length  # context and forecast
    points = Forecaster(NAIVE, *size, season=season, seed=seed).fit(frame, freq=freq)
    panel = points.reader.panel(frame)
    # Forecast from every row that has a season of history before it.
    origins = [
        (series, cut)
        for series, (begin, length) in enumerate(zip(panel.begins, panel.lengths, strict=True))
        for cut in range(begin + min(season, length - 1) + 1, begin + length)
    ]
    # Keep every n-th of them, with n rounded up, so that at most MAX_RESIDUAL_WINDOWS remain.
    every = -(-len(origins) // MAX_RESIDUAL_WINDOWS) or 1
    origins = np.array(origins[::every]).reshape(-1, 2)
    model = registry.build(NAIVE, *size, 1, season=season)
    residuals = _residual_quantiles(points, panel, origins, prediction_length)
    model = with_residuals(model, residuals, QUANTILES)
    return Forecaster(model, *size, alias=NAIVE, seed=seed).fit(frame, freq=freq, epochs=0)


def _longest(frame):
    """Return the number of rows of the longest series of a long frame."""
    return int(frame.groupby("unique_id").size().max())


def _residual_quantiles(points, panel, origins, prediction_length):
    """Return the quantiles of the errors of each step, in units of the scales of the windows.

    Args:
        points: Trained `Forecaster` with a point head.
        panel: `Panel` of the history.
        origins: Ints `(windows, 2)`, the series of each window and its cut.
        prediction_length: int, number of steps to forecast.

    Returns:
        Array `(prediction_length, quantiles)`.
    """
    if not len(origins):
        return np.zeros((prediction_length, len(QUANTILES)))
    windows = windows_of(points.fitted, panel, *origins.T)
    forecasts = forecast_windows(points.fitted, windows)
    # Targets `(windows, prediction_length, 1)`, NaN after the end of a series. The panel holds all
    # series in one array, so that rows after the end belong to the next series.
    rows = windows.cuts[:, None] + np.arange(prediction_length)
    is_known = rows < panel.cuts[windows.series][:, None]
    targets = panel.values[np.minimum(rows, len(panel.values) - 1)]
    targets = np.where(is_known[..., None], targets, np.nan)
    errors = ((targets - forecasts.parameters) / forecasts.units)[..., 0]
    # If few targets are known at a step, use the quantiles of the step before it.
    quantiles = np.zeros((prediction_length, len(QUANTILES)))
    for step in range(prediction_length):
        known = errors[:, step][np.isfinite(errors[:, step])]
        if len(known) < MIN_RESIDUALS and step:
            quantiles[step] = quantiles[step - 1]
        elif len(known):
            quantiles[step] = np.quantile(known, QUANTILES)
    return quantiles


class CandidateStore:
    """Store of trained candidates by number, in a folder if one is given.

    Several processes may share a folder: a candidate is that of the process that was first.

    Args:
        folder: Path of the folder, which is created if it does not exist; None to store nothing.
        settings: Dict of everything that determines the selection, see `fingerprint`.

    Raises:
        ValueError: If the folder belongs to another selection. The message names the settings that
            differ.
    """

    def __init__(self, folder, settings):
        self.folder = None if folder is None else Path(folder)
        if self.folder is None:
            return
        settings, path = fingerprints(settings), self.folder / SETTINGS_FILE
        with contextlib.suppress(FileExistsError), new_file(path) as unfinished:
            unfinished.write_text(json.dumps(settings, indent=2) + "\n")
        if others := differing(read_json(path, {}), settings):
            raise ValueError(
                f"{self.folder} holds a selection with other {', '.join(others)}: give another "
                "folder, or delete this one."
            )

    def has(self, number):
        """Return whether a candidate is stored."""
        return self.folder is not None and (self.folder / str(number)).is_dir()

    def get(self, number, train):
        """Return a stored candidate, or train and store it."""
        if not self.has(number):
            forecaster = train()
            if self.folder is None:
                return forecaster
            with contextlib.suppress(FileExistsError):  # another process was faster
                forecaster.save(self.folder / str(number))
                return forecaster
        return Forecaster.load(self.folder / str(number))
