"""Calibration: conformal intervals from forecasts of rows that were not trained on."""

from dataclasses import dataclass, replace

import numpy as np

from kerastrans.data.panel import Panel
from kerastrans.forecasting.conformal.group_intervals import METHODS
from kerastrans.forecasting.conformal.groups import groups_of, read_series_names
from kerastrans.forecasting.conformal.intervals import ConformalIntervals
from kerastrans.forecasting.conformal.offsets import check_windows
from kerastrans.forecasting.inference import rolling_origins as rolling
from kerastrans.forecasting.inference.error_dependence import learn_dependence
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.forecast_frame import Forecasts
from kerastrans.forecasting.inference.reader import Reader
from kerastrans.forecasting.inference.windows import SeriesEnds, windows_of
from kerastrans.utils.validation import check_choice, check_percents, check_positive_integers

SCALES = ("window", "residuals")


@dataclass(frozen=True)
class Calibration:
    """Conformal intervals, and the panel and the forecasts that they were measured on."""

    intervals: ConformalIntervals
    panel: Panel
    forecasts: Forecasts | None = None


def calibrate(state, frame, *, windows, step, static, levels, method, symmetric, by, scale):
    """Return the `Calibration` of a `FittedState`, see `Forecaster.calibrate`."""
    levels = check_percents(levels)
    if not levels:
        raise ValueError("levels must name at least one percent to calibrate, got none.")
    check_positive_integers(windows=windows, step=1 if step is None else step)
    check_choice("method", method, METHODS)
    check_choice("symmetric", symmetric, (None, True, False))
    check_choice("scale", scale, SCALES)
    panel = Reader.like(state).panel(frame, static)
    panel = rolling.long_enough(state.config, panel, 1, 1, state.reach)
    if not len(panel):  # the caller reports the faults
        return Calibration(state.intervals, panel)
    step = step or rolling.calibration_step(state, panel, windows)
    cuts = rolling.origins(panel, state.reach, windows, step).ravel()
    series = np.tile(np.arange(len(panel)), windows)
    inside = cuts - panel.begins[series] >= rolling.rows_before(state.config)
    windows = windows_of(state, panel, series[inside], cuts[inside])
    windows, counted = SeriesEnds.of(state.config, windows).distinct()
    series, cuts = windows.series, windows.cuts
    groups = groups_of(by, read_series_names(panel, series), static)
    check_windows(levels[-1], len(cuts))
    rolling.warn_in_sample(state, panel, series, cuts, "calibrate by")
    rolling.warn_of_choice(state, panel, series, cuts)
    made, sizes = replace(forecast_windows(state, windows), counted=counted), None
    forecasts = made
    if scale == "residuals":
        forecasts, sizes = forecasts.in_residuals()
    scores, order, times = forecasts.scores(levels)
    intervals = ConformalIntervals.fit(
        scores, times, method, symmetric=symmetric, by=by, groups=groups[order]
    )
    intervals.warn_if_few_origins()
    scales = np.stack([f(made.units[:, 0], axis=0) for f in (np.nanmin, np.nanmax)])
    return Calibration(replace(intervals, sizes=sizes, scales=scales), panel, made)


def with_calibration(state, found, static=None):
    """Return a `FittedState` with the intervals of a `Calibration`, and the dependence of errors.

    Args:
        state: `FittedState`.
        found: `Calibration`, perhaps of another horizon. The dependence of fewer steps than those
            of the model is not kept.
        static: Frame of static covariates, for intervals by one of its columns.
    """
    state, forecasts = state.with_intervals(found.intervals), found.forecasts
    steps = None if forecasts is None else forecasts.windows.prediction_length
    if state.decodes or steps is None or steps < state.native_length:
        return state
    levels = tuple(found.intervals.offsets)
    return replace(
        state, dependence=learn_dependence(*forecasts.conformal(found.intervals, levels, static))
    )
