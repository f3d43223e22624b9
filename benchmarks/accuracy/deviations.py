"""What an option is worth in which an architecture differs from its reference code, by seeds.

    KERAS_BACKEND=jax python -m benchmarks.accuracy.deviations    # adds to results/deviations.csv

Sizes and training are those of architectures.py, 96 steps to 96; nothing was tuned. The epoch is
chosen on validation, the test part read once; runs that are in the table are not run again.
"""

import argparse

from benchmarks.accuracy import architectures, long_horizon
from benchmarks.common import RESULTS, append_row, keys_of
from kerastrans import zoo

DATASETS = ("etth1", "exchange_rate")
SEEDS = (0, 1, 2)
VARIANTS = {
    "nhits": ({"from_last_value": True}, {"from_last_value": False}),
    "patchtst": (
        {"affine": True, "residual_attention": False},
        {"affine": False, "residual_attention": True},
    ),
}
PATH = RESULTS / "deviations.csv"
COLUMNS = ("options", *long_horizon.COLUMNS)
KEY = ("model", "options", "dataset", "seed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", help="comma-separated; all by default")
    names = parser.parse_args().models
    done = keys_of(PATH, KEY)
    for name in names.split(",") if names else VARIANTS:
        for dataset in DATASETS:
            for seed in SEEDS:
                for options in VARIANTS[name]:
                    text = " ".join(f"{key}={value}" for key, value in options.items())
                    if (name, text, dataset, str(seed)) not in done:
                        row = {"options": text, **run(name, dataset, seed, options)}
                        append_row(PATH, COLUMNS, row, line_end="\n")
                        print(*row.values(), flush=True)


def run(name, dataset, seed, options):
    """Train and test one variant: a row of long_horizon.py's table."""
    known = zoo.info(name).defaults
    sizes = {size: value for size, value in architectures.SIZES.items() if size in known}
    settings = {**architectures.SETTINGS, "hyperparameters": {**sizes, **options}}
    horizon, context = architectures.HORIZON, architectures.CONTEXT
    return long_horizon.run(name, dataset, horizon, context, seed, settings)


if __name__ == "__main__":
    main()
