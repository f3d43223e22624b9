"""Pictures. Every function returns a matplotlib Figure and draws on no screen."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kerastrans.evaluation.backtesting import observed_levels
from kerastrans.evaluation.columns import read_columns

OBSERVED = "#444444"
COLOURS = ("#d1495b", "#2e86ab", "#66a182", "#edae49")


def plot_forecast(history, forecasts, actual=None, title=None, unit=None):
    """Draw the end of a history and the forecasts behind it, one panel per channel.

    Args:
        history: DataFrame with a DatetimeIndex, one column per channel.
        forecasts: dict of name -> DataFrame with the same columns, behind `history`; the first
            is drawn strongest.
        actual: DataFrame of what really came, or None.
        title: of the figure.
        unit: of the values, for the vertical axis.

    Returns:
        `matplotlib.figure.Figure`.
    """
    channels = list(history.columns)
    figure, panels = _panels(len(channels), 1, title)
    for panel, channel in zip(panels[:, 0], channels, strict=True):
        observed = history if actual is None else _concat(history, actual)
        panel.plot(observed.index, observed[channel], color=OBSERVED, lw=1.4, label="observed")
        for i, (name, frame) in enumerate(forecasts.items()):
            joined = _concat(history.iloc[-1:], frame)  # so that the line starts where history ends
            style = {"lw": 2.2} if i == 0 else {"lw": 1.2, "ls": "--"}
            colour = COLOURS[i % len(COLOURS)]
            panel.plot(joined.index, joined[channel], color=colour, label=name, **style)
        panel.axvline(history.index[-1], color=OBSERVED, lw=0.8, ls=":")
        panel.set_ylabel(f"{channel}\n[{unit}]" if unit else str(channel))
    panels[0, 0].legend(loc="upper left", ncols=4, frameon=False, bbox_to_anchor=(0, 1.25))
    panels[-1, 0].set_xlabel("time")
    return figure


def attention_heatmaps(
    weights, query_labels=None, key_labels=None, *, title=None, query_axis="query", key_axis="key"
):
    """Draw attention weights as a grid of heat maps: one row a block, one column a head.

    Hidden keys, whose weight is exactly 0, stay empty.

    Args:
        weights: `(blocks, heads, queries, keys)`, one of the arrays of `attention_scores`.
        query_labels, key_labels: sequences of str, such as the tokens; positions by default.
        title: of the figure.
        query_axis, key_axis: what the axes are called, with the unit if positions have one.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: weights of another rank, a number of labels that is not that of the axis.
    """
    weights = np.asarray(weights)
    if weights.ndim != 4:
        raise ValueError(f"weights must be (blocks, heads, queries, keys), got {weights.shape}.")
    blocks, heads, queries, keys = weights.shape
    for name, labels, count in (
        ("query_labels", query_labels, queries),
        ("key_labels", key_labels, keys),
    ):
        if labels is not None and len(labels) != count:
            raise ValueError(f"{name} must be {count}, one a position, got {len(labels)}.")
    cell = 0.22 if query_labels is None and key_labels is None else 0.32
    width, height = (max(1.6, cell * count) for count in (keys, queries))
    figure = Figure(figsize=(1.6 + heads * (width + 0.3), 1.4 + blocks * (height + 0.5)))
    figure.set_layout_engine("constrained")
    panels = figure.subplots(blocks, heads, sharex=True, sharey=True, squeeze=False)
    for (block, head), panel in np.ndenumerate(panels):
        image = panel.imshow(
            np.ma.masked_equal(weights[block, head], 0), cmap="viridis", vmin=0, vmax=1
        )
        panel.set_title(f"block {block + 1}, head {head + 1}", fontsize=9)
        if key_labels is not None:
            panel.set_xticks(range(keys), key_labels, rotation=90, fontsize=8)
        if query_labels is not None:
            panel.set_yticks(range(queries), query_labels, fontsize=8)
    figure.supxlabel(key_axis)
    figure.supylabel(query_axis)
    figure.colorbar(image, ax=panels, shrink=0.8, label="attention weight")
    if title:
        figure.suptitle(title)
    return figure


def positional_encoding(encoding, columns=(4, 5, 6, 7)):
    """Draw a positional encoding: some of its columns as waves, and all of it as a heat map.

    Args:
        encoding: `(positions, dim)`, such as `PositionalEncoding(None, dim)` adds to zeros.
        columns: ints, the columns drawn as waves.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: an encoding of another rank, a column that it does not have.

    Source: Vaswani et al. (2017), section 3.5.
    """
    encoding = np.asarray(encoding)
    if encoding.ndim != 2:
        raise ValueError(f"encoding must be (positions, dim), got {encoding.shape}.")
    missing = [column for column in columns if not 0 <= column < encoding.shape[1]]
    if missing:
        raise ValueError(f"columns must be from 0 to {encoding.shape[1] - 1}, got {missing}.")
    figure = Figure(figsize=(11, 4), layout="constrained")
    waves, heat = figure.subplots(1, 2)
    for i, column in enumerate(columns):
        waves.plot(encoding[:, column], color=COLOURS[i % len(COLOURS)], label=f"column {column}")
    waves.set_xlabel("position [steps]")
    waves.set_ylabel("value")
    waves.grid(alpha=0.25)
    waves.spines[["top", "right"]].set_visible(False)
    waves.legend(loc="lower center", ncols=4, frameon=False, bbox_to_anchor=(0.5, 1))
    image = heat.imshow(encoding, aspect="auto", cmap="RdBu", vmin=-1, vmax=1)
    heat.set_xlabel("column")
    heat.set_ylabel("position [steps]")
    figure.colorbar(image, ax=heat, label="value")
    return figure


def _concat(first, second):
    return pd.concat([first, second[first.columns]])


def plot_fan(forecast, history=None, series=None, title=None, unit=None):
    """Draw forecasts with their intervals as a fan, one panel per series.

    Args:
        forecast: frame as `Forecaster.predict` or `backtest` returns it; of several origins each
            is drawn.
        history: long or wide frame of what came before, of which as much is drawn as four
            forecasts are long, or None.
        series: names of the series to draw; the first four by default.
        title: of the figure.
        unit: of the values, for the vertical axis.

    Returns:
        `matplotlib.figure.Figure`.
    """
    names = list(dict.fromkeys(forecast["unique_id"]))[:4] if series is None else list(series)
    figure, panels = _panels(len(names), 1, title)
    columns = read_columns(forecast)
    for panel, name in zip(panels[:, 0], names, strict=True):
        rows = forecast[forecast["unique_id"] == name]
        origins = rows.groupby("cutoff") if "cutoff" in rows else [(None, rows)]
        past = _past(history, name, rows)
        panel.plot(past.index, past, color=OBSERVED, lw=1.4, label="observed")
        if "y" in rows:
            panel.plot(rows["ds"], rows["y"], color=OBSERVED, lw=1.4)
        for i, (_, part) in enumerate(origins):
            for level, (low, high) in reversed(columns.intervals.items()):
                label = f"{level} %" if i == 0 else None
                shade = 0.08 + 0.22 * (1 - level / 100)
                panel.fill_between(
                    part["ds"],
                    part[low],
                    part[high],
                    color=COLOURS[0],
                    alpha=shade,
                    lw=0,
                    label=label,
                )
            label = "forecast" if i == 0 else None
            panel.plot(part["ds"], part[columns.alias], color=COLOURS[0], lw=1.8, label=label)
        panel.set_ylabel(f"{name}\n[{unit}]" if unit else str(name))
    panels[0, 0].legend(loc="upper left", ncols=6, frameon=False, bbox_to_anchor=(0, 1.25))
    panels[-1, 0].set_xlabel("time")
    return figure


def plot_error_by_step(scores, metric="mae", title=None, unit=None):
    """Draw how an error grows with the horizon.

    Args:
        scores: dict of name -> `kerastrans.backtesting.score(..., by="step")`.
        metric: a column of these.
        title, unit: of the figure, of the metric.

    Returns:
        `matplotlib.figure.Figure`.
    """
    figure, panels = _panels(1, 1, title)
    for i, (name, table) in enumerate(scores.items()):
        colour = COLOURS[i % len(COLOURS)]
        panels[0, 0].plot(table.index, table[metric], "o-", ms=3, color=colour, label=name)
    panels[0, 0].set_xlabel("step ahead")
    panels[0, 0].set_ylabel(f"{metric} [{unit}]" if unit else metric)
    panels[0, 0].set_ylim(bottom=0)
    panels[0, 0].legend(frameon=False)
    return figure


def plot_calibration(backtest, title=None):
    """Draw how often the truth lay below each quantile (reliability), and where in it (PIT).

    Both are on the diagonal, or flat, where the quantiles are right.

    Args:
        backtest: frame with intervals, see `kerastrans.backtesting`.
        title: of the figure.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: a backtest without intervals.

    Source: Gneiting, Balabdaoui, Raftery (2007), sections 3.1-3.2.
    """
    figure, panels = _panels(1, 2, title)
    reliability, histogram = panels[0]
    levels, shares = observed_levels(backtest)
    reliability.plot([0, 1], [0, 1], color=OBSERVED, lw=0.8, ls=":")
    reliability.plot(levels, shares, "o-", color=COLOURS[0])
    reliability.set_xlabel("probability level")
    reliability.set_ylabel("share of true values below")
    edges = np.concatenate([[0.0], levels, [1.0]])
    between = np.diff(np.concatenate([[0.0], shares, [1.0]])) / np.diff(edges)
    histogram.axhline(1.0, color=OBSERVED, lw=0.8, ls=":")
    histogram.stairs(between, edges, fill=True, color=COLOURS[1], alpha=0.6)
    histogram.set_xlabel("probability integral transform")
    histogram.set_ylabel("density of true values")
    return figure


def plot_residuals(backtest, title=None, unit=None):
    """Draw the errors of a backtest over time and as a histogram.

    Args:
        backtest: frame of one model, with "y".
        title, unit: of the figure, of the values.

    Returns:
        `matplotlib.figure.Figure`.
    """
    figure, panels = _panels(1, 2, title)
    over_time, histogram = panels[0]
    error = (backtest["y"] - backtest[read_columns(backtest).alias]).to_numpy()
    over_time.axhline(0.0, color=OBSERVED, lw=0.8, ls=":")
    over_time.plot(backtest["ds"], error, ".", ms=2, color=COLOURS[1], alpha=0.5, rasterized=True)
    over_time.set_xlabel("time")
    over_time.set_ylabel(f"y - forecast [{unit}]" if unit else "y - forecast")
    over_time.tick_params(axis="x", rotation=30)
    histogram.hist(error[np.isfinite(error)], bins=40, color=COLOURS[1], alpha=0.6)
    histogram.set_xlabel(f"y - forecast [{unit}]" if unit else "y - forecast")
    histogram.set_ylabel("number of values")
    return figure


def plot_variable_importances(importances, title=None):
    """Draw the shares of the variables as bars, one panel per kind.

    Args:
        importances: frame as `Forecaster.variable_importances` returns it.
        title: of the figure.

    Returns:
        `matplotlib.figure.Figure`.
    """
    kinds = list(dict.fromkeys(importances["kind"]))
    figure, panels = _panels(1, len(kinds), title, height=1.5 + 0.3 * len(importances) / len(kinds))
    for panel, kind in zip(panels[0], kinds, strict=True):
        rows = importances[importances["kind"] == kind].sort_values("share")
        panel.barh(rows["variable"].astype(str), rows["share"], color=COLOURS[1])
        panel.set_xlabel(f"share among the {kind} variables")
    return figure


def _panels(rows, columns, title, height=None):
    """A figure with a grid of panels, and the array of them `(rows, columns)`."""
    size = (10, 1.2 + 2.2 * rows) if height is None and columns == 1 else (10, height or 3.6)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, sharex=columns == 1, squeeze=False)
    for panel in panels.ravel():
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    if title:
        figure.suptitle(title)
    return figure, panels


def _past(history, name, forecast):
    """The end of one series' history, in front of its forecast."""
    if history is None:
        return pd.Series(dtype="float64", index=pd.DatetimeIndex([]))
    if "unique_id" in history:
        rows = history[history["unique_id"] == name]
        values = rows.set_index("ds")["y"].sort_index()
    else:
        values = history[name]
    before = values[values.index < forecast["ds"].min()]
    return before.iloc[-4 * forecast["ds"].nunique() :]
