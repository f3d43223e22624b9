"""Our figures beside the published ones: results/long_horizon.csv and published.csv as a table.

python -m benchmarks.accuracy.long_horizon_report              # writes results/long_horizon.md
"""

import pandas as pd

from benchmarks.common import HERE, RESULTS, markdown
from kerastrans import zoo
from kerastrans.models.architecture import HORIZONS, HORIZONS_OF

KEY = ["model", "dataset", "horizon", "context_length"]
MEAN = 0  # horizon of a published mean over the horizons, where the single figures were not found
NEAR = 0.02  # relative distance from a published mean
GROUPS = ("within 2 %", "not within 2 %", "not all horizons", "not run", "no published figures")


def main():
    ours = pd.read_csv(RESULTS / "long_horizon.csv")
    published = pd.read_csv(HERE / "published.csv")
    text = report(ours, published)
    (RESULTS / "long_horizon.md").write_text(text)
    print(text)


def report(ours, published):
    """Markdown: the mean over the horizons of each model, then every run."""
    table = compare(ours, published)
    means = summarise(table, ours)
    return (
        "# Long horizons: ours and the published figures\n\n"
        "MSE and MAE of standardised values over the whole test split; ratio = ours / published "
        "MSE. Written by `benchmarks/accuracy/long_horizon_report.py`.\n\n"
        "## Mean over the horizons\n\n"
        "sd is the standard deviation over the seeds of the mean over the horizons; without it "
        "there is one seed.\n\n"
        f"{markdown(means)}\n\n"
        "## What is missing on ETTh1\n\n"
        "Architectures with weights that are not compared with published figures at all four "
        "horizons.\n\n"
        f"{markdown(missing(ours, published))}\n\n"
        "## Every run\n\n"
        f"{markdown(table.drop(columns=['source', 'published_mean']))}\n\n"
        "## Sources of the published figures\n\n"
        + "".join(
            f"- {model}, {dataset}, context {context}: {source}.\n"
            for (model, dataset, context, source), _ in table.dropna(subset="source").groupby(
                ["model", "dataset", "context_length", "source"], sort=False
            )
        )
    )


def compare(ours, published):
    """One row a run: our errors (mean over seeds), the published ones where there are any.

    `published_mean` is that over the horizons, if it is all that was found.
    """
    runs = ours.groupby(KEY, sort=False, as_index=False)[["mse", "mae"]].mean()
    published = published.rename(columns={"mse": "published_mse", "mae": "published_mae"})
    table = runs.merge(published, on=KEY, how="left")
    table["ratio"] = table["mse"] / table["published_mse"]
    means = published[published["horizon"] == MEAN].rename(
        columns={"published_mse": "published_mean", "source": "source_of_mean"}
    )
    means = means.drop(columns=["horizon", "published_mae"])
    table = table.merge(means, on=[name for name in KEY if name != "horizon"], how="left")
    table["source"] = table["source"].fillna(table["source_of_mean"])
    columns = ["mse", "published_mse", "ratio", "mae", "published_mae", "source", "published_mean"]
    return table[[*KEY, *columns]]


def summarise(table, ours):
    """One row for each model, dataset and context: mean MSE over the horizons, worst ratio.

    If each horizon has its own context, as in some scripts, there is one row: "336 or 512".
    Only horizons with a published figure count where there is any; without one the model stands
    with its own mean alone. `seeds` and `sd` are of the seeds that have all these horizons.
    """
    groups = table.groupby(["model", "dataset"])
    table = table.assign(context=pd.concat([_contexts(runs) for _, runs in groups]))
    rows = []
    for key, runs in table.groupby(["model", "dataset", "context"], sort=False):
        known = runs.dropna(subset="published_mse")
        counted = known if len(known) else runs
        mean, published = counted["mse"].mean(), known["published_mse"].mean()
        if not len(known) and set(runs["horizon"]) == set(_horizons(key[1])):
            published = runs["published_mean"].iloc[0]
        runs = counted[KEY].merge(ours, on=KEY)
        by_seed = runs.pivot_table("mse", "seed", "horizon").dropna().mean(axis=1)
        rows.append(
            dict(zip(("model", "dataset", "context_length"), key, strict=True))
            | {
                "horizons": len(counted),
                "seeds": len(by_seed),
                "mse": mean,
                "sd": by_seed.std(),
                "published_mse": published,
                "ratio": mean / published,
                "worst_ratio": known["ratio"].max(),
            }
        )
    return pd.DataFrame(rows)


def _contexts(runs):
    """Return the label of the context of each run of a model on a data set."""
    labels = runs["context_length"].astype(str)
    if runs["horizon"].is_unique:
        labels[:] = " or ".join(map(str, sorted(set(runs["context_length"]))))
    return labels


def standing(ours, published, dataset="etth1"):
    """One row per architecture with weights: how near its mean is to the published one.

    `ratio` is the mean MSE over the `horizons` that were run and published, relative to the
    published one, NaN without them; `group` is one of `GROUPS`. Of several contexts with published
    figures, the one that was run first counts.
    """
    known = published[published["dataset"] == dataset]
    runs = compare(ours[ours["dataset"] == dataset], known)
    runs = runs[runs[["published_mse", "published_mean"]].notna().any(axis=1)]
    rows = []
    for name in zoo.names():
        if "takes heads" not in zoo.info(name).tags:  # it has no weights
            continue
        found = runs[runs["model"] == name].drop_duplicates("horizon")
        complete = set(found["horizon"]) == set(_horizons(dataset))
        theirs = found["published_mse"].mean()
        if complete and pd.isna(theirs):
            theirs = found["published_mean"].iloc[0]
        ratio = found["mse"].mean() / theirs
        if not len(found):
            group = GROUPS[3] if name in set(known["model"]) else GROUPS[4]
        elif not complete:
            group = GROUPS[2]
        else:
            group = GROUPS[0] if abs(ratio - 1) <= NEAR else GROUPS[1]
        horizons = tuple(sorted(found["horizon"]))
        rows.append({"name": name, "ratio": ratio, "horizons": horizons, "group": group})
    return pd.DataFrame(rows)


def _horizons(dataset):
    return HORIZONS_OF.get(dataset, HORIZONS)


def missing(ours, published, dataset="etth1"):
    """One row per architecture that is not compared at all horizons, and what is missing."""
    rows = []
    for row in standing(ours, published, dataset).itertuples():
        if row.group in GROUPS[:2]:
            continue
        scripts = [size for size in zoo.info(row.name).sizes if size.startswith(f"{dataset}_")]
        left = [str(horizon) for horizon in _horizons(dataset) if horizon not in row.horizons]
        parts = {
            "settings of a script": not scripts,
            "published figures": row.group == GROUPS[4],
            f"runs at {', '.join(left)} steps": row.group != GROUPS[4],
        }
        rows.append(
            {
                "architecture": zoo.info(row.name).title,
                "ratio so far": row.ratio,
                "missing": "; ".join(part for part, is_missing in parts.items() if is_missing),
            }
        )
    return pd.DataFrame(rows)


if __name__ == "__main__":
    main()
