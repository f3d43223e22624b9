"""Plot of the past values and corrections that forecasts of kerastrans-zero are the sum of."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from narwhals.typing import IntoDataFrame

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.columns import ID, TARGET, TIME, check_columns
from kerastrans.evaluation.plotting.panels import (
    COLOURS,
    OBSERVED,
    axis_label,
    choose_series,
    draw_legend,
    draw_panels,
    label_times,
)
from kerastrans.evaluation.scores.scales import observed_values

MAX_SERIES = 4
MAX_LAGS = 4  # number of lags that have a colour
LARGEST = 260  # area of the marker of a value with a share of 1 in every step, in square points


@takes_any_frame
def plot_explanation(
    explanation: IntoDataFrame,
    history: IntoDataFrame | None = None,
    title: str | None = None,
    unit: str | None = None,
    *,
    series: Sequence[str] | None = None,
) -> Figure:
    """Plot the shares of past values, and the contributions of the lags to each step.

    There are two panels per series. The left one has the history and the forecast; the area of the
    marker of a past value is its mean share in all steps. The right one has the forecast of each
    step less the mean of the window, as a stack of what each lag contributes to it: the difference
    of its past values from the mean, and its corrections. The lags with the largest contributions
    have a colour; "other" has the other lags, slopes, the offset and the regression on earlier
    cycles.

    Args:
        explanation: DataFrame returned by `Forecaster.explain`.
        history: Long or wide DataFrame of the series, or None for the past values with a share.
            The drawn part begins with the earliest value whose mean share is at least 1 %.
        title: str, title of the figure.
        unit: str, unit of the values, for the vertical axis.
        series: Names of the series to draw; the first four by default.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: If a series is missing in the explanation, or columns are missing.

    Example:
        >>> import kerastrans
        >>> frame = kerastrans.datasets.load("air_passengers")
        >>> zero = kerastrans.from_pretrained("kerastrans_zero_2", 12, verbose=False)
        >>> figure = plot_explanation(zero.explain(frame), frame)
    """
    columns = ("part", "lag", "source", "value", "share", "contribution")
    check_columns(explanation, ID, TIME, *columns)
    known = list(dict.fromkeys(explanation[ID]))
    names = choose_series(series, known, MAX_SERIES, "the explanation")
    past = observed_values(history, explanation)
    figure, panels = draw_panels(len(names), 2, title, height=0.8 + 3 * len(names))
    for (left, right), name in zip(panels, names, strict=True):
        rows = explanation[explanation[ID] == name]
        _draw_values(left, rows, past[past[ID] == name].set_index(TIME)[TARGET])
        left.set_ylabel(axis_label(name, unit, "\n"))
        label_times(left)
        _draw_contributions(right, rows)
    draw_legend(panels[0, 0], columns=3)
    panels[-1, 1].set_xlabel("steps ahead")
    return figure


def _draw_values(panel, rows, values):
    """Draw a history, the past values by their mean share, and the forecast."""
    forecast = rows.groupby(TIME)["contribution"].sum()
    shares = rows[rows["part"] == "past value"].groupby("source")["share"].sum() / len(forecast)
    chosen = rows.dropna(subset="source").drop_duplicates("source").set_index("source")["value"]
    chosen = chosen.sort_index()
    values = values.combine_first(chosen).sort_index()
    visible = shares[shares >= 0.01]
    first = visible.index.min() if len(visible) else values.index[-1]
    values = values[(values.index >= first) & (values.index < forecast.index[0])]
    joined = pd.concat([values.iloc[-1:], forecast])
    panel.plot(values.index, values, color=OBSERVED, lw=1, label="observed")
    panel.plot(joined.index, joined, color=COLOURS[0], lw=1.8, label="forecast")
    sizes = LARGEST * shares.reindex(chosen.index) / max(shares.max(), 1e-9)
    options = {"color": COLOURS[1], "alpha": 0.6, "lw": 0, "zorder": 3, "label": "share of a value"}
    inside = chosen.index >= first
    panel.scatter(chosen.index[inside], chosen[inside], s=sizes[inside], **options)


def _draw_contributions(panel, rows):
    """Draw the contributions of the largest lags as stacked bars, one bar per step."""
    mean = rows.loc[rows["part"] == "mean", "value"].iloc[0]
    inner = rows["part"].isin(["past value", "mean"])
    amounts = rows["contribution"].where(~inner, rows["share"] * (rows["value"] - mean))
    lags = rows["lag"].where(rows["part"].isin(["past value", "recent changes"]))
    table = amounts.groupby([rows[TIME], lags.astype("object").fillna(-1).astype(int)]).sum()
    table = table.unstack(fill_value=0.0)
    ranks = table.drop(columns=-1, errors="ignore").abs().sum().sort_values(ascending=False)
    largest = ranks.index[:MAX_LAGS].sort_values()
    parts = {f"lag {lag}": table[lag] for lag in largest}
    parts["other"] = table.drop(columns=largest).sum(axis=1)
    steps = np.arange(1, len(table) + 1)
    ends = {True: np.zeros(len(table)), False: np.zeros(len(table))}  # of positive bars, negative
    for number, (name, part) in enumerate(parts.items()):
        part = part.to_numpy()
        bottom = np.where(part > 0, ends[True], ends[False])
        colour = COLOURS[8] if name == "other" else COLOURS[number + 1]
        panel.bar(steps, part, 0.9, bottom, color=colour, label=name)
        for is_positive, end in ends.items():
            end += np.where((part > 0) == is_positive, part, 0)
    total = table.sum(axis=1).to_numpy()
    panel.plot(steps, total, color=COLOURS[0], lw=1.4, marker=".")
    panel.axhline(0, color=OBSERVED, lw=0.8)
    panel.set_ylabel("forecast less the mean")
    draw_legend(panel, columns=3)
