"""Backtests from rolling origins: each forecast uses only the rows before its origin."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.data.panel import Panel
from kerastrans.forecasting.inference.config import AUTO
from kerastrans.forecasting.inference.reader import Reader
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.utils.peer_words import PEER_WORDS
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import check_positive_integers


def origins(panel, reach, windows, step):
    """Return cuts `(windows, series)`; the last one leaves `reach` rows, those of one forecast."""
    back = reach + step * np.arange(windows)[::-1]
    return panel.cuts - back[:, None]


def rows_before(config):
    """Return the number of rows that a series needs before an origin."""
    return max(1, config.context_length or 1) if config.short == "refuse" else 1


def long_enough(config, panel, windows, step, reach=None):
    """Return the panel without series that are too short for the first origin."""
    before = origins(panel, reach or config.prediction_length, windows, step)[0] - panel.begins
    lengths = panel.lengths
    return panel.without(
        {
            i: f"{lengths[i]} steps, too few for {windows} origin{'s' * (windows > 1)}"
            for i in np.flatnonzero(before < rows_before(config))
        }
    )


def with_rows_before(config, panel, cuts):
    """Return which origins `(windows, series)` have enough rows before them.

    Warns:
        UserWarning: If a series has fewer origins than were asked for.
    """
    is_known = cuts - panel.begins >= rows_before(config)
    counts = is_known.sum(axis=0)
    few = np.flatnonzero(counts < len(cuts))
    if len(few):
        warn_user(
            f"{len(few)} of {len(panel)} series have rows for fewer than {len(cuts)} origins, "
            f"{str(panel.names[few[0], 0])!r} for {counts[few[0]]}: they have so many."
        )
    return is_known


@dataclass(frozen=True)
class Backtest:
    """Forecasts from rolling origins.

    Attributes:
        panel: `Panel` of the series that are long enough; its faults name the others.
        rows: Rows of `Forecaster.backtest`, in the order of the origins.
        state: `FittedState` that made the forecasts; the last one of a refit.
    """

    panel: Panel
    rows: pd.DataFrame | None
    state: FittedState


def check_not_refitted(train_size, fit_options):
    """Raise ValueError for arguments of `refit=True` without it, TypeError for unknown ones."""
    for name in sorted(fit_options.keys() & PEER_WORDS.keys()):
        raise TypeError(f"backtest has no argument {name!r}: use {PEER_WORDS[name]}.")
    names = sorted({*fit_options, *(["train_size"] if train_size is not None else [])})
    if names:
        raise ValueError(f"{names} are arguments of refit=True, which was not given.")


def check_trained_horizon(prediction_length):
    """Raise ValueError for an argument of trained models with `refit=True`."""
    if prediction_length is not None:
        raise ValueError(
            f"refit=True and prediction_length={prediction_length} cannot be combined: give "
            "Forecaster this prediction_length."
        )


def forecast_origins(state, frame, table, *, windows, step, static):
    """Return the `Backtest` of a trained model.

    Args:
        state: `FittedState`.
        frame: See `Forecaster.backtest`.
        table: Function from a `FittedState` and `Windows` to the rows of their forecasts.
        windows: See `Forecaster.backtest`.
        step: See `Forecaster.backtest`.
        static: See `Forecaster.backtest`.
    """
    step = step or state.config.prediction_length
    check_positive_integers(windows=windows, step=step)
    panel = Reader.like(state).panel(frame, static)
    panel = long_enough(state.config, panel, 1, step, state.reach)
    if not len(panel):  # the caller reports the faults
        return Backtest(panel, None, state)
    cuts = origins(panel, state.reach, windows, step)
    is_known = with_rows_before(state.config, panel, cuts)
    series, cuts = np.nonzero(is_known)[1], cuts[is_known]
    rows = table(state, windows_of(state, panel, series, cuts))
    warn_in_sample(state, panel, series, cuts, "score")
    return Backtest(panel, rows, state)


def _ends(panel, of_series):
    """Return numbers on the clock as an array `(series,)`, -inf for series without one."""
    return np.array([of_series.get(str(name), -np.inf) for name in panel.names[:, 0]])


def calibration_step(state, panel, windows):
    """Return the largest step, up to `prediction_length`, for which all origins are valid.

    An origin is valid if it has a complete context, and forecasts rows that were neither used for
    training nor monitored by early stopping. Series that are too short even for a step of 1 are
    ignored; if all are, the step is 1.

    Args:
        state: `FittedState`.
        panel: `Panel` of at least one series.
        windows: int, number of origins.
    """
    config = state.config
    seen = np.maximum(_ends(panel, state.trained), _ends(panel, state.chosen_by))
    # Numbers on the clock of the earliest and the latest valid origin.
    first = np.maximum(panel.first + config.context_length, seen)
    last = panel.numbers(np.arange(len(panel)), panel.cuts) - state.reach
    rooms, intervals = last - first, max(windows - 1, 1)
    step = rooms.min(where=rooms >= intervals, initial=config.prediction_length * intervals)
    return int(step // intervals) if (rooms >= intervals).any() else 1


def warn_of_choice(state, panel, series, cuts):
    """Warn if the calibration rows were monitored by early stopping."""
    numbers = panel.numbers(series, cuts)
    inside = numbers < _ends(panel, state.chosen_by)[series]
    inside &= numbers >= _ends(panel, state.trained)[series]  # training rows have their own warning
    if inside.any():
        warn_user(
            f"{inside.sum()} of {len(cuts)} windows calibrate by rows that early stopping "
            "monitored: their errors are too small. Calibrate by rows after them."
        )


def warn_in_sample(state, panel, series, cuts, verb):
    """Warn if training rows are scored, or used for calibration."""
    inside = panel.numbers(series, cuts) < _ends(panel, state.trained)[series]
    if inside.any():
        warn_user(
            f"{inside.sum()} of {len(cuts)} windows {verb} rows that the model was trained on: "
            "hold the last rows of each series back from fit, or use refit=True."
        )


def rows_until(frame, panel, cuts, rows=None):
    """Return the rows of a frame before the cuts of their series, at most `rows` steps.

    Args:
        frame: Long or wide frame.
        panel: `Panel` of this frame.
        cuts: `(series,)`, row after the last one of each series.
        rows: int, number of steps of a sliding window; None for all.
    """
    series = np.arange(len(panel))
    first = panel.begins if rows is None else np.maximum(panel.begins, cuts - rows)
    begin, end = (panel.clock.times(panel.numbers(series, x)) for x in (first, cuts))
    if ID not in frame.columns:
        return frame[(frame.index >= begin[0]) & (frame.index < end[0])]
    place = pd.Index(panel.names[:, 0]).get_indexer(frame[ID])
    times = pd.DatetimeIndex(frame[TIME])
    inside = (times >= begin.take(place)) & (times < end.take(place)) & (place >= 0)
    return frame[inside]


def _with_choice(forecaster, config):
    """Return an untrained forecaster with the architecture that "auto" has chosen in a `Config`."""
    chosen = {"model": config.architecture, "calendar": config.calendar, **config.hyperparameters}
    return type(forecaster)(**{**forecaster.config.arguments(), **chosen})


def refit_origins(
    forecaster, frame, table, *, windows, step, static, train_size, fit_options, every=1
):
    """Return the `Backtest` of new forecasters, each trained on the rows before its first origin.

    Args:
        forecaster: `Forecaster`, which is cloned and does not change.
        frame: See `Forecaster.backtest`.
        table: See `forecast_origins`.
        windows: See `Forecaster.backtest`.
        step: See `Forecaster.backtest`.
        static: See `Forecaster.backtest`.
        train_size: See `Forecaster.backtest`.
        fit_options: Dict of the arguments of `fit`.
        every: int, number of origins after which a new forecaster is trained.
    """
    steps, options = forecaster.prediction_length, dict(fit_options)
    step = step or steps
    check_positive_integers(windows=windows, step=step, refit=every)
    if options.get("validation") is not None:
        raise ValueError(
            "validation and refit=True cannot be combined: its rows may come after an origin. "
            "Use validation_size."
        )
    reader, panel = Reader.first(forecaster.config, frame, static, options.pop("freq", None))
    panel = reader.without_short(panel)
    panel = long_enough(forecaster.config, panel, 1, step)
    if not len(panel):  # the caller reports the faults
        return Backtest(panel, None, forecaster.fitted)
    parts, stays, cuts = [], False, origins(panel, steps, windows, step)
    first = (cuts - panel.begins >= rows_before(forecaster.config)).any(axis=1).argmax()
    forecaster = forecaster.clone()  # which has the recipe of its first fit
    for number in range(first, windows):
        if (number - first) % every == 0 and not stays:
            known = rows_until(frame, panel, cuts[number], train_size)
            fresh = forecaster.clone().fit(known, static=static, freq=panel.clock.freq, **options)
            if forecaster.config.model == AUTO and (fresh.card or fresh.fitted.config.architecture):
                # Published weights that it has chosen for the first origin forecast all of them,
                # and none if it has trained. If it has averaged both, it chooses anew.
                stays, options["restore_published"] = fresh.card is not None, False
                if not stays:  # nor do its architectures differ from origin to origin
                    forecaster = _with_choice(forecaster, fresh.fitted.config)
        state = fresh.fitted
        if number == first:  # the context is known now
            panel = long_enough(state.config, panel, 1, step)
            if not len(panel):
                return Backtest(panel, None, state)
            cuts = origins(panel, steps, windows, step)
            is_known = with_rows_before(state.config, panel, cuts)
        # A context that grows with the rows leaves out no further series.
        padded = fresh.reader.with_config(replace(state.config, short="pad"))
        read = padded.panel(frame, static)
        others = ~np.isin(read.names[:, 0], panel.names[:, 0])
        read = read.without(dict.fromkeys(np.flatnonzero(others), "left out"))
        series = np.flatnonzero(is_known[number])
        if len(series):
            parts.append(table(state, windows_of(state, read, series, cuts[number][series])))
    return Backtest(panel, pd.concat(parts, ignore_index=True), state)
