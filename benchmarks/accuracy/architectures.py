"""Every architecture on ETTh1, 96 steps to 96: small, briefly trained, all by one setting.

    KERAS_BACKEND=jax python -m benchmarks.accuracy.architectures  # results/architectures.csv

A first look at the zoo, and a check that each learns: not what a paper's own settings reach, which
is long_horizon.py's. Nothing was tuned. The epoch is chosen on validation, the test part read once;
runs that stand in the table are not run again.
"""

import argparse

from benchmarks.accuracy import long_horizon
from benchmarks.common import RESULTS
from kerastrans import zoo

DATASET, HORIZON, CONTEXT, SEED = "etth1", 96, 96, 0
SETTINGS = {
    "batch_size": 64,
    "learning_rate": 0.001,
    "epochs": 4,
    "patience": 2,
    "schedule": "halve",
}
SIZES = {"d_model": 32, "num_heads": 4, "ff_dim": 64, "hidden_dim": 128, "dropout": 0.1}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", help="comma-separated; all by default")
    names = parser.parse_args().models
    path = RESULTS / "architectures.csv"
    for name in names.split(",") if names else zoo.names():
        known = zoo.info(name).defaults
        sizes = {size: value for size, value in SIZES.items() if known.get(size) is not None}
        key = (name, DATASET, HORIZON, CONTEXT, SEED)
        long_horizon.run_once(path, key, {**SETTINGS, "hyperparameters": sizes})


if __name__ == "__main__":
    main()
