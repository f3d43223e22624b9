"""Fill the README's tables, between their comments, from benchmarks/results.

python tools/readme_tables.py
"""

import json
import re
import sys
from pathlib import Path

import pandas as pd

from kerastrans import presets, zoo

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
sys.path.insert(0, str(ROOT / "benchmarks"))

import report  # noqa: E402 (beside the benchmarks)

BASELINES = ("seasonal_naive", "last_value")
SETS = {
    "etth1": "ETTh1",
    "etth2": "ETTh2",
    "exchange_rate": "exchange rates",
}
TRAINING = {
    "tensorflow": "TensorFlow",
    "tensorflow-xla": "TensorFlow, XLA",
    "jax": "JAX",
    "jax-memory-kept": "JAX, memory kept",
}
RUNTIMES = {
    "keras": "Keras, in process",
    "savedmodel": "SavedModel",
    "onnx": "ONNX",
    "litert": "LiteRT",
    "litert float16": "LiteRT, float16",
    "litert int8": "LiteRT, int8",
}


def main():
    path = ROOT / "README.md"
    text = path.read_text()
    for tag, table in (
        ("intervals", intervals()),
        ("forecaster", forecaster()),
        ("latency", latency()),
        ("long_horizon", long_horizon()),
        ("architectures", architectures()),
        ("training", training()),
        ("translation", translation()),
        ("presets", trained()),
        ("runtimes", runtimes()),
        ("serving", served()),
    ):
        marked = f"<!-- {tag} -->\n{report.markdown(table)}\n<!-- /{tag} -->"
        text, found = re.subn(
            rf"<!-- {tag} -->.*?<!-- /{tag} -->", lambda _, m=marked: m, text, flags=re.S
        )
        if not found:
            raise SystemExit(f"README.md has no place for the table {tag}.")
    path.write_text(text)


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


def runtimes():
    """Milliseconds, one history and 256, and the file's size, by model and runtime."""
    table = pd.read_csv(RESULTS / "runtimes.csv")
    rows = []
    for (model, runtime), found in table.groupby(["model", "runtime"], sort=False):
        one, many = found.sort_values("batch").itertuples()
        rows.append(
            {
                "model": model,
                "runtime": RUNTIMES[runtime],
                "1 history": f"{one.milliseconds:.3g} ms: {one.times_keras:.2f}",
                "256": f"{many.milliseconds:.3g} ms: {many.times_keras:.2f}",
                "size": "" if pd.isna(one.kib) else f"{one.kib:,.0f} KiB",
                "error": "" if pd.isna(one.error) else f"{one.error:.4f}",
            }
        )
    return pd.DataFrame(rows)


def served():
    """The load test's figures."""
    found = json.loads((RESULTS / "serving.json").read_text())
    return pd.DataFrame(
        [
            {
                "requests": f"{found['requests']:,}",
                "a second": f"{found['requests_per_second']:.0f}",
                "p50": f"{found['p50_ms']:.0f} ms",
                "p99": f"{found['p99_ms']:.0f} ms",
                "wrong answers": found["wrong_answers"],
                "memory, first and last minute": (
                    f"{found['memory_mib_first_tenth']:.0f} and "
                    f"{found['memory_mib_last_tenth']:.0f} MiB"
                ),
            }
        ]
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


def latency():
    """Milliseconds of a warm predict."""
    found = []
    for backend, name in (("tensorflow", "TensorFlow"), ("jax", "JAX")):
        for r in pd.read_csv(RESULTS / f"predict_latency-{backend}.csv").itertuples():
            found.append(
                {
                    "architecture": r.model,
                    "backend": name,
                    "predict": f"{r.ours_ms:.1f} ms",
                    "of it Keras": f"{r.keras_ms:.1f} ms",
                    "neuralforecast": f"{r.peer_ms:.1f} ms",
                    "ratio": f"{r.ratio:.2f}",
                }
            )
    return pd.DataFrame(found)


def long_horizon():
    """Mean over the horizons by data set, and its ratio to the published figures' mean."""
    ours = pd.read_csv(RESULTS / "long_horizon.csv")
    published = pd.read_csv(ROOT / "benchmarks" / "published.csv")
    means = report.summarise(report.compare(ours, published), ours)

    def cell(row):
        spread = "" if pd.isna(row.sd) else f" ± {row.sd:.3f}"
        return f"{row.mse:.3f}{spread}" + ("" if pd.isna(row.ratio) else f": {row.ratio:.3f}")

    rows = []
    for (model, context), found in means.groupby(["model", "context_length"], sort=False):
        cells = {row.dataset: cell(row) for row in found.itertuples()}
        if "etth1" in cells:  # elsewhere a model is run by settings of its own
            seeds = str(found.seeds.max())
            start = {"architecture": zoo.info(model).title, "context": context, "seeds": seeds}
            rows.append(start | {title: cells.get(name, "") for name, title in SETS.items()})
    return pd.DataFrame(rows)


def training():
    """Milliseconds of a step of `fit`, ours on each backend and the peer's."""
    tables = {run: pd.read_csv(RESULTS / f"training-{run}.csv") for run in TRAINING}
    cases = list(tables["jax"].itertuples())
    table = pd.DataFrame(
        {
            "architecture": [r.model for r in cases],
            "context, batch": [f"{r.context_length}, {r.batch}" for r in cases],
            "neuralforecast: fit (bare step)": [
                f"{r.peer_fit:.1f} ms ({r.peer_step:.1f})" for r in cases
            ],
            **{
                TRAINING[run]: [
                    f"{r.ours:.1f} ms: {r.ratio_fit:.2f} ({r.ratio_step:.2f})"
                    for r in rows.itertuples()
                ]
                for run, rows in tables.items()
            },
        }
    )
    means = []
    for run in TRAINING:
        summary = json.loads((RESULTS / f"training-{run}.json").read_text())
        fit, step = (summary[f"geometric_mean_ratio_{kind}"] for kind in ("fit", "step"))
        means.append(f"{fit:.2f} ({step:.2f})")
    table.loc[len(table)] = ["geometric mean of the ratios", "", "", *means]
    return table


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


if __name__ == "__main__":
    main()
