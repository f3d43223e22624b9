"""Shared parts of the figures: colours, grids of panels, legends and labels."""

import numpy as np
import pandas as pd
from matplotlib.colors import to_rgb
from matplotlib.dates import ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

OBSERVED = "#444444"
STEP, MAX_STEPS = 1e-9 / 86_400, 10**8  # in days, as matplotlib counts time
MIN_SHARE = 0.1  # share of the steps between time stamps that makes one common
COLOURS = (
    *("#d1495b", "#2e86ab", "#66a182", "#edae49"),
    *("#7b4b94", "#00798c", "#9c6644", "#e07a9b", "#8d99ae", "#3d5a40"),
)


def tint(colour, share):
    """Return a colour mixed with white: an opaque shade that contains `share` of the colour."""
    return tuple(1 - share * (1 - np.array(to_rgb(colour))))


def plain(text):
    r"""Return a text that matplotlib draws as it is.

    A pair of `$` would enclose a formula, and legends leave out labels that begin with `_`.

    Example:
        >>> plain("50% & $_$")
        '50% & \\$_\\$'
    """
    text = str(text).replace("$", r"\$")
    return f"\N{ZERO WIDTH SPACE}{text}" if text.startswith("_") else text


def choose_series(series, known, limit, place):
    """Return the names of the series to draw, one per row of panels.

    Args:
        series: str or strs, names; or None for the first known ones.
        known: List of the names that can be drawn.
        limit: int, number of series drawn by default.
        place: str, name of the frames that contain the known series, for the message.

    Raises:
        ValueError: If no name is left to draw, or one is unknown.
    """
    if series is None:
        series = known[:limit]
    names = [series] if isinstance(series, str) else list(series)
    missing = [name for name in names if name not in known]
    if missing or not names:
        raise ValueError(f"no series to draw: {missing or 'at least one'} must be in {place}.")
    return names


def draw_panels(rows, columns, title, height=None):
    """Return a figure with a grid of panels, and the array `(rows, columns)` of these panels."""
    size = (10, 1.2 + 2.2 * rows) if height is None and columns == 1 else (10, height or 3.6)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, sharex=columns == 1, squeeze=False)
    for panel in panels.ravel():
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    if title:
        figure.suptitle(plain(title))
    return figure, panels


def draw_legend(panel, columns=6):
    """Draw the legend above a panel, with each label once and lines before shades."""
    handles, labels = panel.get_legend_handles_labels()
    entries = dict(zip(labels, handles, strict=True))
    order = sorted(entries, key=lambda label: not isinstance(entries[label], Line2D))
    panel.legend(
        [entries[label] for label in order],
        order,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=min(columns, len(order)),
        frameon=False,
    )


def draw_observed(panel, times, values):
    """Draw observed values as a line that has a gap where steps are missing.

    A step is missing if the next time stamp is farther than any step that is common.
    """
    times, values = pd.DatetimeIndex(times), np.asarray(values, "float64")
    steps = np.diff(times.as_unit("s").asi8)
    kinds, counts = np.unique(steps, return_counts=True)
    usual = kinds[counts >= MIN_SHARE * len(steps)].max(initial=0)
    gaps = np.flatnonzero(steps > 1.5 * usual) + 1 if usual else []
    order = np.insert(np.arange(len(times)), gaps, gaps)
    values = np.insert(values, gaps, np.nan)
    panel.plot(times[order], values, color=OBSERVED, lw=1.4, label="observed")


def label_times(panel, shown=0, known=0):
    """Label the horizontal axis and shorten its time stamps to the parts that differ.

    The label says if only some of the known series are shown.
    """
    first, last = panel.get_xlim()
    name, locator = "time", panel.xaxis.get_major_locator()
    formatter = ConciseDateFormatter(locator, tz=locator.tz)
    if abs(last) < MAX_STEPS * STEP:  # nanoseconds in 1970 number the steps
        size = STEP * np.ceil((last - first) / STEP / 8)
        name, locator, formatter = "step", MultipleLocator(size), lambda x, _: f"{x / STEP:.0f}"
    panel.xaxis.set_major_locator(locator)
    panel.xaxis.set_major_formatter(formatter)
    panel.set_xlabel(f"{name} ({shown} of {known} series are shown)" if shown < known else name)


def axis_label(name, unit, separator=" "):
    """Return the label of an axis, including the unit unless it is None."""
    return plain(name if unit is None else f"{name}{separator}[{unit}]")
