"""Write results/tasks.md: our scores on the published tasks beside those that others published.

python -m benchmarks.accuracy.tasks_report
"""

import numpy as np
import pandas as pd

from benchmarks.accuracy.task_list import TASKS
from benchmarks.common import HERE, RESULTS, markdown
from kerastrans.forecasting.inference.contamination import NOT_SEEN, SEEN, UNKNOWN, status_of
from kerastrans.models.pretrained.licences import card_of

METRICS = {  # of each benchmark, as it is published; those in percent
    "fev-bench": ("mase", "sql"),
    "M4": ("smape", "mase", "owa", "msis-95"),
    "M3": ("smape",),
    "Tourism": ("mape",),
}
PERCENT = ("smape", "mape")
NAIVE = (
    "seasonal_naive",
    "Naive2",
    "**seasonal_naive**",
)  # the first of them is what skill is over
CARDS = {  # names in the tables -> names of their cards
    "kerastrans_zero_2": "kerastrans_zero_2",
    "fracast_0": "ztxtech/fracast-0",
    "Chronos-2": "amazon/chronos-2",
    "Chronos-Bolt": "amazon/chronos-bolt-base",
    "FlowState": "ibm-granite/granite-timeseries-flowstate-r1",
    "TimesFM-2.5": "google/timesfm-2.5-200m-pytorch",
    "Toto-2.0-22m": "Datadog/Toto-2.0-22m",
}
# Version 1, and version 2 with other seasons than those of the clock, which no table lists.
OTHERS = r"^kerastrans_zero(?:\+|$| )|\((?:no season|season 1)\)"
COVERAGE = ["coverage-80", "coverage-95", "fit_seconds", "settings"]


def main():
    ours = pd.read_csv(RESULTS / "tasks.csv")
    ours = ours[~ours["model"].str.contains(OTHERS)]
    published = pd.read_csv(HERE / "published_tasks.csv")
    text = report(ours, published)
    (RESULTS / "tasks.md").write_text(text)
    print(text)


def report(ours, published):
    """Markdown: a table a benchmark and metric, then the coverage and settings of each run."""
    rows = pd.concat([as_published(ours, published), published.assign(is_ours=False)])
    rows = rows[rows["task"].isin(ours["task"])]
    # Of the naive forecasts ours, which are equal; they have no intervals.
    rows = rows.dropna(subset="value").drop_duplicates(["task", "model", "metric"])
    rows["benchmark"] = rows["task"].map(lambda name: TASKS[name].benchmark)
    parts = []
    for benchmark, metrics in METRICS.items():
        for metric in metrics:
            chosen = rows[(rows["benchmark"] == benchmark) & (rows["metric"] == metric)]
            if len(chosen):
                parts.append(f"## {benchmark}: {metric.upper()}\n\n{markdown(table(chosen))}\n")
    seen = contamination(rows)
    runs = ours[["task", "model", "seed", *COVERAGE]]
    return (
        "# Published tasks: ours and what others scored\n\n"
        "Bold names are ours, means over seeds. `skill` is one less the geometric mean over the "
        "tasks of the score over the naive forecast's (seasonal, or Naive2), of models that have "
        "all tasks. Written by `benchmarks/accuracy/tasks_report.py`; sources of the published "
        "figures are in `published_tasks.csv`.\n\n" + "\n".join(parts) + "\n## Contamination\n\n"
        "Whether published weights were trained on the series of a task, by their cards "
        "(`kerastrans/models/pretrained/cards.toml`, which cites the sources). All other models "
        "were trained only on the rows before the first test window, or have no weights; "
        "`select` and `auto` also use kerastrans_zero_2.\n\n"
        + f"{markdown(seen)}\n"
        + f"\n## Runs\n\n{markdown(runs)}\n"
    )


def contamination(rows):
    """A row per model with published weights, and a column per task."""
    pairs = rows[rows["model"].isin(CARDS)].drop_duplicates(["model", "task"])
    order = (SEEN, UNKNOWN, NOT_SEEN)  # of several data sets, the first that applies

    def status(model, task):
        names = TASKS[task].dataset.split("+")
        return min((status_of(card_of(CARDS[model]), name) for name in names), key=order.index)

    pairs = pairs.assign(
        status=[status(*pair) for pair in zip(pairs["model"], pairs["task"], strict=True)]
    )
    return pairs.pivot(index="model", columns="task", values="status").fillna("").reset_index()


def as_published(ours, published):
    """Our scores in long form, in the units of the published ones; OWA by the published Naive2."""
    long = ours.melt(["task", "model"], var_name="metric", value_name="value")
    long = long[long["metric"].isin({m for metrics in METRICS.values() for m in metrics})]
    long["value"] = long["value"].astype(float)
    long.loc[long["metric"].isin(PERCENT), "value"] *= 100
    long = long.groupby(["task", "model", "metric"], as_index=False)["value"].mean()
    naive = published[published["model"] == "Naive2"].set_index(["task", "metric"])["value"]
    scores = long[long["metric"].isin(["smape", "mase"]) & long["task"].str.startswith("m4")]
    keys = pd.MultiIndex.from_frame(scores[["task", "metric"]])
    scores = scores.assign(value=scores["value"].to_numpy() / naive.reindex(keys).to_numpy())
    owa = scores.groupby(["task", "model"], as_index=False)["value"].mean().assign(metric="owa")
    return pd.concat([long, owa]).assign(is_ours=True)


def skill_over(scores, naive):
    """One less the geometric mean over the tasks of each model's ratio; NaN where one is missing.

    Args:
        scores: DataFrame, a row a model, a column a task.
        naive: name of the row that the ratios are to.
    """
    ratios = np.log(scores / scores.loc[naive])
    return 1 - np.exp(ratios.mean(axis=1, skipna=False))


def table(rows):
    """A row a model, a column a task, the best first."""
    names = rows["model"].where(~rows["is_ours"], "**" + rows["model"] + "**")
    wide = rows.assign(model=names).pivot_table("value", "model", "task", aggfunc="first")
    wide = wide.dropna(how="all")
    naive = next((name for name in NAIVE if name in wide.index), None)
    if naive is not None:
        wide["skill"] = skill_over(wide, naive)
    order = "skill" if naive is not None else wide.columns[0]
    wide = wide.sort_values(order, ascending=order != "skill").round(3).reset_index()
    return wide.astype(object).where(wide.notna(), "")


if __name__ == "__main__":
    main()
