"""Our Forecaster beside neuralforecast: the same data, sizes, training steps and seed.

ETTh1, its seven channels as seven series; the rows before the test split train, and 100 origins,
24 hours apart, are forecast from the test split. Errors are on standardised values, so that all
channels count. Wall time is fit plus all forecasts, compilation included, by turns in one run.

    pip install -e ".[jax,benchmarks]"
    python -m benchmarks.accuracy.forecaster  # writes results/forecaster-<backend>.csv
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import keras
import numpy as np
import pandas as pd

from benchmarks.accuracy.forecaster_peer import (
    BATCH,
    CONTEXT,
    HORIZON,
    LEVELS,
    ORIGINS,
    SEED,
    STEPS,
)
from benchmarks.common import RESULTS
from kerastrans import backtesting, datasets
from kerastrans.data import StandardScaler
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.heads import QuantileHead
from kerastrans.utils.environment import environment
from kerastrans.utils.pinball import pinball_loss

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
COLUMNS = [
    "model",
    "mae",
    "peer_mae",
    "ratio_mae",
    "pinball",
    "peer_pinball",
    "ratio_pinball",
    "seconds",
    "peer_seconds",
    "ratio_seconds",
    "keras",
    "neuralforecast",
]
HYPERPARAMETERS = {
    "nhits": {"pool_sizes": (2, 2, 1), "downsampling": (4, 2, 1), "hidden_dim": 512},
    "patchtst": {"d_model": 64, "num_heads": 4, "ff_dim": 128, "dropout": 0.2},
    "tft": {"d_model": 64, "num_heads": 4, "dropout": 0.1},
    "deepar": {"units": 64, "num_layers": 2, "dropout": 0.1},
}


def load():
    """The seven channels as a long frame, standardised, up to the last row that is forecast."""
    frame = datasets.load("etth1")
    before = sum(datasets.info("etth1").splits[:2])
    frame = frame[: before + ORIGINS * HORIZON]
    scaler = StandardScaler.fit(frame.to_numpy()[: datasets.info("etth1").splits[0]])
    frame = pd.DataFrame(scaler.transform(frame.to_numpy()), frame.index, frame.columns)
    long = frame.melt(ignore_index=False, var_name="unique_id", value_name="y").reset_index()
    return long.rename(columns={"date": "ds"}).sort_values(["unique_id", "ds"], ignore_index=True)


def ours(name, frame):
    """MAE, mean pinball loss and seconds of our forecaster."""
    started = time.perf_counter()
    forecaster = Forecaster(
        name,
        CONTEXT,
        HORIZON,
        head="student_t" if name == "deepar" else QuantileHead(QUANTILES),
        seed=SEED,
        **HYPERPARAMETERS[name],
    )
    origin = frame["ds"].max() - pd.Timedelta(hours=ORIGINS * HORIZON)
    forecaster.fit(
        frame[frame["ds"] <= origin], batch_size=BATCH, steps_per_epoch=STEPS, epochs=1, verbose=0
    )
    found = forecaster.backtest(frame, windows=ORIGINS, levels=LEVELS)
    seconds = time.perf_counter() - started
    return *errors(found["y"], found[backtesting.quantiles(found)[1]]), seconds


def peer(name, frame):
    """The same of neuralforecast, in a process of its own: PyTorch and JAX do not share one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "frame.pickle")
        frame.to_pickle(path)
        command = [
            sys.executable,
            "-m",
            "benchmarks.accuracy.forecaster_peer",
            "errors",
            name,
            path,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        seconds = json.loads(done.stdout.splitlines()[-1])
        found = pd.read_pickle(path)
    return *errors(found["y"], found.drop(columns="y")), seconds


def errors(y, quantiles):
    """MAE of the median, and the pinball loss, mean over the quantiles."""
    difference = y.to_numpy()[:, None] - quantiles.to_numpy()
    pinball = pinball_loss(difference, np.array(QUANTILES)).mean()
    return float(np.abs(difference[:, 2]).mean()), float(pinball)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(HYPERPARAMETERS))
    options = parser.parse_args()
    path = RESULTS / f"forecaster-{keras.backend.backend()}.csv"
    frame = load()
    rows = []
    for name in options.models.split(","):
        mae, pinball, seconds = ours(name, frame)
        peer_mae, peer_pinball, peer_seconds = peer(name, frame)
        rows.append(
            {
                "model": name,
                "mae": mae,
                "peer_mae": peer_mae,
                "ratio_mae": mae / peer_mae,
                "pinball": pinball,
                "peer_pinball": peer_pinball,
                "ratio_pinball": pinball / peer_pinball,
                "seconds": seconds,
                "peer_seconds": peer_seconds,
                "ratio_seconds": seconds / peer_seconds,
                "keras": keras.__version__,
                "neuralforecast": version("neuralforecast"),
            }
        )
        print(
            {k: round(v, 4) if isinstance(v, float) else v for k, v in rows[-1].items()}, flush=True
        )
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            for row in rows:
                writer.writerow(
                    {k: f"{v:.4f}" if isinstance(v, float) else v for k, v in row.items()}
                )
    ratios = [row["ratio_seconds"] for row in rows]
    print("geometric mean of the times", round(float(np.exp(np.mean(np.log(ratios)))), 3))
    print(environment())


if __name__ == "__main__":
    main()
