"""Do count heads forecast intermittent demand better than the default head and simple baselines?

Made spare parts: 60 series of 150 weeks each, with 80 % zeros, of four kinds: smooth demand, lumpy
demand, demand that fades out, and demand that is 0 or about 900. The last 12 weeks are the test,
from one origin; nothing is chosen on it. The monthly counts of patients of a hospital are beside
them. Scores: the weighted quantile loss at 0.1, 0.2, ..., 0.9 and the absolute error of the mean
forecast of all steps, over the mean of the test values.

    python -m benchmarks.accuracy.intermittent    # writes benchmarks/results/intermittent.csv
"""

import argparse

import numpy as np
import pandas as pd

from benchmarks.common import RESULTS
from kerastrans import Forecaster, backtesting, datasets
from kerastrans.evaluation.baselines.intermittent import intermittent_backtests
from kerastrans.evaluation.columns import interval_columns

OUTPUT = RESULTS / "intermittent.csv"
HORIZON, LEVELS = 12, (20, 40, 60, 80)
QUANTILES = np.arange(1, 10) / 10
HEADS = ("quantiles", "negative_binomial", "hurdle_negative_binomial", "tweedie", "poisson")
KINDS = ("smooth", "lumpy", "fading", "zero or 900")


def make_parts(kind, seed, num_series=60, length=150):
    """Return a long frame of made spare parts."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    times = pd.date_range("2020-01-05", periods=length, freq="W")
    frames = []
    for i in range(num_series):
        chance = np.full(length, rng.uniform(0.1, 0.3))
        if kind == "fading":
            chance = np.linspace(0.4, 0.02, length)
        size = {
            "smooth": lambda: 1 + rng.poisson(3, length),
            "lumpy": lambda: 1 + rng.negative_binomial(0.5, 0.02, length),
            "fading": lambda: 1 + rng.poisson(3, length),
            "zero or 900": lambda: rng.poisson(900, length),
        }[kind]()
        y = np.where(rng.random(length) < chance, size, 0).astype("float64")
        frames.append(pd.DataFrame({"unique_id": f"{kind} {i}", "ds": times, "y": y}))
    return pd.concat(frames, ignore_index=True)


def empirical(rows, past, alias="empirical quantiles"):
    """Return a backtest of the mean and the quantiles of the past of each series."""
    groups = past.groupby("unique_id")["y"]
    rows = rows[["unique_id", "ds", "cutoff", "y"]].copy()
    rows[alias] = rows["unique_id"].map(groups.mean())
    rows[f"{alias}-median"] = rows["unique_id"].map(groups.median())
    for level in LEVELS:
        tail = (1 - level / 100) / 2
        for name, q in zip(interval_columns(alias, level), (tail, 1 - tail), strict=True):
            rows[name] = rows["unique_id"].map(groups.quantile(q, interpolation="higher"))
    return rows


def measure(name, frame, model, seed, heads, epochs):
    """Yield the rows of the results of one data set."""
    past = frame[frame.groupby("unique_id").cumcount(ascending=False) >= HORIZON]
    truth = frame.drop(past.index)["y"]
    backtests = {}
    for head in heads:
        options = {} if head == "quantiles" else {"scaler": None}
        forecaster = Forecaster(model, 24, HORIZON, head=head, seed=seed, alias="m", **options)
        forecaster.fit(past, epochs=epochs)
        backtests[f"{model} {head}"] = forecaster.backtest(frame, windows=1, levels=LEVELS)
    rows = next(iter(backtests.values()))
    backtests["empirical quantiles"] = empirical(rows, past)
    backtests |= intermittent_backtests(rows, past)
    for method, backtest in backtests.items():
        scores = backtesting.score(backtest).iloc[0]
        alias = "m" if method.startswith(model) else method
        yield {
            "data": name,
            "method": method,
            "seed": seed,
            "wql": round(scores.get("wql", np.nan), 4),
            "mae of totals": round(_error_of_totals(backtest, alias), 4),
            "mean forecast": round(backtest[alias].mean(), 3),
            "mean": round(truth.mean(), 3),
            "coverage-80": round(scores.get("coverage-80", np.nan), 3),
        }


def _error_of_totals(backtest, alias):
    """Return the absolute error of the total of each series, over the mean total."""
    totals = backtest.groupby("unique_id")[["y", alias]].sum()
    return (totals[alias] - totals["y"]).abs().mean() / totals["y"].mean()


def read_hospital():
    """Return the first 100 series of the monthly counts of a hospital as a long frame."""
    frame = datasets.load("hospital")
    return frame[frame["unique_id"].isin(frame["unique_id"].unique()[:100])]


def main():
    """Measure and write the results, one row per data set, method and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="nlinear")
    parser.add_argument("--data", nargs="+", default=[*KINDS, "hospital"])
    parser.add_argument("--heads", nargs="+", default=list(HEADS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=None)
    options = parser.parse_args()
    results = []
    if OUTPUT.is_file():  # what is not measured again stays
        before = pd.read_csv(OUTPUT)
        results = before[~before["data"].isin(options.data)].to_dict("records")
    for name in options.data:
        for seed in range(options.seeds):
            is_made = name in KINDS
            frame = make_parts(name, seed) if is_made else read_hospital()
            heads = [x for x in options.heads if is_made or not x.startswith("hurdle")]
            rows = measure(name, frame, options.model, seed, heads, options.epochs)
            results += rows
            pd.DataFrame(results).to_csv(OUTPUT, index=False)
            print(pd.DataFrame(results).tail(12).to_string(), flush=True)


if __name__ == "__main__":
    main()
