"""The tables of how accurate forecasts are, from benchmarks/results, for readme.py."""

import json

import numpy as np
import pandas as pd

from benchmarks.accuracy import example_scripts, long_horizon_report, tasks_report
from benchmarks.accuracy.task_list import TASKS, TRANSFORMER_TASKS
from benchmarks.common import HERE, RESULTS
from kerastrans import presets, zoo
from kerastrans.evaluation.significance.model_sets import geometric_mean_interval

BASELINES = ("seasonal_naive", "last_value")
SETS = {
    "etth1": "ETTh1",
    "etth2": "ETTh2",
    "ettm1": "ETTm1",
    "ettm2": "ETTm2",
    "weather": "weather",
    "exchange_rate": "exchange rates",
}


def demo():
    """What `kerastrans demo` printed."""
    scores = json.loads((RESULTS / "demo.json").read_text())["metrics"]
    rows = pd.DataFrame(scores).T.astype(float).sort_values("mae")
    return pd.DataFrame(
        {
            "forecast": rows.index,
            "MAE [flights/h]": [f"{mae:.2f}" for mae in rows.mae],
            "RMSE [flights/h]": [f"{rmse:.2f}" for rmse in rows.rmse],
            "MASE": rows.mase,
            "CRPS": ["" if pd.isna(crps) else f"{crps:.2f}" for crps in rows.crps],
            "80 % covers": ["" if pd.isna(x) else f"{x:.0%}" for x in rows["coverage-80"]],
        }
    )


def intervals():
    """Coverage and CRPS of the chosen architecture beside those of the better naive forecast."""
    rows = pd.read_csv(RESULTS / "intervals.csv")
    chosen = rows[rows.chosen == "yes"].set_index("series")
    naive = rows[rows.model.isin(BASELINES)].sort_values("crps").drop_duplicates("series")
    naive = naive.set_index("series").loc[chosen.index]

    def shares(level):
        """Of split and of adaptive intervals."""
        both = zip(chosen[f"coverage-{level} split"], chosen[f"coverage-{level}"], strict=True)
        return [
            "" if pd.isna(split) else f"{split:.1%}, {adaptive:.1%}" for split, adaptive in both
        ]

    return pd.DataFrame(
        {
            "series": chosen.index,
            "steps": [f"{r.context_length} to {r.prediction_length}" for r in chosen.itertuples()],
            "origins": chosen.origins.to_numpy(),
            "architecture": [zoo.info(name).title for name in chosen.model],
            "80 % covers": shares(80),
            "95 % covers": shares(95),
            "CRPS": [f"{crps:.4g}" for crps in chosen.crps],
            "better naive's": [
                f"{r.crps:.4g}, {zoo.info(r.model).title}" for r in naive.itertuples()
            ],
            "skill of the MAE": [f"{skill:.1%}" for skill in chosen.skill],
            "p": ["" if pd.isna(p) else f"{p:.2g}" for p in chosen.p],
        }
    )


def forecaster():
    """Errors and times beside neuralforecast's."""
    rows = pd.read_csv(RESULTS / "forecaster-jax.csv")
    return pd.DataFrame(
        {
            "architecture": rows.model,
            "MAE": [f"{r.mae:.4f}: {r.ratio_mae:.3f}" for r in rows.itertuples()],
            "mean pinball loss": [
                f"{r.pinball:.4f}: {r.ratio_pinball:.3f}" for r in rows.itertuples()
            ],
            "time": [f"{r.seconds:.0f} s: {r.ratio_seconds:.2f}" for r in rows.itertuples()],
        }
    )


def long_horizon():
    """Mean over the horizons by data set, and its ratio to the published figures' mean."""
    ours = pd.read_csv(RESULTS / "long_horizon.csv")
    published = pd.read_csv(HERE / "published.csv")
    means = long_horizon_report.summarise(long_horizon_report.compare(ours, published), ours)

    def cell(row):
        spread = "" if pd.isna(row.sd) else f" ± {row.sd:.3f}"
        return f"{row.mse:.3f}{spread}" + ("" if pd.isna(row.ratio) else f": {row.ratio:.3f}")

    rows = []
    for (model, context), found in means.groupby(["model", "context_length"], sort=False):
        cells = {row.dataset: cell(row) for row in found.itertuples()}
        if cells.keys() & SETS.keys():  # illness has a table of its own
            seeds = str(found.seeds.max())
            start = {"architecture": zoo.info(model).title, "context": context, "seeds": seeds}
            rows.append(start | {title: cells.get(name, "") for name, title in SETS.items()})
    return pd.DataFrame(rows)


