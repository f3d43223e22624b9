"""Are sample paths joint? Sums, maxima and ranges of processes whose futures are known.

Series of each process are drawn, models are trained on them, and paths are drawn after their last
step. The futures are drawn from the process itself, given its last value. Reported are the shares
of futures within the 80 % intervals of the paths: of single steps, and of the sum, the maximum and
the range (maximum minus minimum) over the horizon. The correlation of neighbouring steps is that of
deviations from the mean of all paths, or all futures, of a step. Energy and variogram scores are in
units of the standard deviation of a series. "independent" draws the steps of a patch by themselves,
"joint" is `Forecaster.simulate`, and "patch 4" is a model whose patches have 4 steps.

    python -m benchmarks.accuracy.made_paths      # writes benchmarks/results/made_paths.csv
"""

import argparse
import time
from pathlib import Path

import keras
import numpy as np
import pandas as pd
from keras import ops

from benchmarks.common import RESULTS, append_row, keys_of
from kerastrans.decoding.contract import patch_dependence_of
from kerastrans.evaluation.scores.path_scores import energy_score, variogram_score
from kerastrans.forecasting.forecaster import Forecaster

OUTPUT = RESULTS / "made_paths.csv"
KEYS = ["process", "model", "head", "method", "seed"]
OUTCOMES = {
    "step": lambda x: x,
    "sum": lambda x: x.sum(axis=1, keepdims=True),
    "maximum": lambda x: x.max(axis=1, keepdims=True),
    "range": lambda x: np.ptp(x, axis=1)[:, None],
}
MEASURES = [*(f"coverage-80 {x}" for x in OUTCOMES), "lag-1", "true lag-1", "energy", "variogram"]
COLUMNS = [*KEYS, *MEASURES, "fit seconds", "seconds", "keras", "backend"]
SERIES, ROWS, HORIZON, CONTEXT, PATHS, FUTURES = 12, 300, 24, 72, 400, 300
PROCESSES = {"ar .9": (0.9, 0.0), "ar -.6": (-0.6, 0.0), "white": (0.0, 0.0), "walk": (1.0, 0.1)}
METHODS = {"independent": None, "joint": None, "patch 8": 8, "patch 4": 4, "patch 1": 1}


def advance(process, last, noise):
    """Return the values `(..., steps)` of a process after its last ones, from normal noise."""
    coefficient, drift = PROCESSES[process]
    values = []
    for shock in np.moveaxis(noise, -1, 0):
        last = coefficient * last + drift + shock
        values.append(last)
    return np.stack(values, axis=-1)


def draw(process, seed):
    """Return a long frame of series, and their futures `(series, futures, steps)`."""
    random = np.random.default_rng([seed, list(PROCESSES).index(process)])
    values = advance(process, np.zeros(SERIES), random.standard_normal((SERIES, ROWS)))
    last = np.repeat(values[:, -1:], FUTURES, axis=1)
    futures = advance(process, last, random.standard_normal((SERIES, FUTURES, HORIZON)))
    frame = pd.DataFrame(values.T, pd.date_range("2020-01-01", periods=ROWS, freq="D"))
    frame = frame.rename_axis("ds").reset_index().melt("ds", var_name="unique_id", value_name="y")
    return frame.astype({"unique_id": str}), futures, values.std(axis=1)


def measure(paths, futures, scales):
    """Return the measures of paths `(series, paths, steps)`."""
    found = {}
    for name, function in OUTCOMES.items():
        shares = []
        for drawn, true in zip(paths, futures, strict=True):
            low, high = np.quantile(function(drawn), [0.1, 0.9], axis=0, method="weibull")
            shares.append(np.mean((function(true) >= low) & (function(true) <= high)))
        found[f"coverage-80 {name}"] = 100 * np.mean(shares)
    found["lag-1"], found["true lag-1"] = lag(paths), lag(futures)
    for name, score in (("energy", energy_score), ("variogram", variogram_score)):
        found[name] = np.mean(
            [
                score(drawn / scale, future / scale)
                for drawn, true, scale in zip(paths, futures, scales, strict=True)
                for future in true[:50]
            ]
        )
    return found


def lag(paths):
    """Return the correlation of neighbouring steps of `(series, paths, steps)`."""
    errors = paths - paths.mean(axis=1, keepdims=True)
    both = (errors[..., 1:] * errors[..., :-1]).mean(axis=1)
    sizes = np.sqrt(np.square(errors).mean(axis=1))
    return float(np.mean(both / (sizes[:, 1:] * sizes[:, :-1])))


def run(process, model, head, seed, methods, output):
    """Append the rows of a model that the file does not hold."""
    done, fitted = keys_of(output, KEYS), {}
    frame, futures, scales = draw(process, seed)
    for method in methods:
        row = dict(zip(KEYS, (process, model, head, method, seed), strict=True))
        if tuple(map(str, row.values())) in done:
            continue
        patch_length = METHODS[method]
        if patch_length not in fitted:
            options = {"head": head} if head != "default" else {}
            if patch_length:
                options["patch_length"] = patch_length
            begin = time.perf_counter()
            made = Forecaster(model, CONTEXT, HORIZON, seed=seed, **options)
            fitted[patch_length] = made.fit(frame, verbose=0), time.perf_counter() - begin
        forecaster, seconds = fitted[patch_length]
        weight = patch_dependence_of(forecaster.fitted.model)
        kept = None if weight is None else ops.convert_to_numpy(weight)
        if method == "independent":
            weight.assign(np.eye(len(kept)))
        begin = time.perf_counter()
        paths = forecaster.simulate(frame, num_paths=PATHS, seed=0)
        row["seconds"], row["fit seconds"] = time.perf_counter() - begin, seconds
        if method == "independent":
            weight.assign(kept)
        paths = paths.sort_values(["unique_id", "path", "ds"])
        names = paths["unique_id"].drop_duplicates().astype(int)
        drawn = paths[forecaster.alias].to_numpy().reshape(len(names), PATHS, HORIZON)
        row |= measure(drawn[np.argsort(names.to_numpy())], futures, scales)
        row |= {"keras": keras.__version__, "backend": keras.backend.backend()}
        rounded = {x: round(y, 4) if isinstance(y, float) else y for x, y in row.items()}
        append_row(output, COLUMNS, rounded)
        print(rounded, flush=True)


def main():
    """Run the processes, models, heads, methods and seeds of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", default=",".join(PROCESSES))
    parser.add_argument("--models", default="decoder_transformer,time_series_transformer")
    parser.add_argument("--heads", default="default")
    parser.add_argument("--methods", default="independent,joint")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    for seed in map(int, options.seeds.split(",")):
        for process in options.processes.split(","):
            for model in options.models.split(","):
                for head in options.heads.split(","):
                    methods = options.methods.split(",")
                    run(process, model, head, seed, methods, options.output)


if __name__ == "__main__":
    main()
