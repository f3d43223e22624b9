"""Plots of forecasts together with the history that they continue."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from narwhals.typing import IntoDataFrame

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.columns import (
    CUTOFF,
    ID,
    TARGET,
    TIME,
    check_columns,
    read_columns,
    split_models,
)
from kerastrans.evaluation.plotting.panels import (
    COLOURS,
    OBSERVED,
    axis_label,
    choose_series,
    draw_legend,
    draw_observed,
    draw_panels,
    label_times,
    plain,
    tint,
)
from kerastrans.evaluation.scores.scales import observed_values
from kerastrans.utils.types import Backtests

MAX_PANELS = 8


@takes_any_frame
def plot_forecast(
    history: IntoDataFrame,
    forecasts: Backtests,
    actual: IntoDataFrame | None = None,
    title: str | None = None,
    unit: str | None = None,
    *,
    series: Sequence[str] | None = None,
) -> Figure:
    """Plot the end of a history and the forecasts that follow it, one panel per series.

    Args:
        history: Wide DataFrame with a DatetimeIndex and one column per channel, or long DataFrame
            with the columns "unique_id", "ds" and "y". The drawn part of a series ends where its
            forecast begins, and is eight times as long.
        forecasts: DataFrame returned by `Forecaster.predict`, of one or several models; or dict of
            name -> such a DataFrame of one model or wide DataFrame with the channels of `history`.
            The first is drawn with the thickest line.
        actual: Wide or long DataFrame of the true values, or None.
        title: str, title of the figure.
        unit: str, unit of the values, for the vertical axis.
        series: Names of the series to draw; the first eight by default.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: If the forecasts have several origins; use `plot_fan` instead.
        ValueError: If a series is missing in the history or in the forecasts.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=6, freq="D")
        >>> history = pd.DataFrame({"a": [1.0, 2.0, 1.0, 2.0]}, times[:4])
        >>> forecast = pd.DataFrame({"unique_id": "a", "ds": times[4:], "nhits": [1.2, 1.9]})
        >>> figure = plot_forecast(history, forecast)
    """
    drawn = {name: _as_wide(frame) for name, frame in split_models(forecasts).items()}
    first, past = next(iter(drawn.values())), _as_wide(history)
    true = {} if actual is None else _as_wide(actual)
    known = [name for name in past if all(name in frame for frame in drawn.values())]
    names = choose_series(series, known, MAX_PANELS, "the history and the forecasts")
    figure, panels = draw_panels(len(names), 1, title)
    for panel, channel in zip(panels[:, 0], names, strict=True):
        steps = first[channel].dropna().index
        steps = steps if len(steps) else first.index
        before = past[channel][past.index < steps[0]]
        before = before[before.bfill().notna()].iloc[-8 * len(steps) :]  # up to a known value
        after = true[channel] if channel in true else before[:0]
        observed = pd.concat([before, after[after.index >= steps[0]]])
        draw_observed(panel, observed.index, observed)
        for i, (name, frame) in enumerate(drawn.items()):
            # Start at the last observed value, so that the line has no gap.
            joined = pd.concat([before.iloc[-1:], frame[channel].dropna()])
            style = {"lw": 2.2} if i == 0 else {"lw": 1.2, "ls": "--"}
            colour = COLOURS[i % len(COLOURS)]
            panel.plot(joined.index, joined, color=colour, label=plain(name), **style)
        if len(before):
            panel.axvline(before.index[-1], color=OBSERVED, lw=0.8, ls=":")
        panel.set_ylabel(axis_label(channel, unit, "\n"))
    draw_legend(panels[0, 0])
    label_times(panels[-1, 0], len(names), len(known))
    return figure


@takes_any_frame
def plot_fan(
    forecast: IntoDataFrame,
    history: IntoDataFrame | None = None,
    series: Sequence[str] | None = None,
    title: str | None = None,
    unit: str | None = None,
    *,
    alias: str | None = None,
) -> Figure:
    """Plot forecasts with their intervals as a fan, one panel per series.

    Args:
        forecast: DataFrame returned by `Forecaster.predict` or `Forecaster.backtest`. Forecasts
            from all origins are drawn.
        history: Long or wide DataFrame of the true values, or None. The part drawn before the first
            origin is four times as long as a forecast.
        series: Names of the series to draw; the first four by default.
        title: str, title of the figure.
        unit: str, unit of the values, for the vertical axis.
        alias: str, name of the model; required if the frame contains several.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: If the frame contains several models and `alias` is not given.
        ValueError: If a series is missing in the forecast, or the forecast is empty.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=6, freq="D")
        >>> history = pd.DataFrame({"a": [1.0, 2.0, 1.0, 2.0]}, times[:4])
        >>> rows = {"unique_id": "a", "ds": times[4:], "nhits": [1.2, 1.9]}
        >>> interval = {"nhits-lo-80": [0.9, 1.5], "nhits-hi-80": [1.5, 2.3]}
        >>> figure = plot_fan(pd.DataFrame({**rows, **interval}), history)
    """
    columns = read_columns(forecast, alias)
    check_columns(forecast, ID, TIME)
    known = list(dict.fromkeys(forecast[ID]))
    names = choose_series(series, known, 4, "the forecast")
    forecast = forecast[forecast[ID].isin(names)]
    values = observed_values(history, forecast)
    figure, panels = draw_panels(len(names), 1, title)
    for panel, name in zip(panels[:, 0], names, strict=True):
        rows = forecast[forecast[ID] == name].sort_values(TIME)
        origins = rows.groupby(CUTOFF) if CUTOFF in rows else [(None, rows)]
        observed = _nearby_values(values[values[ID] == name], rows)
        draw_observed(panel, observed[TIME], observed[TARGET])
        for _, part in origins:
            _draw_fan(panel, part, columns)
        panel.set_ylabel(axis_label(name, unit, "\n"))
    draw_legend(panels[0, 0])
    label_times(panels[-1, 0], len(names), len(known))
    return figure


def _draw_fan(panel, rows, columns):
    """Draw the forecasts from one origin: the intervals, widest first, then the points."""
    shares = np.linspace(0.5, 0.2, len(columns.intervals)) if len(columns.intervals) > 1 else [0.3]
    shades = dict(zip(columns.intervals, shares, strict=False))
    for level, (low, high) in reversed(columns.intervals.items()):
        # Opaque, so that the shade in the plot equals the shade in the legend.
        shade = tint(COLOURS[0], shades[level])
        label = f"{level} %"
        panel.fill_between(rows[TIME], rows[low], rows[high], color=shade, lw=0, label=label)
    panel.plot(rows[TIME], rows[columns.alias], color=COLOURS[0], lw=1.8, label="forecast")


def _nearby_values(values, rows):
    """Return the values at the times of the forecasts and four forecast lengths before them."""
    first, last = rows[TIME].min(), rows[TIME].max()
    steps = rows.groupby(CUTOFF).size().max() if CUTOFF in rows else len(rows)
    before = values[values[TIME] < first].iloc[-4 * steps :]
    return pd.concat([before, values[values[TIME].between(first, last)]])


def _as_wide(frame):
    """Return the true values or the forecasts of one model by time, with one column per series."""
    if ID not in frame:
        return frame.sort_index()
    value = TARGET if TARGET in frame and CUTOFF not in frame else read_columns(frame).alias
    if frame.duplicated([ID, TIME]).any():
        raise ValueError("the forecasts have several origins: draw them with plot_fan.")
    return frame.pivot(index=TIME, columns=ID, values=value)[list(dict.fromkeys(frame[ID]))]
