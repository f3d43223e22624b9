"""Intervals and tests of the runs of fair.py: the tables of docs/comparison.md."""

import numpy as np
import pandas as pd

from benchmarks.accuracy.fair import CHUNK, NUM_SEEDS, PATH, RATES
from kerastrans import datasets, zoo
from kerastrans.evaluation.significance import diebold_mariano, holm, time_blocks
from kerastrans.models.architecture import HORIZONS

REFERENCES = ("patchtst", "dlinear")
NUM_RESAMPLES = 4000
DATASETS = ("etth1", "etth2", "ettm1", "weather", "exchange_rate")


def comparison(dataset="etth1", horizon=96):
    """Return one row per architecture, sorted by the upper end of its difference from PatchTST."""
    rows = chosen_runs(pd.read_csv(PATH), dataset, horizon)
    errors = {  # arrays `(seeds, chunks)` by architecture
        model: np.array([line.split() for line in runs.squared_errors], "float64")
        for model, runs in rows.groupby("model", sort=False)
    }
    differences = {
        reference: differences_from(errors, reference, horizon) for reference in REFERENCES
    }
    order = sorted(errors, key=lambda model: differences["patchtst"][model][2])
    table = []
    for model in order:
        runs = rows[rows.model == model]
        low, high = interval(errors[model][:, None], horizon)
        row = {
            "architecture": zoo.info(model).title,
            "weights": f"{runs.parameters.iloc[0]:,}",
            "rate": f"{runs.learning_rate.iloc[0]:g}" if runs.epochs.iloc[0] else "",
            "seeds": len(runs),
            "MSE": f"{runs.mse.mean():.3f} ({low:.3f} to {high:.3f})",
        }
        for reference in REFERENCES:
            mean, low, high, p = differences[reference][model]
            text = f"{mean:+.3f} ({low:+.3f} to {high:+.3f}), p = {p:.2g}"
            row[f"minus {zoo.info(reference).title}"] = "" if model == reference else text
        table.append(row)
    return pd.DataFrame(table)


def chosen_runs(rows, dataset, horizon):
    """Return the runs at the learning rate that was better on validation with the first seed.

    An architecture without a run at each rate is left out.
    """
    rows = rows[(rows.dataset == dataset) & (rows.horizon == horizon)]
    rates = rows.groupby("model").learning_rate.transform("nunique")
    rows = rows[(rates == len(RATES)) | (rows.epochs == 0)]
    first = rows[rows.seed == 0].sort_values("validation_mse", kind="stable")
    best = first.drop_duplicates("model")[["model", "learning_rate"]]
    return rows.merge(best, on=["model", "learning_rate"])


def differences_from(errors, reference, horizon):
    """Return a dict of model -> mean difference, its interval and the adjusted p-value.

    Args:
        errors: Dict of model -> array `(seeds, chunks)`.
        reference: Name of the model that the others are compared with.
        horizon: int, number of steps of a forecast.
    """
    others = [model for model in errors if model != reference]
    means = [errors[model].mean(axis=0) - errors[reference].mean(axis=0) for model in others]
    starts = CHUNK * np.arange(len(means[0]))
    blocks, positions = time_blocks(starts, starts + CHUNK - 1 + horizon)
    _, p = diebold_mariano(np.transpose(means), blocks, positions)
    found = {reference: (0.0, 0.0, 0.0, np.nan)}
    for model, mean, value in zip(others, means, holm(p), strict=True):
        # All pairs of seeds, resampled together: `(seeds, seeds of the reference, chunks)`.
        pairs = errors[model][:, None] - errors[reference][None]
        found[model] = (mean.mean(), *interval(pairs, horizon), value)
    return found


def interval(errors, horizon):
    """Return the 95 % interval of a mean by a circular block bootstrap over time and seeds.

    Args:
        errors: Array `(seeds, seeds of the reference, chunks)`.
        horizon: int, number of steps of a forecast. A block has two horizons.
    """
    random = np.random.default_rng(0)
    seeds, others, chunks = errors.shape
    length = min(chunks, -(-2 * horizon // CHUNK))
    starts = random.integers(chunks, size=(NUM_RESAMPLES, -(-chunks // length), 1))
    steps = ((starts + np.arange(length)) % chunks).reshape(NUM_RESAMPLES, -1)[:, :chunks]
    # The mean over the drawn seeds weights each seed by how often it was drawn.
    weights = [
        random.multinomial(size, [1 / size] * size, NUM_RESAMPLES) / size
        for size in (seeds, others)
    ]
    over_time = errors[..., steps].mean(axis=-1)  # (seeds, seeds of the reference, resamples)
    means = np.einsum("rs,rt,str->r", *weights, over_time)
    return np.quantile(means, [0.025, 0.975])


def left_out():
    """Return one row per data set: runs that were made and left out, and the hours of the latter.

    The seconds of a run are the mean of the architecture's runs on ETTh1 in the table; of an
    architecture without runs, that of its family, or of attention where the family has none. They
    are multiplied by the number of training rows relative to ETTh1; longer horizons and further
    channels, which cost more, are not counted.
    """
    runs = pd.read_csv(PATH)
    trained = [name for name in zoo.names() if "takes heads" in zoo.info(name).tags]
    family = {name: zoo.info(name).tags[0] for name in trained}
    measured = runs[(runs.dataset == "etth1") & runs.model.isin(trained)]
    by_model = measured.groupby("model").seconds.mean()
    by_family = measured.groupby(measured.model.map(family)).seconds.mean()
    done = runs.drop_duplicates(["model", "dataset", "horizon", "seed", "learning_rate"])
    done = done.groupby(["model", "dataset", "horizon"]).size()
    rows = []
    for dataset in DATASETS:
        scale = _training_rows(dataset) / _training_rows("etth1")
        made, left, seconds = 0, 0, 0.0
        for name in trained:
            planned = len(RATES) - 1 + NUM_SEEDS.get(family[name], 3)
            one = by_model.get(name, by_family.get(family[name], by_family.get("attention")))
            for horizon in HORIZONS:
                count = done.get((name, dataset, horizon), 0)
                missing = max(0, planned - count)
                made, left, seconds = made + count, left + missing, seconds + missing * one * scale
        hours = seconds / 3600
        row = {"data set": dataset, "runs": made, "left out": left}
        rows.append(row | {"hours, one core": hours, "hours, two cores": hours / 2})
    table = pd.DataFrame(rows)
    table.loc[len(table)] = ["all", *table.drop(columns="data set").sum()]
    hours = [column for column in table if column.startswith("hours")]
    return table.astype({"runs": int, "left out": int} | dict.fromkeys(hours, int))


def _training_rows(dataset):
    """Return the number of rows of the training split."""
    known = datasets.info(dataset)
    first = known.splits[0]
    return first if first > 1 else int(first * known.rows)
