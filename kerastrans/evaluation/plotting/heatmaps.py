"""Plots of attention weights, positional encodings and variable importances."""

import numpy as np
from matplotlib.figure import Figure

from kerastrans.evaluation.plotting.panels import COLOURS, draw_panels, plain


def attention_heatmaps(
    weights, query_labels=None, key_labels=None, *, title=None, query_axis="query", key_axis="key"
):
    """Plot attention weights as a grid of heat maps, one row per block and one column per head.

    A panel is named by its block and its head, or only by its head if there is one block. Masked
    keys, whose weight is exactly 0, are left blank.

    Args:
        weights: Array `(blocks, heads, queries, keys)`, such as one of the arrays returned by
            `attention_scores`.
        query_labels: strs, for example the tokens of the queries; their positions by default.
        key_labels: strs, for example the tokens of the keys; their positions by default.
        title: str, title of the figure.
        query_axis: str, label of the vertical axis, including the unit of positions if any.
        key_axis: str, label of the horizontal axis.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: If `weights` does not have four axes.
        ValueError: If the number of labels differs from the length of their axis.

    Example:
        >>> figure = attention_heatmaps(np.full((1, 2, 3, 3), 1 / 3), title="two heads")
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
            raise ValueError(
                f"{name} must have {count} entries, one per position, got {len(labels)}."
            )
    cell = 0.22 if query_labels is None and key_labels is None else 0.32
    cell = max(cell, 1.6 / keys)  # inches; cells are squares
    names = 0.06 * max(map(len, key_labels)) if key_labels else 0.0
    size = 1.6 + heads * (cell * keys + 0.3), 1.1 + names + blocks * (cell * queries + 0.45)
    figure = Figure(figsize=size)
    figure.set_layout_engine("constrained")
    panels = figure.subplots(blocks, heads, sharex=True, sharey=True, squeeze=False)
    for (block, head), panel in np.ndenumerate(panels):
        image = panel.imshow(
            np.ma.masked_equal(weights[block, head], 0), cmap="viridis", vmin=0, vmax=1
        )
        title_of_block = f"block {block + 1}, " if blocks > 1 else ""
        panel.set_title(f"{title_of_block}head {head + 1}", fontsize=9)
        if key_labels is not None:
            panel.set_xticks(range(keys), map(plain, key_labels), rotation=90, fontsize=8)
        if query_labels is not None:
            panel.set_yticks(range(queries), map(plain, query_labels), fontsize=8)
    figure.supxlabel(plain(key_axis))
    figure.supylabel(plain(query_axis))
    figure.colorbar(image, ax=panels, shrink=0.8, label="attention weight")
    if title:
        figure.suptitle(plain(title))
    return figure


def positional_encoding(encoding, columns=(4, 5, 6, 7)):
    """Plot some columns of a positional encoding as waves, and all of it as a heat map.

    Args:
        encoding: Array `(positions, dim)`, such as the output of `PositionalEncoding(None, dim)`
            for zeros.
        columns: ints, columns drawn as waves.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: If `encoding` does not have two axes, or a column does not exist.

    Source: Vaswani et al. (2017), section 3.5.

    Example:
        >>> figure = positional_encoding(np.zeros((50, 16)))
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


def plot_variable_importances(importances, title=None):
    """Plot the importance of each variable as bars, one panel per kind.

    Args:
        importances: DataFrame returned by `Forecaster.variable_importances`.
        title: str, title of the figure.

    Returns:
        `matplotlib.figure.Figure`.

    Example:
        >>> import pandas as pd
        >>> shares = {"kind": "past", "variable": ["y", "price"], "share": [0.7, 0.3]}
        >>> figure = plot_variable_importances(pd.DataFrame(shares))
    """
    kinds = list(dict.fromkeys(importances["kind"]))
    figure, panels = draw_panels(
        1, len(kinds), title, height=1.5 + 0.3 * len(importances) / len(kinds)
    )
    for panel, kind in zip(panels[0], kinds, strict=True):
        rows = importances[importances["kind"] == kind].sort_values("share")
        panel.barh(list(map(plain, rows["variable"])), rows["share"], color=COLOURS[1])
        panel.set_xlabel(f"share among the {kind} variables")
    return figure
