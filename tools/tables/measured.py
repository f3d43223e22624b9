"""The README's table: four figures from benchmarks/results, each with its comparison."""

import json

import numpy as np
import pandas as pd

from benchmarks.accuracy import long_horizon_report
from benchmarks.common import HERE, RESULTS

HORIZONS = 4  # of a published mean, without which means are not alike


def measured():
    """Accuracy first, then speed."""
    return pd.DataFrame([*_errors(), _step()], columns=["measure", "kerastrans", "compared with"])


def _errors():
    demo = json.loads((RESULTS / "demo.json").read_text())["metrics"]
    errors = {name: scores["mae"] for name, scores in demo.items() if name != "nhits"}
    transformer = errors.pop("decoder_transformer")
    naive = min(errors, key=errors.get)
    what = "MAE of the decoder-only Transformer in `make demo`, flights per hour"
    yield what, f"{transformer:.2f}", f"{naive}: {errors[naive]:.2f}"
    tasks = pd.read_csv(RESULTS / "tasks.csv").pivot_table("mase", "task", "model")
    ratio = tasks["kerastrans_zero_2"] / tasks["seasonal_naive"]
    what = "MASE of kerastrans-zero 2, without training, geometric mean of"
    yield (
        f"{what} {len(tasks)} published tasks",
        f"{1 - np.exp(np.log(ratio).mean()):.1%} lower",
        "seasonal naive",
    )
    runs = pd.read_csv(RESULTS / "long_horizon.csv")
    published = pd.read_csv(HERE / "published.csv")
    means = long_horizon_report.summarise(long_horizon_report.compare(runs, published), runs)
    means = means.query("dataset == 'etth1' and horizons == @HORIZONS and model != 'last_value'")
    ratios = means.dropna(subset=["ratio"]).groupby("model")["ratio"].first().sort_values()
    what = f"MSE of {len(ratios)} architectures on ETTh1, mean of {HORIZONS} horizons"
    yield what, f"{ratios.iloc[0]:.3f} to {ratios.iloc[-1]:.3f} times", "the published figures"


def _step():
    ratios = json.loads((RESULTS / "training-jax.json").read_text())
    what = "a training step on JAX, geometric mean of five architectures"
    step, fit = ratios["geometric_mean_ratio_step"], ratios["geometric_mean_ratio_fit"]
    return what, f"{step:.2f} times ({fit:.2f} in `fit`)", "neuralforecast"
