"""Do the intervals cover what they promise, and do they beat a seasonal-naive forecast's?

For each series: architectures with quantile heads are trained on the training part; the first
half of the validation part stops the training and chooses the one with the smallest CRPS; the
second half makes its intervals conformal. "split" intervals stay as they are through the test part,
which is read once, every origin; adaptive ones go on learning. Beside it the last value and, where
there is a season, the seasonal-naive forecast with intervals made in the same way; skill and p are
beside the better of the two on the test part.

    python -m benchmarks.accuracy.intervals           # writes benchmarks/results/intervals.csv
"""

import argparse
import csv
import time
from pathlib import Path

import keras

from benchmarks.common import RESULTS
from kerastrans import backtesting, datasets
from kerastrans.data import chronological_split
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.heads import QuantileHead
from kerastrans.utils.environment import environment

OUTPUT = RESULTS / "intervals.csv"
COLUMNS = [
    "series",
    "model",
    "chosen",
    "context_length",
    "prediction_length",
    "origins",
    "validation_crps",
    "crps",
    "mae",
    "wql",
    "coverage-80 split",
    "coverage-95 split",
    "width-80 split",
    "coverage-80",
    "coverage-95",
    "width-80",
    "skill",
    "p",
    "seed",
    "seconds",
    "keras",
    "backend",
]
QUANTILES = (0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975)
LEVELS = (20, 40, 60, 80, 90, 95)
SEED = 0
# name: dataset, its columns (None for all), context, horizon, batch, most epochs
SERIES = {
    "etth1 OT": ("etth1", ["OT"], 336, 24, 32, 20),
    "etth1": ("etth1", None, 336, 24, 32, 20),
    "exchange_rate": ("exchange_rate", None, 96, 24, 32, 20),
    "illness": ("illness", None, 104, 12, 16, 60),
    "nyc_departures": ("nyc_departures", None, 336, 24, 32, 20),
    "air_passengers": ("air_passengers", None, 36, 12, 8, 200),
}
# Of 144 months, half of the validation part holds ten origins: enough for 80 %, not for 95.
SIZES = {"air_passengers": (72, 43, 29)}
HIGHEST = {"air_passengers": 80}
MODELS = {
    "nlinear": {},
    "rlinear": {},
    "nhits": {"hidden_dim": 256, "downsampling": (8, 4, 1), "pool_sizes": (8, 4, 1)},
    "patchtst": {"patch_length": 12, "stride": 6, "dropout": 0.1},
}


def measure(name):
    """Rows of the result file for one series."""
    dataset, columns, context, horizon, batch, epochs = SERIES[name]
    known = datasets.info(dataset)
    season = known.season or 1
    frame = datasets.load(dataset)
    frame = frame if columns is None else frame[columns]
    parts = chronological_split(frame, SIZES.get(name, known.splits))
    sizes = [len(part) for part in parts]
    calibration = sizes[1] // 2
    stopping = sizes[1] - calibration
    chosen_by, before = frame[: sizes[0] + stopping], frame[: sizes[0] + sizes[1]]
    whole = frame[: sum(sizes)]
    levels = [level for level in LEVELS if level <= HIGHEST.get(name, 100)]

    def backtest(forecaster, frame, size):
        return forecaster.backtest(frame, windows=size - horizon + 1, step=1, levels=levels)

    def calibrate(forecaster, method):
        return forecaster.calibrate(
            before, windows=calibration - horizon + 1, step=1, levels=levels, method=method
        )

    rows, tests = [], {}
    for model, hyperparameters in MODELS.items():
        started = time.perf_counter()
        forecaster = Forecaster(
            model,
            context,
            horizon,
            head=QuantileHead(QUANTILES),
            seed=SEED,
            optimizer=keras.optimizers.Adam(1e-3),
            **hyperparameters,
        )
        stop = keras.callbacks.EarlyStopping(patience=4, restore_best_weights=True)
        forecaster.fit(
            chosen_by,
            validation_size=stopping,
            batch_size=batch,
            epochs=epochs,
            callbacks=[stop],
            verbose=0,
        )
        found = backtesting.score(backtest(forecaster, chosen_by, stopping)).iloc[0]
        row = {"model": model, "validation_crps": found["crps"]}
        rows.append((row | {"seconds": time.perf_counter() - started}, forecaster))
        print(f"{name:16} {model:14} validation CRPS {found['crps']:.4g}", flush=True)
    best = min(rows, key=lambda row: row[0]["validation_crps"])
    table = [row | {"chosen": ""} for row, _ in rows if row is not best[0]]
    naives = {"last_value": {}} | ({"seasonal_naive": {"season": season}} if season > 1 else {})
    compared_rows = [best]
    for model, hyperparameters in naives.items():
        started = time.perf_counter()
        baseline = Forecaster(model, max(context, season), horizon, head="point", **hyperparameters)
        baseline.fit(chosen_by)
        row = {"model": model, "seconds": time.perf_counter() - started}
        compared_rows.append((row, baseline))
    for row, forecaster in compared_rows:
        found = {}
        for method, suffix in (("split", " split"), ("adaptive", "")):
            calibrate(forecaster, method)
            tests[row["model"]] = backtest(forecaster, whole, sizes[2])
            scores = backtesting.score(tests[row["model"]]).iloc[0]
            found |= {f"{key}{suffix}": value for key, value in scores.items()}
        table.append(row | found | {"chosen": "yes" if row is best[0] else ""})
    errors = {model: backtesting.score(tests[model])["mae"].item() for model in naives}
    compared = backtesting.skill(tests, min(errors, key=errors.get))
    for row in table:
        row |= {
            "seed": SEED,
            "skill": compared["skill"].get(row["model"], ""),
            "series": name,
            "context_length": context,
            "prediction_length": horizon,
            "origins": sizes[2] - horizon + 1,
            "p": compared["p"].get(row["model"], ""),
            "keras": keras.__version__,
            "backend": keras.backend.backend(),
        }
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", default=",".join(SERIES))
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    done = set()
    if options.output.exists():
        with options.output.open(newline="") as file:
            done = {row["series"] for row in csv.DictReader(file)}
    for name in options.series.split(","):
        if name in done:
            continue
        table = measure(name)
        new = not options.output.exists()
        with options.output.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
            if new:
                writer.writeheader()
            for row in table:
                writer.writerow(
                    {k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()}
                )
        for row in table:
            if "crps" in row:
                print(
                    f"{name:16} {row['model']:14} CRPS {row['crps']:.4g}  covers "
                    f"{row['coverage-80 split']:.3f} split, {row['coverage-80']:.3f} adaptive",
                    flush=True,
                )
    print(environment())


if __name__ == "__main__":
    main()
