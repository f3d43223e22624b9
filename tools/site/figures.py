"""An architecture's pictures, and its errors beside the published ones."""

import functools
import re
import subprocess
import time
from pathlib import Path

import pandas as pd

from benchmarks.accuracy.long_horizon_report import KEY
from benchmarks.common import HERE, RESULTS, markdown

ROOT = Path(__file__).parents[2]
LEGEND = (
    "Drawn from the Keras graph of a small model with 168 steps of context, 3 channels and 24 "
    "steps ahead. Repeated blocks are drawn once; reshaping and dropout are omitted. Layers with "
    "weights are yellow. Below each name is the shape of its output, without the batch axis."
)


def graph(entry):
    """The picture of its graph."""
    return (
        f"## Graph\n\n{LEGEND}\n\n"
        f'<div class="graph" tabindex="0" role="region" aria-label="Graph of {entry.title}" '
        f"markdown>\n\n![{entry.title} from the history, at the top, to the forecast]"
        f"(../images/architectures/{entry.name}-graph.svg)\n\n</div>"
    )


def forecast(entry):
    """The picture of a forecast."""
    return (
        "## Example forecast\n\n"
        f"![Departures per hour from Kennedy airport, observed and forecast by {entry.title} "
        f"on three days](../images/architectures/{entry.name}-forecast.svg)\n\n"
        "Three days that were not used for training, each forecast at midnight from the 168 hours "
        "before. A small model was trained for three epochs without tuning "
        "(`tools/site/draw_forecasts.py`): the plot shows the kind of forecast, not the best "
        "accuracy that the architecture can reach."
    )


def measured(entry):
    """Errors by the paper's settings, and by one setting for all."""
    return f"## Measured accuracy\n\n{published(entry.name)}\n\n{by_one_setting(entry.name)}"


def published(name):
    """A row a run: our errors and the published ones, with date, seed and command."""
    path = RESULTS / "long_horizon.csv"
    runs = with_dates(path).query("model == @name")
    if runs.empty:
        return "Not yet trained with the settings of the paper."
    known = pd.read_csv(HERE / "published.csv")
    table = runs.merge(known, on=KEY, how="left", suffixes=("", " published"))
    ratio = table["mse"] / table["mse published"]
    rows = pd.DataFrame(
        {
            "series": table["dataset"],
            "steps": [f"{r.context_length} to {r.horizon}" for r in table.itertuples()],
            "MSE": table["mse"],
            "published": table["mse published"],
            "ratio": ratio,
            "MAE": table["mae"],
            "seed": table["seed"],
            "backend": table["backend"],
            "date": table["date"],
        }
    )
    sources = "; ".join(dict.fromkeys(table["source"].dropna()))
    return (
        "Trained with the settings of the paper; errors of standardised values over the whole "
        "test set "
        f"(`python -m benchmarks.accuracy.long_horizon --models {name}`; "
        "[protocol](../benchmarks/protocol.md#long-horizons)):\n\n"
        f"{markdown(rows)}\n\n"
        + (
            f"Published figures: {sources}."
            if sources
            else "There are no published figures for these."
        )
    )


def by_one_setting(name):
    """Its row among all architectures, small, by one setting."""
    table = with_dates(RESULTS / "architectures.csv").sort_values("mse", ignore_index=True)
    rows = table[table["model"] == name]
    if rows.empty:
        return "Not yet compared with all other architectures by the same settings."
    (row,) = rows.itertuples()
    return (
        f"A small version, trained for four epochs on ETTh1 (96 steps of context, 96 steps ahead) "
        f"with the same settings as all other architectures and seed {row.seed}, has an MSE of "
        f"{row.mse:.3f} and an MAE of {row.mae:.3f} with {row.parameters:,} weights, rank "
        f"{row.Index + 1} of {len(table)} by MSE ({row.date}, "
        f"`python -m benchmarks.accuracy.architectures --models {name}`, "
        "[all architectures](../benchmarks.md#accuracy-compared-with-the-papers))."
    )


@functools.cache
def with_dates(path):
    """A table of results with the day on which each row was committed, where git tells it.

    A shallow clone would give every row the day of its oldest commit: there it is left out.
    """
    table = pd.read_csv(path)
    shallow = git("rev-parse", "--is-shallow-repository").strip() != "false"
    blame = "" if shallow else git("blame", "--line-porcelain", str(path))
    seconds = re.findall(r"^committer-time (\d+)$", blame, re.MULTILINE)[1:]
    days = [time.strftime("%Y-%m-%d", time.gmtime(int(second))) for second in seconds]
    return table.assign(date=days if len(days) == len(table) else "")


def git(*command):
    """What git prints; nothing where there is no repository."""
    found = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout


def overview_row(entry):
    """One architecture in the table of all."""
    native = [tag.split()[0] for tag in entry.tags if tag.endswith("covariates")]
    return {
        "architecture": f"[{entry.title}]({entry.name}.md)",
        "name": f"`{entry.name}`",
        "tier": entry.tier,
        "idea": entry.summary,
        "paper": f"{entry.source}, {entry.year}",
        "channels": "mixed" if entry.mixes_channels else "apart",
        "equivariant": entry.equivariance,
        "inputs for covariates": ", ".join(native),
    }
