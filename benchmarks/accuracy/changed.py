"""Five architectures whose function changed after version 0.2: errors of both functions, by seeds.

    KERAS_BACKEND=jax python -m benchmarks.accuracy.changed       # adds to results/changed.csv

The former functions are those of the code before the change, which is taken from the history:

    mkdir before && git archive ca16f36 kerastrans benchmarks | tar x -C before
    PYTHONPATH=before KERAS_BACKEND=jax python benchmarks/accuracy/changed.py

Training is that of architectures.py, and so are the sizes, except those of TimesNet, which are its
script's. Nothing was tuned; the epoch is chosen on validation and the test part read once. Runs
that are in the table are not run again.
"""

import argparse
from pathlib import Path

import pandas as pd

import kerastrans
from benchmarks.accuracy import architectures, long_horizon
from benchmarks.common import append_row, keys_of
from kerastrans import zoo

MODELS = ("timexer", "autoformer", "fedformer", "tft", "timesnet")
SIZES = {"timesnet": {"d_model": 16, "ff_dim": 32}}
ROOT = Path(__file__).parents[2]  # of this file: `benchmarks` may be that of the former code
CODE = "after" if ROOT in Path(kerastrans.__file__).parents else "before"
PATH = ROOT / "benchmarks" / "results" / "changed.csv"
COLUMNS = ("code", *long_horizon.COLUMNS)
KEY = ("code", "model", "seed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS), help="comma-separated")
    parser.add_argument("--seeds", default="0,1,2", help="comma-separated")
    options = parser.parse_args()
    for seed in options.seeds.split(","):
        for name in options.models.split(","):
            if (CODE, name, seed) not in keys_of(PATH, KEY):
                row = {"code": CODE, **run(name, int(seed))}
                append_row(PATH, COLUMNS, row, line_end="\n")
                print(*row.values(), flush=True)


def run(name, seed):
    """Train and test one architecture: a row of long_horizon.py's table."""
    known = zoo.info(name).defaults
    sizes = {size: x for size, x in architectures.SIZES.items() if known.get(size) is not None}
    settings = {**architectures.SETTINGS, "hyperparameters": {**sizes, **SIZES.get(name, {})}}
    horizon, context = architectures.HORIZON, architectures.CONTEXT
    return long_horizon.run(name, architectures.DATASET, horizon, context, seed, settings)


def comparison():
    """Return one row per architecture: errors before and after, of the seeds that both have."""
    runs = pd.read_csv(PATH)
    rows = []
    for model, found in runs.groupby("model", sort=False):
        errors = found.pivot(index="seed", columns="code", values=["mse", "mae"]).dropna()
        if found["code"].nunique() == 2 and len(errors):
            row = {"architecture": zoo.info(model).title, "seeds": len(errors)}
            for metric in ("mse", "mae"):
                for code in ("before", "after"):
                    row[f"{metric.upper()} {code}"] = _with_spread(errors[metric, code])
                change = errors[metric, "after"] - errors[metric, "before"]
                row[f"change of the {metric.upper()}"] = _with_spread(change, "+")
            rows.append(row)
    return pd.DataFrame(rows)


def _with_spread(values, sign=""):
    """Return the mean as text, with the standard deviation if there are several seeds."""
    spread = f" ± {values.std():.4f}" if len(values) > 1 else ""
    return f"{values.mean():{sign}.4f}{spread}"


if __name__ == "__main__":
    main()
