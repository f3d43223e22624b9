"""What an option is worth in which an architecture differs from its reference code, by seeds.

    KERAS_BACKEND=jax python benchmarks/deviations.py    # adds to results/deviations.csv

Sizes and training are those of architectures.py, 96 steps to 96; nothing was tuned. The epoch is
chosen on validation, the test part read once; runs that are in the table are not run again.
"""

import argparse
import csv

import architectures
import long_horizon

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
PATH = long_horizon.HERE / "results" / "deviations.csv"
COLUMNS = ("options", *long_horizon.COLUMNS)
KEY = ("model", "options", "dataset", "seed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", help="comma-separated; all by default")
    names = parser.parse_args().models
    done = {tuple(row[column] for column in KEY) for row in read()}
    for name in names.split(",") if names else VARIANTS:
        for dataset in DATASETS:
            for seed in SEEDS:
                for options in VARIANTS[name]:
                    text = " ".join(f"{key}={value}" for key, value in options.items())
                    if (name, text, dataset, str(seed)) not in done:
                        append({"options": text, **run(name, dataset, seed, options)})


def run(name, dataset, seed, options):
    """Train and test one variant: a row of long_horizon.py's table."""
    known = zoo.info(name).defaults
    sizes = {size: value for size, value in architectures.SIZES.items() if size in known}
    settings = {**architectures.SETTINGS, "hyperparameters": {**sizes, **options}}
    horizon, context = architectures.HORIZON, architectures.CONTEXT
    return long_horizon.run(name, dataset, horizon, context, seed, settings)


def read():
    """The rows of the table."""
    if not PATH.is_file():
        return []
    with PATH.open() as file:
        return list(csv.DictReader(file))


def append(row):
    """Add a row to the table."""
    is_new = not PATH.is_file()
    with PATH.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)
    print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