def illness():
    """Mean MSE over the horizons that were run on illness, and the share of the last value's."""
    ours = pd.read_csv(RESULTS / "long_horizon.csv")
    published = pd.read_csv(HERE / "published.csv")
    runs = long_horizon_report.compare(ours[ours.dataset == "illness"], published)
    last = runs[runs.model == "last_value"].set_index("horizon")
    rows = []
    for name, found in runs.groupby("model", sort=False):
        theirs = found.published_mse.mean()
        if len(found) == len(last) and pd.isna(theirs):
            theirs = found.published_mean.iloc[0]
        if name == "last_value" or pd.isna(theirs):
            continue
        naive = last.loc[found.horizon]
        rows.append(
            {
                "architecture": zoo.info(name).title,
                "steps ahead": ", ".join(map(str, found.horizon)),
                "MSE": f"{found.mse.mean():.2f}",
                "published": f"{theirs:.2f}",
                "of the last value's": f"{found.mse.mean() / naive.mse.mean():.3f}",
                "as published": f"{theirs / naive.published_mse.mean():.3f}",
            }
        )
    return pd.DataFrame(rows)


def reached():
    """Architectures with weights by how near their mean on ETTh1 is to the published one."""
    ours = pd.read_csv(RESULTS / "long_horizon.csv")
    table = long_horizon_report.standing(ours, pd.read_csv(HERE / "published.csv"))
    rows = []
    for group in long_horizon_report.GROUPS:
        found = table[table["group"] == group]
        titles = [
            zoo.info(row.name).title + ("" if pd.isna(row.ratio) else f" {row.ratio:.3f}")
            for row in found.itertuples(index=False)
        ]
        rows.append((group, len(titles), ", ".join(titles)))
    return pd.DataFrame(rows, columns=["mean on ETTh1", "number", "architectures"])


def architectures():
    """Every architecture beside the last value, the best first."""
    table = pd.read_csv(RESULTS / "architectures.csv").sort_values("mse", ignore_index=True)
    last_value = table.mse[table.model == "last_value"].item()
    return pd.DataFrame(
        {
            "architecture": table.model,
            "weights": [f"{count:,}" for count in table.parameters],
            "MSE": [f"{mse:.3f}" for mse in table.mse],
            "MAE": [f"{mae:.3f}" for mae in table.mae],
            "MSE / last value's": [f"{mse / last_value:.2f}" for mse in table.mse],
        }
    )


def translation():
    """The three settings of translation.py."""
    results = json.loads((RESULTS / "translation.json").read_text())
    kinds = {
        "small": ("short sentences", 32),
        "large": ("sentences", 256),
        "numbers": ("numbers below 100,000", 64),
    }
    rows = []
    for case, (kind, width) in kinds.items():
        found = results[case]
        rows.append(
            {
                "training pairs": f"{found['training_pairs']:,} {kind}",
                "width": width,
                "epochs": found["epochs"],
                "loss per token": f"{found['training_loss_per_token']:.3f}",
                "held-out BLEU": f"{found['held_out_bleu_greedy']:.1f}",
                "exactly right": f"{found['held_out_exact_greedy']:.1%}",
            }
        )
    return pd.DataFrame(rows)


def trained():
    """The presets' errors beside the better baseline's."""
    rows = []
    for name in presets.names():
        card = presets.card(name)
        (model, *_), settings = card["metrics"], card["settings"]
        errors = card["metrics"][model]
        naive = {key: min(card["metrics"][x][key] for x in BASELINES) for key in ("mse", "mae")}
        rows.append(
            {
                "preset": f"`{name}`",
                "steps": f"{settings['context_length']} to {settings['prediction_length']}",
                "weights": f"{card['parameters']:,}",
                "MSE": f"{errors['mse']:.3f}",
                "MAE": f"{errors['mae']:.3f}",
                "80 % covers": f"{errors['coverage-80']:.1%}",
                "best naive MSE": f"{naive['mse']:.3f}",
                "best naive MAE": f"{naive['mae']:.3f}",
            }
        )
    return pd.DataFrame(rows)


