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
    "Drawn from the Keras graph of a small model, 168 steps of 3 channels to 24. Of blocks that "
    "repeat one is drawn; reshaping and dropout are left out. Yellow: has weights. Below each "
    "name: the shape of what it returns, without the batch."
)


def graph(entry):
    """The picture of its graph."""
    return (
        f"## Its graph\n\n{LEGEND}\n\n"
        f'<div class="graph" tabindex="0" role="region" aria-label="Graph of {entry.title}" '
        f"markdown>\n\n![{entry.title} from the history, at the top, to the forecast]"
        f"(../images/architectures/{entry.name}-graph.svg)\n\n</div>"
    )


def forecast(entry):
    """The picture of a forecast."""
    return (
        "## A forecast\n\n"
        f"![Departures an hour from Kennedy airport, observed and as {entry.title} forecast "
        f"them on three days](../images/architectures/{entry.name}-forecast.svg)\n\n"
        "Three days that were not trained on, each forecast at its midnight from the 168 hours "
        "before. A small model, three epochs, nothing tuned "
        "(`tools/site/draw_forecasts.py`): it shows what kind of forecast this is, not how "
        "good it can be."
    )


def measured(entry):
    """Errors by the paper's settings, and by one setting for all."""
    return f"## Measured\n\n{published(entry.name)}\n\n{by_one_setting(entry.name)}"


def published(name):
    """A row a run: our errors and the published ones, with date, seed and command."""
    path = RESULTS / "long_horizon.csv"
    runs = with_dates(path).query("model == @name")
    if runs.empty:
        return "Not yet trained by the paper's settings."
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
        "By the settings of the paper, errors of standardised values over the whole test part "
        f"(`python -m benchmarks.accuracy.long_horizon --models {name}`; "
        "[protocol](../benchmarks/protocol.md#long-horizons-the-protocol)):\n\n"
        f"{markdown(rows)}\n\n"
        + (f"Published figures: {sources}." if sources else "No published figures for these.")
    )


def by_one_setting(name):
    """Its row among all architectures, small, by one setting."""
    table = with_dates(RESULTS / "architectures.csv").sort_values("mse", ignore_index=True)
    former = {"direct_transformer": "transformer"}.get(name, name)
    (row,) = table[table["model"] == former].itertuples()
    return (
        f"Small, four epochs on ETTh1, 96 steps to 96, one setting for all, seed {row.seed}: an "
        f"MSE of {row.mse:.3f} and an MAE of {row.mae:.3f} with {row.parameters:,} weights, place "
        f"{row.Index + 1} of {len(table)} by MSE ({row.date}, "
        f"`python -m benchmarks.accuracy.architectures --models {name}`, "
        "[all of them](../benchmarks.md#as-accurate-as-the-papers))."
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
        "idea": entry.summary,
        "paper": f"{entry.source}, {entry.year}",
        "channels": "mixed" if entry.mixes_channels else "apart",
        "equivariant": entry.equivariance,
        "covariates inside": ", ".join(native),
    }
