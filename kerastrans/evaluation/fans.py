"""Plots of forecasts beside the history that they continue."""

import numpy as np
import pandas as pd

from kerastrans.evaluation.columns import (
    CUTOFF,
    ID,
    TARGET,
    TIME,
    check_columns,
    read_columns,
    split_models,
)
from kerastrans.evaluation.observations import observed_values
from kerastrans.evaluation.panels import (
    COLOURS,
    OBSERVED,
    axis_label,
    draw_legend,
    draw_panels,
    label_times,
    tint,
)

MAX_PANELS = 8


def plot_forecast(history, forecasts, actual=None, title=None, unit=None, *, series=None):
    """Draw the end of a history and the forecasts that follow it, one panel per series.

    Args:
        history: wide frame, a DatetimeIndex and one column per channel; or long, with "unique_id",
            "ds" and "y". Eight times the length of the forecast is drawn.
        forecasts: frame as `Forecaster.predict` returns it, of one or several models; or dict of
            name -> such a frame of one model, or wide frame with the channels of `history`. The
            first is drawn strongest.
        actual: frame of the true values, wide or long, or None.
        title: str, of the figure.
        unit: str, of the values, for the vertical axis.
        series: names of the series to draw; the first eight by default.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: forecasts from several origins, see `plot_fan`.
        ValueError: series that the history and the forecasts do not both have.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=6, freq="D")
        >>> history = pd.DataFrame({"a": [1.0, 2.0, 1.0, 2.0]}, times[:4])
        >>> forecast = pd.DataFrame({"unique_id": "a", "ds": times[4:], "nhits": [1.2, 1.9]})
        >>> figure = plot_forecast(history, forecast)
    """
    drawn = {name: _as_wide(frame) for name, frame in split_models(forecasts).items()}
    first, past = next(iter(drawn.values())), _as_wide(history)
    names = [name for name in past if name in first][:MAX_PANELS] if series is None else series
    missing = [name for name in names if name not in past or name not in first]
    if missing or not len(names):
        raise ValueError(
            f"no series to draw: {missing or list(first)} must be in the history and the forecasts."
        )
    past = past[past.index < first.index[0]].iloc[-8 * len(first) :]
    observed = past if actual is None else pd.concat([past, _as_wide(actual)])
    figure, panels = draw_panels(len(names), 1, title)
    for panel, channel in zip(panels[:, 0], names, strict=True):
        panel.plot(observed.index, observed[channel], color=OBSERVED, lw=1.4, label="observed")
        for i, (name, frame) in enumerate(drawn.items()):
            joined = pd.concat([past[channel].iloc[-1:], frame[channel]])  # a line without a gap
            style = {"lw": 2.2} if i == 0 else {"lw": 1.2, "ls": "--"}
            colour = COLOURS[i % len(COLOURS)]
            panel.plot(joined.index, joined, color=colour, label=name, **style)
        panel.axvline(past.index[-1], color=OBSERVED, lw=0.8, ls=":")
        panel.set_ylabel(axis_label(channel, unit, "\n"))
    draw_legend(panels[0, 0])
    label_times(panels[-1, 0])
    return figure


def plot_fan(forecast, history=None, series=None, title=None, unit=None, *, alias=None):
    """Draw forecasts with their intervals as a fan, one panel per series.

    Args:
        forecast: frame as `Forecaster.predict` or `backtest` returns it; the forecasts of several
            origins are all drawn.
        history: long or wide frame of the true values, or None. Before the first origin as much
            is drawn as four forecasts are long.
        series: names of the series to draw; the first four by default.
        title: str, of the figure.
        unit: str, of the values, for the vertical axis.
        alias: str, which model, where the frame holds several.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: several models in the frame and no alias.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=6, freq="D")
        >>> history = pd.DataFrame({"a": [1.0, 2.0, 1.0, 2.0]}, times[:4])
        >>> rows = {"unique_id": "a", "ds": times[4:], "nhits": [1.2, 1.9]}
        >>> interval = {"nhits-lo-80": [0.9, 1.5], "nhits-hi-80": [1.5, 2.3]}
        >>> figure = plot_fan(pd.DataFrame({**rows, **interval}), history)
    """
    columns = read_columns(forecast, alias)
    check_columns(forecast, ID, TIME)
    names = list(dict.fromkeys(forecast[ID]))[:4] if series is None else list(series)
    forecast = forecast[forecast[ID].isin(names)]
    values = observed_values(history, forecast)
    figure, panels = draw_panels(len(names), 1, title)
    for panel, name in zip(panels[:, 0], names, strict=True):
        rows = forecast[forecast[ID] == name].sort_values(TIME)
        origins = rows.groupby(CUTOFF) if CUTOFF in rows else [(None, rows)]
        observed = _near(values[values[ID] == name], rows)
        panel.plot(observed[TIME], observed[TARGET], color=OBSERVED, lw=1.4, label="observed")
        for _, part in origins:
            _draw_fan(panel, part, columns)
        panel.set_ylabel(axis_label(name, unit, "\n"))
    draw_legend(panels[0, 0])
    label_times(panels[-1, 0])
    return figure


def _draw_fan(panel, rows, columns):
    """The intervals of the forecasts from one origin, the widest first, and the point forecasts."""
    shares = np.linspace(0.5, 0.2, len(columns.intervals)) if len(columns.intervals) > 1 else [0.3]
    shades = dict(zip(columns.intervals, shares, strict=False))
    for level, (low, high) in reversed(columns.intervals.items()):
        # Opaque, so that a shade in the plot is the shade in the legend.
        shade = tint(COLOURS[0], shades[level])
        label = f"{level} %"
        panel.fill_between(rows[TIME], rows[low], rows[high], color=shade, lw=0, label=label)
    panel.plot(rows[TIME], rows[columns.alias], color=COLOURS[0], lw=1.8, label="forecast")


def _near(values, rows):
    """The values at the forecasts' times, and before these as much as four forecasts are long."""
    first, last = rows[TIME].min(), rows[TIME].max()
    steps = rows.groupby(CUTOFF).size().max() if CUTOFF in rows else len(rows)
    before = values[values[TIME] < first].iloc[-4 * steps :]
    return pd.concat([before, values[values[TIME].between(first, last)]])


def _as_wide(frame):
    """A frame of one column a series, of true values or of one model's forecasts."""
    if ID not in frame:
        return frame
    value = TARGET if TARGET in frame and CUTOFF not in frame else read_columns(frame).alias
    if frame.duplicated([ID, TIME]).any():
        raise ValueError("the forecasts are from several origins: draw them with plot_fan.")
    return frame.pivot(index=TIME, columns=ID, values=value)[list(dict.fromkeys(frame[ID]))]
