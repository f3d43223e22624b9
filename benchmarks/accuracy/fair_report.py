"""Intervals and tests of the runs of fair.py: the tables of docs/comparison.md."""

import functools

import numpy as np
import pandas as pd

from benchmarks.accuracy.fair import CHUNK, NUM_SEEDS, PATH, RATES
from kerastrans import datasets, zoo
from kerastrans.evaluation.significance.tests import (
    SIGNIFICANCE,
    diebold_mariano,
    holm,
    time_blocks,
)
from kerastrans.models.architecture import HORIZONS

BASELINE = "dlinear"
REFERENCES = ("patchtst", BASELINE)
NUM_RESAMPLES = 4000
VERDICTS = ("better", "not known", "worse", "no test")
DATASETS = ("etth1", "etth2", "ettm1", "weather", "exchange_rate")


def comparison(dataset="etth1", horizon=96):
    """Return one row per architecture, sorted by the upper end of its difference from PatchTST."""
    rows = chosen_runs(pd.read_csv(PATH), dataset, horizon)
    errors = errors_by_model(rows)
    differences = {
        reference: differences_from(errors, reference, horizon) for reference in REFERENCES
    }
    order = sorted(errors, key=lambda model: differences["patchtst"][model][2])
    table = []
    for model in order:
        runs = rows[rows.model == model]
        low, high = interval(errors[model], horizon)
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


def horizons(dataset):
    """Return one row per architecture that has runs at all horizons of a data set.

    Each cell has the MSE and its difference from that of DLinear in percent, bold if established.
    The rows are sorted by the upper end of the interval of this difference, averaged over the
    horizons.
    """
    cells = differences_by_horizon(PATH, dataset)
    order = sorted(cells, key=lambda model: np.mean([cell[3] for cell in cells[model]]))
    table = []
    for model in order:
        row = {"architecture": zoo.info(model).title}
        for horizon, (mse, *percent, p) in zip(HORIZONS, cells[model], strict=True):
            row[f"{horizon} steps"] = f"{mse:.3f}"
            if model != BASELINE:
                mean, low, high = percent
                text = f"{mean:+.1f} % ({low:+.1f} to {high:+.1f})"
                is_known = verdict(low, high, p) in ("better", "worse")
                row[f"{horizon} steps"] += f", **{text}**" if is_known else f", {text}"
        table.append(row)
    return pd.DataFrame(table)


def established():
    """Return one row per architecture: of how many differences from DLinear the sign is known."""
    cells = {}
    for dataset in DATASETS:
        for model, found in differences_by_horizon(PATH, dataset).items():
            cells.setdefault(model, []).extend(found)
    cells.pop(BASELINE, None)
    means = {model: np.mean([cell[1] for cell in found]) for model, found in cells.items()}
    rows = []
    for model in sorted(means, key=means.get):
        verdicts = [verdict(*cell[2:]) for cell in cells[model]]
        counts = {name: verdicts.count(name) for name in VERDICTS}
        row = {"architecture": zoo.info(model).title, **counts}
        rows.append(row | {"mean difference": f"{means[model]:+.1f} %"})
    return pd.DataFrame(rows)


def verdict(low, high, p):
    """Return what is known of a difference, by its interval and its adjusted p-value."""
    if np.isnan(p):
        return "no test"
    if p >= SIGNIFICANCE or low * high <= 0:
        return "not known"
    return "better" if high < 0 else "worse"


@functools.cache
def differences_by_horizon(path, dataset):
    """Return a dict of model -> for each horizon `(mse, mean, low, high, p)`, in order.

    The mean difference from DLinear and its interval are in percent of the MSE of DLinear. Models
    without runs at all horizons are left out; without DLinear there is nothing to compare.
    """
    runs = pd.read_csv(path)
    errors = [errors_by_model(chosen_runs(runs, dataset, horizon)) for horizon in HORIZONS]
    models = [model for model in errors[0] if all(model in found for found in errors)]
    if BASELINE not in models:
        return {}
    cells = {model: [] for model in models}
    for horizon, found in zip(HORIZONS, errors, strict=True):
        scale = 100 / found[BASELINE].mean()
        compared = {model: found[model] for model in models}
        for model, (*percent, p) in differences_from(compared, BASELINE, horizon).items():
            cells[model].append((found[model].mean(), *(scale * x for x in percent), p))
    return cells


def errors_by_model(rows):
    """Return a dict of model -> array `(seeds, chunks)` of the mean squared errors of chunks."""
    return {
        model: np.array([line.split() for line in runs.squared_errors], "float64")
        for model, runs in rows.groupby("model", sort=False)
    }


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
        found[model] = (mean.mean(), *interval(errors[model], horizon, errors[reference]), value)
    return found


def interval(errors, horizon, reference=None):
    """Return the 95 % interval of a mean by a circular block bootstrap over time and seeds.

    Args:
        errors: Array `(seeds, chunks)`.
        horizon: int, number of steps of a forecast. A block has two horizons.
        reference: Array `(seeds of the reference, chunks)` that is subtracted, with the same blocks
            and seeds of its own, or None.
    """
    random = np.random.default_rng(0)
    chunks = errors.shape[1]
    length = min(chunks, -(-2 * horizon // CHUNK))
    starts = random.integers(chunks, size=(NUM_RESAMPLES, -(-chunks // length), 1))
    steps = ((starts + np.arange(length)) % chunks).reshape(NUM_RESAMPLES, -1)[:, :chunks]
    places = steps + chunks * np.arange(NUM_RESAMPLES)[:, None]
    counts = np.bincount(places.ravel(), minlength=NUM_RESAMPLES * chunks)
    shares = counts.reshape(NUM_RESAMPLES, chunks) / chunks
    means = _resampled_means(errors, shares, random)
    if reference is not None:
        means = means - _resampled_means(reference, shares, random)
    return np.quantile(means, [0.025, 0.975])


def _resampled_means(errors, shares, random):
    """Return the mean over drawn chunks and seeds, `(resamples,)`."""
    seeds = len(errors)
    # Each seed is weighted by how often it was drawn.
    weights = random.multinomial(seeds, [1 / seeds] * seeds, NUM_RESAMPLES) / seeds
    return np.sum(weights * (shares @ errors.T), axis=1)


def left_out():
    """Return one row per data set: runs that were made and left out, and the hours of the latter.

    The seconds of a run are the mean of the architecture's runs on ETTh1 in the table that used no
    accelerator; of an architecture without such runs, that of its family, or of attention if the
    family has none. They are multiplied by the number of training rows relative to ETTh1; longer
    horizons and further channels, which cost more, are not counted.
    """
    runs = pd.read_csv(PATH)
    trained = [name for name in zoo.names() if "takes heads" in zoo.info(name).tags]
    family = {name: zoo.info(name).tags[0] for name in trained}
    on_processor = ~runs.backend.str.contains("(", regex=False)  # no accelerator is named
    measured = runs[(runs.dataset == "etth1") & runs.model.isin(trained) & on_processor]
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