TRAINED = {  # the models of the table of tasks, and how they came to their forecasts
    "auto": "`Forecaster(prediction_length=...).fit(frame)`, once, at most 5 minutes",
    "select": "`select(frame, ...)`, once, 15 minutes",
    "kerastrans_zero_2": "`from_pretrained`, 89 thousand weights, no training",
    "PatchTST": "again for every window, up to two hours each",
    "TFT": "again for every window, up to two hours each",
    "DeepAR": "again for every window, up to two hours each",
    "Chronos-2": "pretrained, no training",
    "Chronos-Bolt": "pretrained, no training",
    "AutoTheta": "again for every window",
}


def tasks():
    """By how much the default models are below seasonal naive on fev-bench's tasks."""
    ours = pd.read_csv(RESULTS / "tasks.csv")
    published = pd.read_csv(HERE / "published_tasks.csv")
    rows = pd.concat([tasks_report.as_published(ours, published), published])
    rows = rows[rows.task.map(lambda name: TASKS[name].benchmark == "fev-bench")]
    rows = rows.groupby(["metric", "model", "task"]).value.first().unstack("task")
    for metric in ("mase", "sql"):  # the covariates of the tasks that have some
        zero = rows.loc[metric, "kerastrans_zero_2+covariates"]
        rows.loc[(metric, "kerastrans_zero_2"), :] = zero.fillna(
            rows.loc[metric, "kerastrans_zero_2"]
        )

    mase, sql = (rows.loc[metric].loc[list(TRAINED)] for metric in ("mase", "sql"))
    naive = {metric: rows.loc[metric].loc["seasonal_naive"] for metric in ("mase", "sql")}
    table = pd.DataFrame(
        {
            "forecast": TRAINED.keys(),
            "trained": TRAINED.values(),
            "MASE": [_below(mase.loc[name] / naive["mase"]) for name in TRAINED],
            "SQL": [_below(sql.loc[name] / naive["sql"]) for name in TRAINED],
            "MASE beside that of auto": [
                "" if name == "auto" else _beside(mase.loc[name] / mase.loc["auto"])
                for name in TRAINED
            ],
        }
    )
    order = np.log(mase).mean(axis=1).to_numpy().argsort(kind="stable")
    return table.iloc[order]


def fev_tasks():
    """Scores of kerastrans-zero 2 by `fev` and in our table."""
    table = pd.read_csv(RESULTS / "fev_tasks.csv", dtype=str)
    table = table[table["model"] == "kerastrans_zero_2"]
    columns = {"task": "task"}
    for metric in ("mase", "sql"):
        columns[f"{metric}_fev"] = f"{metric.upper()} by fev"
        columns[f"{metric}_ours"] = f"{metric.upper()} in our table"
    table = table.sort_values("task", key=lambda names: names.str.lower())
    return table[list(columns)].rename(columns=columns)


def _below(ratios):
    """By how much the geometric mean is below 1, with its interval over the tasks."""
    mean, low, high = geometric_mean_interval(ratios)
    return f"{1 - mean:.1%} ({1 - high:.0%} to {1 - low:.0%})"


def _beside(ratios):
    """By how much the geometric mean is above 1, with its interval over the tasks."""
    mean, low, high = geometric_mean_interval(ratios)
    return f"{mean - 1:+.1%} ({low - 1:+.0%} to {high - 1:+.0%})"


def transformers():
    """MASE of autoregressive Transformers, and of what they are compared with, mean over seeds."""
    rows = _transformer_rows()
    means = rows.groupby(["model", "task"]).mase.mean().unstack("task")
    spread = rows.groupby(["model", "task"]).mase.std().unstack("task")
    order = (means / means.loc["best naive"]).mean(axis=1).sort_values().index
    seeds = rows.groupby(["model", "task"]).seed.nunique().groupby("model").unique()
    seeds = [" to ".join(map(str, sorted(seeds[model]))) for model in order]
    table = pd.DataFrame({"model": order, "seeds": seeds})
    for task in TRANSFORMER_TASKS:
        cells = zip(means.loc[order, task], spread.loc[order, task], strict=True)
        table[task] = [_mean_and_spread(*cell) for cell in cells]
    return table


