"""Do 80 % intervals keep their coverage if the newest values of the series are missing?

200 random walks of 197 rows, drawn anew for each seed, whose last 0, 1, 5 or 20 values are missing.
A default `fit` with a context of 28 steps sees all rows; the next three values of each walk are
forecast. kerastrans_zero_2 is not trained.

    KERAS_BACKEND=jax python -m benchmarks.accuracy.outages  # adds to results/outages.csv
"""

import argparse
import warnings

import numpy as np
import pandas as pd

from benchmarks.common import RESULTS, append_row, keys_of, names
from kerastrans import Forecaster, from_pretrained
from kerastrans.models.pretrained.shipped import DEFAULT as ZERO

OUTPUT = RESULTS / "outages.csv"
MODELS = "nlinear", "tide", "decoder_transformer", ZERO
NUM_WALKS, ROWS, CONTEXT, HORIZON = 200, 197, 28, 3
MISSING = 0, 1, 5, 20
COLUMNS = ("model", "seed", *(f"covers-{x}" for x in MISSING), *(f"width-{x}" for x in MISSING))


def long_frame(walks):
    """Return walks `(walks, rows)` as a long frame of daily series."""
    num_walks, rows = walks.shape
    ids = np.repeat([f"s{i:03}" for i in range(num_walks)], rows)
    days = np.tile(pd.date_range("2024-01-01", periods=rows), num_walks)
    return pd.DataFrame({"unique_id": ids, "ds": days, "y": walks.ravel()})


def measure(model, seed):
    """Return the row of one fit: shares of values inside, and widths in units of the right ones."""
    walks = np.random.default_rng(seed).standard_normal((NUM_WALKS, ROWS + HORIZON)).cumsum(axis=1)
    history, outcomes = walks[:, :ROWS], walks[:, ROWS:]
    if model == ZERO:
        forecaster = from_pretrained(ZERO, HORIZON, verbose=False)
    else:
        forecaster = Forecaster(model, CONTEXT, HORIZON, seed=seed)
        forecaster.fit(long_frame(history), verbose=0)
    row = {"model": model, "seed": seed}
    for count in MISSING:
        known = history.copy()
        known[:, ROWS - count :] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the series end with missing values
            rows = forecaster.predict(long_frame(known), levels=[80])
        low, high = (
            rows[f"{forecaster.alias}-{end}-80"].to_numpy().reshape(outcomes.shape)
            for end in ("lo", "hi")
        )
        right = 2 * 1.2816 * np.sqrt(np.arange(1, HORIZON + 1) + count).mean()
        row[f"covers-{count}"] = round(((outcomes >= low) & (outcomes <= high)).mean(), 4)
        row[f"width-{count}"] = round((high - low).mean() / right, 4)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS), help="comma-separated")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    for seed in range(options.seeds):
        for model in names(options.models):
            if (model, str(seed)) not in keys_of(OUTPUT, ("model", "seed")):
                row = measure(model, seed)
                append_row(OUTPUT, COLUMNS, row, line_end="\n")
                print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
