"""The tables of how fast the package is, from benchmarks/results, for readme.py."""

import json

import pandas as pd

from benchmarks.common import RESULTS

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
LOOPS = {"predict": "predict loop", "eager": "eager loop", "transformers": "transformers"}


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


def default_sizes():
    """Milliseconds of a training step by default, and before; the most memory."""
    rows = pd.read_csv(RESULTS / "default_sizes.csv")
    keys = ["model", "context_length", "num_channels"]
    before = pd.read_csv(RESULTS / "default_sizes-before.csv").set_index(keys)["step_ms"]

    def cell(row):
        former = before.get((row.model, row.context_length, row.num_channels))
        return f"{row.step_ms:.0f} ms" + (f" ({former})" if former else "")

    table = {"architecture": rows["model"].unique()}
    for size, part in rows.groupby(keys[1:], sort=False):
        cells = {row.model: cell(row) for row in part.itertuples()}
        table["{} x {}".format(*size)] = [cells.get(name, "") for name in table["architecture"]]
    peak = rows.groupby("model", sort=False)["peak_mb"].max()
    table["most memory"] = [f"{mb / 1000:.1f} GB" for mb in peak]
    return pd.DataFrame(table)


def paper_sizes():
    """Weights and peak memory of a training step at the size of the paper, by history."""
    rows = pd.read_csv(RESULTS / "paper_sizes.csv").dropna(subset="weights")
    table = []
    for name, found in rows.groupby("model", sort=False):
        cells = {
            f"{row.context_length} x {row.num_channels}": f"{row.peak_mb / 1000:.1f} GB"
            for row in found.itertuples()
        }
        table.append({"architecture": name, "weights": f"{found.weights.iloc[0]:,.0f}"} | cells)
    return pd.DataFrame(table).fillna("")


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
    """The load test's figures, without and with the worst CSV files."""
    found = json.loads((RESULTS / "serving.json").read_text())
    rows = {"none": found["without_csvs"], "the worst": found["with_csvs"]}
    return pd.DataFrame(
        [
            {
                "CSV files": name,
                "requests": f"{row['requests']:,}",
                "a second": f"{row['requests_per_second']:.0f}",
                "p50": f"{row['p50_ms']:.0f} ms",
                "p99": f"{row['p99_ms']:.0f} ms",
                "wrong answers": row["wrong_answers"],
                "cores: clients": f"{row['clients_cpu_share']:.2f}",
                "server": f"{row['server_cpu_share']:.2f}",
            }
            for name, row in rows.items()
        ]
    )


def imports():
    """Seconds of the processor that imports take."""
    found = json.loads((RESULTS / "imports.json").read_text())
    names = ("import keras", "import kerastrans after it", "kerastrans --help")
    return pd.DataFrame([{name: f"{found[name]:.2f} s" for name in names}])


def cold_start():
    """Seconds of the processor and megabytes of `kerastrans forecast` in a new process."""
    rows = pd.read_csv(RESULTS / "cold_start.csv")
    cells = [f"{row.cpu:.1f} s, {row.megabytes:,.0f} MB" for row in rows.itertuples()]
    table = rows.assign(cell=cells).pivot(
        index=["backend", "cache", "series"], columns="label", values="cell"
    )
    return table[rows.label.unique()].reset_index().rename(columns={"series": "series x rows"})


def step_parts():
    """Seconds of the processor of the parts of a training step."""
    rows = pd.read_csv(RESULTS / "step_parts.csv")
    return rows.assign(cpu_seconds=[f"{x:.2f} s" for x in rows.cpu_seconds]).rename(
        columns={"cpu_seconds": "time", "model": "architecture"}
    )


def pretrained_speed():
    """Milliseconds of the processor for a forecast by weights of others, and by theirs."""
    rows = pd.read_csv(RESULTS / "pretrained_speed.csv")
    columns = {
        "reference": "its package",
        "jax": "JAX",
        "tensorflow": "TensorFlow",
        "torch": "PyTorch",
        "torch, recorded": "PyTorch, recorded",
    }
    cells = rows.assign(
        cell=[f"{x:,.0f}" if x >= 100 else f"{x:.1f}" for x in rows.cpu_milliseconds]
    )
    table = cells.pivot(index=["model", "batch"], columns="backend", values="cell")
    return table[[*columns]].rename(columns=columns).fillna("").reset_index()


def reading():
    """Seconds to read a CSV, ours and pandas's."""
    rows = pd.read_csv(RESULTS / "tables.csv")
    return pd.DataFrame(
        {
            "table": rows["table"],
            "MB": rows["MB"].map("{:.0f}".format),
            "pandas.read_csv": rows["pandas"].map("{:.2f} s".format),
            "read_table": rows["kerastrans"].map("{:.2f} s".format),
            "ratio": rows["ratio"].map("{:.2f}".format),
        }
    )


def sizes():
    """Megabytes that an installation takes."""
    found = json.loads((RESULTS / "imports.json").read_text())["megabytes"]
    return pd.DataFrame([{"installed": k, "MB": f"{v:,.0f}"} for k, v in found.items()])


def decoding():
    """Milliseconds of cached decoding, and how many times as long the other loops take."""
    rows = pd.read_csv(RESULTS / "generation-cpu-tensorflow.csv")
    times = rows.pivot(index=["batch", "steps"], columns="loop", values="times_cached")
    cached = rows[rows.loop == "cached"].set_index(["batch", "steps"]).milliseconds
    table = pd.DataFrame({"cached": [f"{milliseconds:.1f} ms" for milliseconds in cached]})
    table.index = cached.index
    for loop, title in LOOPS.items():
        table[title] = [f"{ratio:,.0f} x" for ratio in times.loc[cached.index, loop]]
    return table.reset_index()


def prompts():
    """Tokens per second of a decoder-only model and of GPT-2, and the time of the first call."""
    rows = pd.read_csv(RESULTS / "prompts.csv")
    table = rows[["model", "backend", "batch"]].copy()
    table["tokens per second"] = [f"{x:,}" for x in rows.tokens_per_second]
    table["one call"] = [f"{x / 1e3:.2f} s" for x in rows.milliseconds]
    table["first call"] = [f"{x:.1f} s" for x in rows.first_call_seconds]
    return table


def generation_parts():
    """Milliseconds of the encoder and of the loop that follows, and of the encoder's products."""
    rows = pd.read_csv(RESULTS / "generation_parts.csv")
    peer = rows.set_index("model").whole_ms["transformers"]
    return pd.DataFrame(
        {
            "model": rows.model,
            "backend": rows.backend,
            "first step": [f"{x:.1f} ms" for x in rows.first_ms],
            "23 more": [f"{x:.1f} ms" for x in rows.loop_ms],
            "the encoder's products": [f"{x:.1f} ms" for x in rows.floor_ms],
            "times faster": ["" if x == peer else f"{peer / x:.0f} x" for x in rows.whole_ms],
        }
    )


def sampling():
    """Milliseconds to draw paths, and how many times as long the peer takes."""
    rows = pd.read_csv(RESULTS / "sampling-cpu-jax.csv")
    rows = rows[rows.model != "transformers"]
    models = [f"{row.model}, patches of {row.patch_length}" for row in rows.itertuples()]
    cells = [
        f"{row.milliseconds:,.1f} ms" + ("" if pd.isna(x := row.times_faster) else f": {x:,.0f} x")
        for row in rows.itertuples()
    ]
    table = rows.assign(model=models, cell=cells).pivot(
        index=["batch", "steps", "paths"], columns="model", values="cell"
    )
    return table.reset_index()
