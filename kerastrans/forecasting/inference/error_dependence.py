"""Dependence of the forecast errors of a fitted state, learnt from outcomes."""

import numpy as np

from kerastrans import heads
from kerastrans.decoding.contract import patch_dependence_of
from kerastrans.forecasting.dependence import Dependence
from kerastrans.forecasting.inference.marginals import head_scores, scores_of
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.utils.batch_sizes import BATCH
from kerastrans.utils.user_warnings import warn_user

MAX_WINDOWS = 1024  # of the history that a dependence is learnt from
MAX_ORIGINS = 64  # of one series


def learn_dependence(forecasts, widths=None):
    """Return the `Dependence` of the errors of some forecasts, or None without known outcomes.

    Args:
        forecasts: `Forecasts` of windows that the model was not trained on, if possible.
        widths: Distances of conformal intervals, see `Marginals`.
    """
    return Dependence.fit(scores_of(forecasts, widths), forecasts.names, forecasts.times)


def learn_patch_dependence(model, held_out, training):
    """Set how the steps of a patch depend on each other, given the patches before it.

    It is that of the outcomes of each patch under the forecasts of a network that has read the true
    values before it.

    Args:
        model: Keras model with `patch_dependence_of`.
        held_out: `Windows` that the model was not trained on, perhaps none.
        training: `Windows` that it was trained on. They are many, and their errors often depend
            less on each other: they choose the process that the others are shrunk to.
    """
    weight = patch_dependence_of(model)
    known = [
        _patch_scores(model, windows, weight.shape[0])
        for windows in (held_out, training)
        if len(windows)
    ]
    learnt = Dependence.fit(*known[0], others=known[-1]) if known else None
    if learnt is not None:
        weight.assign(learnt.root)


def _patch_scores(model, windows, patch_length):
    """Return the first three arguments of `Dependence.fit` for the patches of some windows."""
    head, scores = heads.of(model), []
    for inputs, targets in windows.batches(BATCH, in_numpy=True):
        parameters = np.asarray(model.predict_on_batch(inputs), "float64")
        scores.append(head_scores(head, parameters, np.asarray(targets, "float64")))
    scores = np.concatenate(scores)  # (windows, prediction_length, num_channels)
    rest = -scores.shape[1] % patch_length
    scores = np.pad(scores, [(0, 0), (0, rest), (0, 0)], constant_values=np.nan)
    count = scores.shape[1] // patch_length
    times = windows.panel.numbers(windows.series, windows.cuts)
    times = times[:, None] + patch_length * np.arange(count)
    names = windows.panel.names[windows.series].repeat(count, axis=0)
    return scores.reshape(-1, patch_length, scores.shape[2]), names, times.ravel()


def find_dependence(state, panel, forecast):
    """Return the stored `Dependence` of a state, or the one that the history of a panel shows.

    In the history, each series is forecast from origins that are `prediction_length` apart, and
    at the same times in all series. The series share the dependence of the steps, which is thus
    available for short series too.

    Args:
        state: `FittedState`, whose horizon is that of its model.
        panel: `Panel` of the series to forecast.
        forecast: Function from the state and `Windows` to `Forecasts`.
    """
    stored = state.dependence
    if stored is not None and len(stored.steps) >= state.config.prediction_length:
        _warn_of_unknown(stored, panel)
        return stored
    series, cuts = _origins(panel, state.config)
    learnt = None
    if len(cuts):
        forecasts = forecast(state, windows_of(state, panel, series, cuts))
        widths = None
        if state.intervals is not None and state.intervals.by is None:
            forecasts, widths = forecasts.conformal(state.intervals, tuple(state.intervals.offsets))
        learnt = learn_dependence(forecasts, widths)
    if learnt is not None:
        return learnt
    warn_user(
        f"no series has {state.config.prediction_length} steps after a history of as many: the "
        "dependence between steps is an assumption. Call calibrate on longer series."
    )
    return Dependence.default(state.config.prediction_length)


def _origins(panel, config):
    """Return `(series, cuts)` of origins inside the history, as evenly many per series."""
    steps = config.prediction_length
    first = panel.begins + min(config.context_length, steps)
    # Series that end at different times have common origins on the clock.
    ends = panel.numbers(np.arange(len(panel)), panel.cuts)
    ends = panel.cuts - (ends - ends.max()) % steps
    rooms = ends - steps - first  # of the origins
    counts = np.clip(rooms // steps + 1, 0, min(MAX_ORIGINS, max(1, MAX_WINDOWS // len(panel))))
    series = np.repeat(np.arange(len(panel)), counts)
    numbers = np.arange(len(series)) - np.repeat(np.cumsum(counts) - counts, counts)
    cuts = ends[series] - steps * (1 + numbers)
    each = -(-len(cuts) // MAX_WINDOWS) or 1
    series, cuts = series[::each], cuts[::each]
    known = panel.num_known
    begins = np.maximum(panel.begins[series], cuts - config.context_length)
    is_usable = (known[cuts] > known[begins]) & (known[cuts + steps] > known[cuts])
    return series[is_usable], cuts[is_usable]


def _warn_of_unknown(dependence, panel):
    """Warn of series that are drawn independently, because they were not learnt."""
    names = panel.names.ravel()
    unknown = dependence.unknown(names)
    if unknown and len(names) > 1:
        warn_user(
            f"the dependence between {len(unknown)} of {len(names)} series is not known, "
            f"{unknown[0]!r} is the first: their paths are drawn independently."
        )
