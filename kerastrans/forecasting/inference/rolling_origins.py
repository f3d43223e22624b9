"""Backtests from rolling origins: each forecast is made from what lies before its origin."""

import warnings

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.forecast_frame import Forecasts
from kerastrans.forecasting.training.windows import windows_of


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


def forecast_origins(config, fitted, panel, windows, step):
    """`Forecasts` of every series from every origin, the origins in order."""
    series = np.tile(np.arange(len(panel)), windows)
    cuts = origins(panel, config.prediction_length, windows, step).ravel()
    return forecast_windows(config, fitted, windows_of(config, fitted.model, panel, series, cuts))


def _ends(panel, of_series):
    """Numbers of the clock by series, as an array `(series,)`; -inf where there is none."""
    return np.array([of_series.get(str(name), -np.inf) for name in panel.names[:, 0]])


def calibration_step(config, fitted, panel, windows):
    """The largest step, up to `prediction_length`, that leaves all origins on rows not seen.

    All, that is, have a whole context, and rows to forecast that neither trained the model nor
    chose when it stopped. A series that has no room for them even at a step of 1 does not count;
    the step is 1 where no series has.

    Args:
        config: `Config`.
        fitted: `Fitted`.
        panel: `Panel`, at least one series.
        windows: int, origins.
    """
    seen = np.maximum(_ends(panel, fitted.trained), _ends(panel, fitted.chosen_by))
    first = np.maximum(panel.first + config.context_length, seen)  # number of the earliest origin
    last = panel.numbers(np.arange(len(panel)), panel.cuts) - config.prediction_length
    rooms, intervals = last - first, max(windows - 1, 1)
    step = rooms.min(where=rooms >= intervals, initial=config.prediction_length * intervals)
    return int(step // intervals) if (rooms >= intervals).any() else 1


def warn_of_choice(fitted, panel, series, cuts, stacklevel):
    """Warn where rows calibrate that chose when the training stopped."""
    numbers = panel.numbers(series, cuts)
    inside = numbers < _ends(panel, fitted.chosen_by)[series]
    inside &= numbers >= _ends(panel, fitted.trained)[series]  # of others there is a warning
    if inside.any():
        warnings.warn(
            f"{inside.sum()} of {len(cuts)} windows calibrate by rows that fit held out to stop "
            "the training: their errors are small by choice. Calibrate by rows after them.",
            stacklevel=stacklevel,
        )


def warn_in_sample(fitted, panel, series, cuts, verb, stacklevel):
    """Warn where rows that trained the model are scored, or calibrate it."""
    inside = panel.numbers(series, cuts) < _ends(panel, fitted.trained)[series]
    if inside.any():
        warnings.warn(
            f"{inside.sum()} of {len(cuts)} windows {verb} rows that the model was trained on: "
            "hold the last rows of each series back from fit, or use refit=True.",
            stacklevel=stacklevel,
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


def refit_origins(forecaster, frame, panel, windows, step, train_size, static, kwargs):
    """Forecasts of a new forecaster at each origin, trained on what lies before it.

    Args:
        forecaster: `Forecaster`; it is cloned, and stays as it is.
        frame: as in `Forecaster.backtest`.
        panel: `Panel` of the frame's series that are long enough.
        windows: int, origins.
        step: int, steps from one origin to the next.
        train_size: int, steps of a sliding window; None for an expanding one.
        static: as in `Forecaster.backtest`.
        kwargs: dict of the arguments of `fit`.

    Returns:
        `Forecasts` of all origins, and the `Fitted` of the last.
    """
    steps, parts = forecaster.prediction_length, []
    for cuts in origins(panel, steps, windows, step):
        known = rows_until(frame, panel, cuts, train_size)
        fresh = forecaster.clone().fit(known, static=static, freq=panel.clock.freq, **kwargs)
        config, fitted = fresh.config, fresh.fitted
        read = fresh.reader.panel(frame, static)
        others = ~np.isin(read.names[:, 0], panel.names[:, 0])
        read = read.without(dict.fromkeys(np.flatnonzero(others), "left out"))
        chosen = windows_of(config, fitted.model, read, np.arange(len(read)), cuts)
        parts.append(forecast_windows(config, fitted, chosen))
    series = np.tile(np.arange(len(panel)), windows)
    cuts = origins(panel, steps, windows, step).ravel()
    merged = [np.concatenate([getattr(part, x) for part in parts]) for x in ("parameters", "scale")]
    whole = windows_of(config, fitted.model, panel, series, cuts)
    return Forecasts(whole, fitted.head, *merged), fitted
