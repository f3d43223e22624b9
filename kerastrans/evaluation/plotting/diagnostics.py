"""Diagnostic plots of backtests: errors by step, calibration, residuals and ranks."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from narwhals.typing import IntoDataFrame

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.backtesting import observed_levels
from kerastrans.evaluation.columns import TARGET, TIME, check_columns, read_columns
from kerastrans.evaluation.plotting.panels import (
    COLOURS,
    OBSERVED,
    axis_label,
    draw_legend,
    draw_panels,
    label_times,
    plain,
    tint,
)
from kerastrans.utils.validation import check_choice

_LINES = ("-", "--", ":", "-.")


def plot_error_by_step(
    scores: Mapping[str, pd.DataFrame],
    metric: str = "mae",
    title: str | None = None,
    unit: str | None = None,
) -> Figure:
    """Plot the error against the forecast step.

    Args:
        scores: Dict of name -> table returned by `kerastrans.backtesting.score(..., by="step")`.
        metric: str, column of these tables. The axis begins at 0 unless a value is negative.
        title: str, title of the figure.
        unit: str, unit of the metric.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: If a table has no such column.

    Example:
        >>> import pandas as pd
        >>> figure = plot_error_by_step({"nhits": pd.DataFrame({"mae": [1.0, 1.5]}, [1, 2])})
    """
    for table in scores.values():
        check_choice("metric", metric, tuple(table.columns))
    figure, panels = draw_panels(1, 1, title, height=3.6)
    panel = panels[0, 0]
    for i, (name, table) in enumerate(scores.items()):
        style = _LINES[i // len(COLOURS) % len(_LINES)]
        colour = COLOURS[i % len(COLOURS)]
        line = {"marker": "o", "ms": 3, "ls": style, "color": colour, "label": plain(name)}
        panel.plot(table.index, table[metric], **line)
    panel.set_xlabel("step ahead")
    panel.set_ylabel(axis_label(metric, unit))
    if not any((table[metric] < 0).any() for table in scores.values()):
        panel.set_ylim(bottom=0)
    panel.xaxis.get_major_locator().set_params(integer=True)
    draw_legend(panel)
    return figure


@takes_any_frame
def plot_calibration(
    backtest: IntoDataFrame, title: str | None = None, *, alias: str | None = None
) -> Figure:
    """Plot the reliability of the quantiles and the histogram of the PIT.

    The reliability curve shows how often the true value is below each quantile, and the probability
    integral transform (PIT) shows its position in the predicted distribution. For a calibrated
    forecast the curve is the diagonal and the histogram is flat, for counts too: a value that
    equals several quantiles is spread over their probabilities (Czado, Gneiting, Held, 2009).

    Args:
        backtest: DataFrame with intervals, see `kerastrans.backtesting`.
        title: str, title of the figure.
        alias: str, name of the model; required if the backtest contains several.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: If the backtest has no intervals.

    Source: Gneiting, Balabdaoui, Raftery (2007), sections 3.1-3.2.

    Example:
        >>> import pandas as pd
        >>> times = pd.date_range("2024-01-01", periods=3, freq="D")
        >>> rows = {"unique_id": "a", "ds": times[1:], "cutoff": times[0], "y": [1.0, 2.0]}
        >>> forecasts = {"nhits": 1.5, "nhits-lo-80": 0.5, "nhits-hi-80": 2.5}
        >>> figure = plot_calibration(pd.DataFrame({**rows, **forecasts}))
    """
    figure, panels = draw_panels(1, 2, title)
    reliability, histogram = panels[0]
    levels, shares = observed_levels(backtest, alias)
    reliability.plot([0, 1], [0, 1], color=OBSERVED, lw=0.8, ls=":")
    reliability.plot(levels, shares, "o-", color=COLOURS[0])
    reliability.set_xlabel("probability level")
    reliability.set_ylabel("share of true values below")
    # Density of the PIT between two levels: the fraction of true values over the probability.
    edges = np.concatenate([[0.0], levels, [1.0]])
    between = np.diff(np.concatenate([[0.0], shares, [1.0]])) / np.diff(edges)
    histogram.axhline(1.0, color=OBSERVED, lw=0.8, ls=":")
    histogram.stairs(between, edges, fill=True, color=COLOURS[1], alpha=0.6)
    histogram.set_xlabel("probability integral transform")
    histogram.set_ylabel("density of true values")
    return figure


@takes_any_frame
def plot_residuals(
    backtest: IntoDataFrame,
    title: str | None = None,
    unit: str | None = None,
    *,
    alias: str | None = None,
) -> Figure:
    """Plot the errors of a backtest over time and as a histogram.

    Args:
        backtest: DataFrame, see `kerastrans.backtesting`.
        title: str, title of the figure.
        unit: str, unit of the values.
        alias: str, name of the model; required if the backtest contains several.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: If a column is missing, or the backtest contains several models and `alias` is
            not given.

    Example:
        >>> import pandas as pd
        >>> times = pd.date_range("2024-01-01", periods=3, freq="D")
        >>> rows = {"unique_id": "a", "ds": times[1:], "cutoff": times[0], "y": [1.0, 2.0]}
        >>> figure = plot_residuals(pd.DataFrame({**rows, "nhits": 1.5}), unit="MW")
    """
    check_columns(backtest, TIME, TARGET)
    error = (backtest[TARGET] - backtest[read_columns(backtest, alias).alias]).to_numpy()
    figure, panels = draw_panels(1, 2, title)
    over_time, histogram = panels[0]
    over_time.axhline(0.0, color=OBSERVED, lw=0.8, ls=":")
    over_time.plot(backtest[TIME], error, ".", ms=2, color=COLOURS[1], alpha=0.5, rasterized=True)
    over_time.set_ylabel(axis_label("y - forecast", unit))
    label_times(over_time)
    histogram.hist(error[np.isfinite(error)], bins=40, color=COLOURS[1], alpha=0.6)
    histogram.set_xlabel(axis_label("y - forecast", unit))
    histogram.set_ylabel("number of values")
    return figure


def plot_ranks(ranks: pd.DataFrame, title: str | None = None) -> Figure:
    """Plot the mean ranks of several models with their intervals, the best model at the top.

    Models whose intervals overlap the band of the best one do not differ from it significantly:
    multiple comparisons with the best (MCB).

    Args:
        ranks: DataFrame returned by `kerastrans.evaluation.significance.model_sets.mean_ranks`.
        title: str, title of the figure.

    Returns:
        `matplotlib.figure.Figure`.

    Source: Koning, Franses, Hibon, Stekler (2005).

    Example:
        >>> import pandas as pd
        >>> ranks = {"rank": [1.2, 1.8], "low": [1.0, 1.6], "high": [1.4, 2.0]}
        >>> figure = plot_ranks(pd.DataFrame(ranks, ["nhits", "last value"]))
    """
    ranks = ranks.sort_values("rank").clip(1, len(ranks))  # an interval can be longer than that
    figure, panels = draw_panels(1, 1, title, height=1.0 + 0.32 * len(ranks))
    panel, best = panels[0, 0], ranks.iloc[0]
    panel.axvspan(best["low"], best["high"], color=tint(COLOURS[1], 0.2), lw=0)
    overlaps = ranks["low"] <= best["high"]
    for place, (name, row) in enumerate(ranks.iterrows()):
        colour = COLOURS[1] if overlaps[name] else OBSERVED
        panel.plot([row["low"], row["high"]], [place, place], color=colour)
        panel.plot(row["rank"], place, "o", ms=5, color=colour)
    panel.set_yticks(
        range(len(ranks)), [plain(f"{name}  {rank:.2f}") for name, rank in ranks["rank"].items()]
    )
    panel.invert_yaxis()
    panel.set_xlabel("mean rank")
    return figure
