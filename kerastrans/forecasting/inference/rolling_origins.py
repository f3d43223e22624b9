"""Backtests from rolling origins: each forecast is made from what lies before its origin."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.data.panel import Panel
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.forecast_frame import Forecasts
from kerastrans.forecasting.inference.reader import Reader
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import check_positive_integers


def origins(panel, prediction_length, windows, step):
    """Cuts `(windows, series)`, the last of which leaves a whole forecast to compare with."""
    back = prediction_length + step * np.arange(windows)[::-1]
    return panel.cuts - back[:, None]


def long_enough(config, panel, windows, step):
    """The panel without the series that are too short for the first origin."""
    before = origins(panel, config.prediction_length, windows, step)[0] - panel.begins
    needed = 1 + (config.context_length or 0 if config.short == "refuse" else 0)
    lengths = panel.cuts - panel.begins
    return panel.without(
        {
            i: f"{lengths[i]} steps, too few for {windows} origins"
            for i in np.flatnonzero(before < needed)
        }
    )


@dataclass(frozen=True)
class Backtest:
    """Forecasts from rolling origins.

    Attributes:
        panel: `Panel` of the series that are long enough; its faults name the others.
        forecasts: `Forecasts` of every series from every origin, the origins in order.
        state: `FittedState` that made them, the last one of a refit.
    """

    panel: Panel
    forecasts: Forecasts | None
    state: FittedState

    def rows(self, levels, static, alias):
        """Return the rows of `Forecaster.backtest`."""
        levels, intervals = self.state.levels(levels), self.state.intervals
        forecasts, widths = self.forecasts.conformal(intervals, levels, static, follow=True)
        rows = forecasts.frame(levels, widths, is_backtest=True, alias=alias)
        return rows.sort_values([ID, "cutoff", TIME], ignore_index=True)


def check_not_refitted(train_size, fit_options):
    """Raise ValueError for arguments of a refit without one."""
    names = sorted({*fit_options, *(["train_size"] if train_size is not None else [])})
    if names:
        raise ValueError(f"{names} are arguments of refit=True, which was not given.")


def forecast_origins(state, frame, *, windows, step, static):
    """Return the `Backtest` of a trained model.

    Args:
        state: `FittedState`.
        frame: See `Forecaster.backtest`.
        windows: See `Forecaster.backtest`.
        step: See `Forecaster.backtest`.
        static: See `Forecaster.backtest`.
    """
    step = step or state.config.prediction_length
    check_positive_integers(windows=windows, step=step)
    panel = Reader.like(state).panel(frame, static)
    panel = long_enough(state.config, panel, windows, step)
    if not len(panel):  # the caller reports the faults
        return Backtest(panel, None, state)
    series = np.tile(np.arange(len(panel)), windows)
    cuts = origins(panel, state.config.prediction_length, windows, step).ravel()
    forecasts = forecast_windows(state, windows_of(state, panel, series, cuts))
    warn_in_sample(state, panel, series, cuts, "score")
    return Backtest(panel, forecasts, state)


def _ends(panel, of_series):
    """Numbers of the clock by series, as an array `(series,)`; -inf where there is none."""
    return np.array([of_series.get(str(name), -np.inf) for name in panel.names[:, 0]])


def calibration_step(state, panel, windows):
    """The largest step, up to `prediction_length`, that leaves all origins on rows not seen.

    All, that is, have a whole context, and rows to forecast that neither trained the model nor
    chose when it stopped. A series that has no room for them even at a step of 1 does not count;
    the step is 1 where no series has.

    Args:
        state: `FittedState`.
        panel: `Panel`, at least one series.
        windows: int, origins.
    """
    config = state.config
    seen = np.maximum(_ends(panel, state.trained), _ends(panel, state.chosen_by))
    first = np.maximum(panel.first + config.context_length, seen)  # number of the earliest origin
    last = panel.numbers(np.arange(len(panel)), panel.cuts) - config.prediction_length
    rooms, intervals = last - first, max(windows - 1, 1)
    step = rooms.min(where=rooms >= intervals, initial=config.prediction_length * intervals)
    return int(step // intervals) if (rooms >= intervals).any() else 1


def warn_of_choice(state, panel, series, cuts):
    """Warn where rows calibrate that chose when the training stopped."""
    numbers = panel.numbers(series, cuts)
    inside = numbers < _ends(panel, state.chosen_by)[series]
    inside &= numbers >= _ends(panel, state.trained)[series]  # of others there is a warning
    if inside.any():
        warn_user(
            f"{inside.sum()} of {len(cuts)} windows calibrate by rows that fit held out to stop "
            "the training: their errors are small by choice. Calibrate by rows after them.",
        )


def warn_in_sample(state, panel, series, cuts, verb):
    """Warn where rows that trained the model are scored, or calibrate it."""
    inside = panel.numbers(series, cuts) < _ends(panel, state.trained)[series]
    if inside.any():
        warn_user(
            f"{inside.sum()} of {len(cuts)} windows {verb} rows that the model was trained on: "
            "hold the last rows of each series back from fit, or use refit=True.",
        )


def rows_until(frame, panel, cuts, rows=None):
    """The rows of a frame that lie before the cut of their series, at most `rows` steps of them.

    Args:
        frame: long or wide.
        panel: `Panel` of this frame.
        cuts: `(series,)`.
        rows: int, steps of a sliding window; None for all.
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


def refit_origins(forecaster, frame, *, windows, step, static, train_size, fit_options):
    """Return the `Backtest` of new forecasters, each trained on what lies before its origin.

    Args:
        forecaster: `Forecaster`; it is cloned, and stays as it is.
        frame: See `Forecaster.backtest`.
        windows: See `Forecaster.backtest`.
        step: See `Forecaster.backtest`.
        static: See `Forecaster.backtest`.
        train_size: See `Forecaster.backtest`.
        fit_options: Dict of the arguments of `fit`.
    """
    steps, options = forecaster.prediction_length, dict(fit_options)
    step = step or steps
    check_positive_integers(windows=windows, step=step)
    if options.get("validation") is not None:
        raise ValueError(
            "validation and refit=True cannot be combined: its rows may lie after an origin. Use "
            "validation_size."
        )
    _, panel = Reader.first(forecaster.config, frame, static, options.pop("freq", None))
    panel = long_enough(forecaster.config, panel, windows, step)
    if not len(panel):  # the caller reports the faults
        return Backtest(panel, None, forecaster.fitted)
    parts = []
    for cuts in origins(panel, steps, windows, step):
        known = rows_until(frame, panel, cuts, train_size)
        fresh = forecaster.clone().fit(known, static=static, freq=panel.clock.freq, **options)
        state = fresh.fitted
        read = fresh.reader.panel(frame, static)
        others = ~np.isin(read.names[:, 0], panel.names[:, 0])
        read = read.without(dict.fromkeys(np.flatnonzero(others), "left out"))
        parts.append(forecast_windows(state, windows_of(state, read, np.arange(len(read)), cuts)))
    series = np.tile(np.arange(len(panel)), windows)
    cuts = origins(panel, steps, windows, step).ravel()
    merged = [np.concatenate([getattr(part, x) for part in parts]) for x in ("parameters", "scale")]
    whole = windows_of(state, panel, series, cuts)
    return Backtest(panel, Forecasts(whole, state.output, *merged), state)
