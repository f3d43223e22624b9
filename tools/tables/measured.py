"""The README's table: one figure of each kind from benchmarks/results, and its comparison."""

import json

import numpy as np
import pandas as pd

from benchmarks.accuracy import long_horizon_report
from benchmarks.common import HERE, RESULTS
from tools.tables.accuracy import transformer_summary
from tools.tables.speed import decoding


def measured():
    """Accuracy first, then speed."""
    return pd.DataFrame([*_errors(), *_times()], columns=["measure", "kerastrans", "compared with"])


def _errors():
    demo = json.loads((RESULTS / "demo.json").read_text())["metrics"]
    errors = {name: scores["mae"] for name, scores in demo.items()}
    ours = errors.pop("nhits")
    transformer = errors.pop("decoder_transformer")
    naive = min(errors, key=errors.get)
    compared = f"{naive}: {errors[naive]:.2f}"
    yield "MAE of `make demo`, flights per hour", f"{ours:.2f}", compared
    yield "MAE of its autoregressive Transformer", f"{transformer:.2f}", compared
    summary = transformer_summary().set_index("model")
    for model in ("decoder_transformer", "time_series_transformer"):
        tasks, mase = summary.loc[model, ["tasks", "MASE"]]
        what = f"MASE of `{model}`, geometric mean of {tasks:.0f} tasks"
        yield what, f"{1 - mase:.1%} lower", "the better of two seasonal naives"
    tasks = pd.read_csv(RESULTS / "tasks.csv").pivot_table("mase", "task", "model")
    for model, what in (
        ("auto", "the default"),
        ("select", "`select`, 15 minutes per task"),
        ("kerastrans_zero", "kerastrans-zero, without training"),
        ("kerastrans_zero_2", "kerastrans-zero 2, without training"),
        ("kerastrans_zero_2+season", "kerastrans-zero 2 with the option `season`"),
    ):
        below = 1 - np.exp(np.log(tasks[model] / tasks["seasonal_naive"]).mean())
        what = f"MASE of {what}, geometric mean of {len(tasks)} published tasks"
        yield what, f"{below:.1%} lower", "seasonal naive"
    runs = pd.read_csv(RESULTS / "long_horizon.csv")
    published = pd.read_csv(HERE / "published.csv")
    means = long_horizon_report.summarise(long_horizon_report.compare(runs, published), runs)
    means = means[means["model"] != "last_value"].set_index(["model", "dataset"])
    ratios = means["ratio"].dropna().sort_values()
    etth1 = ratios.xs("etth1", level="dataset")
    what = f"MSE of {len(etth1)} architectures on ETTh1, mean of their horizons"
    yield what, f"{etth1.iloc[0]:.3f} to {etth1.iloc[-1]:.3f} times", "the published figures"
    model, dataset = ratios.index[-1]
    what = f"the largest ratio: {model} on {dataset}"
    yield what, f"{ratios.iloc[-1]:.3f} times", "the published figure"


def _times():
    step = json.loads((RESULTS / "training-jax.json").read_text())["geometric_mean_ratio_fit"]
    what = "a training step on JAX, geometric mean of five architectures"
    yield what, f"{step:.2f} times", "the `fit` of neuralforecast"
    warm = pd.read_csv(RESULTS / "predict_latency-jax.csv").set_index("model").loc["nhits"]
    peer = f"neuralforecast: {warm.peer_ms:.1f} ms"
    yield "a warm `predict` of N-HiTS on JAX", f"{warm.ours_ms:.1f} ms", peer
    cached = decoding().set_index(["batch", "steps"]).loc[(1, 96)]
    loop = f"the loop around `model.predict`: {cached['predict loop']} that"
    yield "96 steps of the Transformer, decoded", cached["cached"], loop
    paths = pd.read_csv(RESULTS / "sampling-cpu-jax.csv").set_index(["batch", "steps", "paths"])
    # Like the peer, one value at a time, each given those before it.
    drawn = paths.loc[(32, 24, 100)].query("patch_length == 1")
    drawn = drawn.set_index("model").loc["time_series_transformer"]
    what = "100 paths of 24 steps for 32 series, `time_series_transformer` step by step on JAX"
    peer = f"`transformers`, of the same width and depth: {drawn.times_faster:,.0f} x that"
    yield what, f"{drawn.milliseconds:.1f} ms", peer
    service = json.loads((RESULTS / "serving.json").read_text())["without_csvs"]
    found = f"{service['requests_per_second']:.0f} forecasts per second"
    quality = f"p50 {service['p50_ms']:.0f} ms, {service['wrong_answers']} wrong answers"
    yield "the service, 32 clients for three minutes on two shared cores", found, quality
