"""Pictures. Every function returns a matplotlib Figure and draws on no screen."""

import numpy as np
from matplotlib.figure import Figure

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
    figure = Figure(figsize=(10, 1.2 + 2.2 * len(channels)), layout="constrained")
    panels = figure.subplots(len(channels), 1, sharex=True, squeeze=False)[:, 0]
    for panel, channel in zip(panels, channels, strict=True):
        observed = history if actual is None else _concat(history, actual)
        panel.plot(observed.index, observed[channel], color=OBSERVED, lw=1.4, label="observed")
        for i, (name, frame) in enumerate(forecasts.items()):
            joined = _concat(history.iloc[-1:], frame)  # so that the line starts where history ends
            style = {"lw": 2.2} if i == 0 else {"lw": 1.2, "ls": "--"}
            colour = COLOURS[i % len(COLOURS)]
            panel.plot(joined.index, joined[channel], color=colour, label=name, **style)
        panel.axvline(history.index[-1], color=OBSERVED, lw=0.8, ls=":")
        panel.set_ylabel(f"{channel}\n[{unit}]" if unit else str(channel))
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].legend(loc="upper left", ncols=4, frameon=False, bbox_to_anchor=(0, 1.25))
    panels[-1].set_xlabel("time")
    if title:
        figure.suptitle(title)
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
    import pandas as pd

    return pd.concat([first, second[first.columns]])