def transformer_summary():
    """Geometric means over the tasks, coverage and seconds of the same runs."""
    rows = _transformer_rows()
    means = rows.groupby(["model", "task"])[["mase", "sql", "coverage-80"]].mean()
    seconds = rows.groupby("model")[["fit_seconds", "forecast_seconds"]].median()
    found = []
    for model, part in means.groupby("model"):
        part = part.droplevel("model")
        naive = means.loc["best naive"].loc[part.index]
        ratios = np.exp(np.log(part / naive).mean())
        cover = 100 * part["coverage-80"]
        found.append(
            {
                "model": model,
                "tasks": len(part),
                "MASE": ratios.mase,
                "SQL": ratios.sql,
                "80 % covers": f"{cover.min():.0f} to {cover.max():.0f} %",
                "fit": f"{seconds.fit_seconds[model]:.0f} s",
                "forecast": f"{seconds.forecast_seconds[model]:.1f} s",
            }
        )
    return pd.DataFrame(found).sort_values("MASE", ignore_index=True)


def training_methods():
    """Errors by the way a model is trained, divided by those of the week before."""
    rows = pd.read_csv(RESULTS / "training_methods.csv")
    means = rows.pivot_table("mae_over_naive", "method", "data")
    return means.sort_values(list(means.columns)).rename_axis(columns=None).reset_index()


def token_values():
    """Scores of tokens of values and of patches on the same windows."""
    rows = pd.read_csv(RESULTS / "token_values.csv")
    columns = {"mase": "MASE", "sql": "SQL", "coverage-80": "80 % covers"}
    table = rows[["task", "model", *columns]].rename(columns=columns)
    table["80 % covers"] = [f"{x:.0%}" for x in rows["coverage-80"]]
    table["fit"] = [f"{x:.0f} s" for x in rows.fit_seconds]
    table["forecast"] = [f"{x:.1f} s" for x in rows.forecast_seconds]
    return table


def _transformer_rows():
    """The runs, and of both naive forecasts for each task the one with the smaller MASE."""
    rows = pd.read_csv(RESULTS / "transformers.csv").drop(columns="smape")
    is_naive = rows.model.str.contains("naive")
    best = rows[is_naive].sort_values("mase").drop_duplicates("task").assign(model="best naive")
    return pd.concat([rows[~is_naive], best], ignore_index=True)


def ported_scripts():
    """Each variant of the ported scripts: its scores over the seeds, its size, and its code."""
    rows = pd.read_csv(RESULTS / "example_scripts.csv")
    rows = rows[rows["script"].str.startswith("ported_")]
    found = []
    for (script, variant, metric), part in rows.groupby(
        ["script", "variant", "metric"], sort=False
    ):
        lines = example_scripts.lines_of_variant(script, variant)
        weights, values = part["weights"].iloc[0], part["value"]
        found.append(
            {
                "script": f"[{script}](../../examples/{script}.py)",
                "variant": variant,
                "measure": metric,
                "mean": values.mean(),
                "seeds": f"{values.min():.3f} to {values.max():.3f}" if len(values) > 1 else "",
                "weights": f"{weights:,}" if weights else "",
                "lines of code": "" if lines is None else str(lines),
            }
        )
    return pd.DataFrame(found)


def early_stopping():
    """Errors of forecasts by the epoch that each number chooses, one seed a row."""
    rows = pd.read_csv(RESULTS / "example_scripts.csv")
    rows = rows[rows["script"] == "early_stopping"]
    table = rows.pivot(index="seed", columns="variant", values="value")
    return table[list(rows["variant"].unique())].reset_index()


def _mean_and_spread(mean, spread):
    if pd.isna(mean):
        return ""
    return f"{mean:.3f}" if pd.isna(spread) else f"{mean:.3f} ± {spread:.3f}"
