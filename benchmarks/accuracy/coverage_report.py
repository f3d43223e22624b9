"""The tables and the picture of the runs of coverage.py, in docs/how/intervals.md.

python -m benchmarks.accuracy.coverage_report    # draws docs/images/coverage.png
"""

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.accuracy.coverage import OUTPUT, PROCESSES, ZERO
from benchmarks.accuracy.fallback import OUTPUT as FALLBACK
from benchmarks.common import HERE, RESULTS

BEFORE = RESULTS / "coverage-before.csv"
PICTURE = HERE.parent / "docs/images/coverage.png"
CELL = ["process", "series", "rows", "model"]
GOALS = {80: (0.74, 0.88), 95: (0.90, 0.99)}
MIN_REPLICATES = 3  # to judge a cell


def cells(path=OUTPUT):
    """Return one row per cell: means over replicates, and whether they meet the goals.

    A cell fails if the 95 % interval of its mean, by Student's t, lies outside of the goal; one of
    fewer than 3 replicates is not judged. `fit` warned in a cell if it did in most replicates.
    """
    rows = pd.read_csv(path)
    groups = rows.groupby(CELL, sort=False)
    table = groups[["covers-80", "covers-95", "first-80", "last-80", "width", "warned"]].mean()
    table["count"] = groups.size()
    for level, (low, high) in GOALS.items():
        error = groups[f"covers-{level}"].std() / np.sqrt(table["count"])
        error *= stats.t.ppf(0.975, np.maximum(table["count"] - 1, 1))
        mean = table[f"covers-{level}"]
        table[f"error-{level}"] = error
        table[f"fails-{level}"] = (mean + error < low) | (mean - error > high)
    table["warned"] = table["warned"] > 0.5
    table["judged"] = ~table["warned"] & (table["count"] >= MIN_REPLICATES)
    return table.reset_index()


def summary():
    """Return one row per model: how many of the judged cells, without a warning, meet the goals."""
    lines = []
    for path, label in ((BEFORE, "before"), (OUTPUT, "now")):
        if not path.is_file():
            continue
        table = cells(path)
        for model in ("auto", "nlinear", "nhits", ZERO):
            chosen = table[table.model == model]
            if not len(chosen):
                continue
            counted = chosen[chosen.judged]
            passed = counted[~counted["fails-80"]], counted[~counted["fails-95"]]
            lines.append(
                {
                    "model": f"{model} {label}" if model != ZERO else ZERO,
                    "cells": len(chosen),
                    "with a warning": int(chosen.warned.sum()),
                    "of too few replicates": int((~chosen.warned & ~chosen.judged).sum()),
                    "80 % within 74 to 88": f"{len(passed[0])} of {len(counted)}",
                    "95 % within 90 to 99": f"{len(passed[1])} of {len(counted)}",
                    "80 % cover": _span(counted["covers-80"]),
                    "width over the ideal": _span(counted["width"], 1, 2),
                }
            )
    return pd.DataFrame(lines)


def missed():
    """Return one row per cell without a warning that fails a goal."""
    table = cells()
    table = table[table.judged & (table["fails-80"] | table["fails-95"])]
    return pd.DataFrame(
        {
            "process": table["process"],
            "series x rows": table["series"].astype(str) + " x " + table["rows"].astype(str),
            "model": table["model"],
            "80 % cover": [
                f"{100 * mean:.0f} ± {100 * error:.0f}"
                for mean, error in zip(table["covers-80"], table["error-80"], strict=True)
            ],
            "95 % cover": [f"{100 * mean:.0f}" for mean in table["covers-95"]],
            "first step, last step": [
                f"{100 * first:.0f}, {100 * last:.0f}"
                for first, last in zip(table["first-80"], table["last-80"], strict=True)
            ],
        }
    )


def few_rows():
    """Return how a trained model compares with kerastrans_zero_2, by the number of rows."""
    rows = pd.read_csv(FALLBACK)
    lines = []
    for count, group in rows.groupby("rows"):
        line = {"rows": count, "series": len(group)}
        for measure in ("mae", "wql"):
            ratio = group[f"{measure} tide"] / group[f"{measure} zero"]
            line[f"{measure.upper()}, TiDE over kerastrans-zero 2"] = np.exp(np.log(ratio).mean())
            line[f"of which below 1, {measure.upper()}"] = int((ratio < 1).sum())
        for name in ("tide", "zero"):
            line[f"80 % cover, {name}"] = f"{100 * group[f'coverage-80 {name}'].mean():.0f}"
        lines.append(line)
    return pd.DataFrame(lines)


def _span(values, factor=100, decimals=0):
    if values.empty:
        return ""
    low, middle, high = (factor * values.quantile(q) for q in (0, 0.5, 1))
    return f"{middle:.{decimals}f} ({low:.{decimals}f} to {high:.{decimals}f})"


def draw(path=PICTURE):
    """Draw the coverage of each cell, before and now, and of kerastrans_zero_2."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    now = cells()
    panels = [("Now", now)]
    if BEFORE.is_file():
        panels.insert(0, ("Before", cells(BEFORE)))
    columns = list(dict.fromkeys(zip(now.model, now.series, now.rows, strict=True)))
    order = {"auto": 0, "nlinear": 1, "nhits": 2, ZERO: 3}
    columns.sort(key=lambda x: (order[x[0]], x[1], x[2]))
    figure, axes = plt.subplots(1, len(panels), figsize=(7.2 * len(panels), 4.4), sharey=True)
    for axis, (title, table) in zip(np.atleast_1d(axes), panels, strict=True):
        shown = [x for x in columns if x[0] in set(table.model)]
        grid = np.full((len(PROCESSES), len(shown)), np.nan)
        for row in table.to_dict("records"):
            place = (
                PROCESSES.index(row["process"]),
                shown.index((row["model"], row["series"], row["rows"])),
            )
            grid[place] = 100 * row["covers-80"]
            mark = "*" if row["warned"] else ""
            dark = abs(grid[place] - 80) > 28
            axis.text(
                place[1],
                place[0],
                f"{grid[place]:.0f}{mark}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if dark else "black",
            )
        image = axis.imshow(grid, cmap="RdBu", vmin=40, vmax=120, aspect="auto")
        labels = [f"{model.removeprefix('kerastrans_')} {s} x {r}" for model, s, r in shown]
        axis.set_xticks(range(len(shown)), labels, rotation=60, ha="right", fontsize=8)
        axis.set_yticks(range(len(PROCESSES)), PROCESSES, fontsize=9)
        axis.set_title(f"{title}: percent of futures in the 80 % interval", fontsize=10)
        del image
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    draw()
