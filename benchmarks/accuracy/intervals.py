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


class Parts:
    """The rows of one series: what trains, what chooses, what calibrates, what tests."""

    def __init__(self, name):
        dataset, columns, self.context, self.horizon, self.batch, self.epochs = SERIES[name]
        known = datasets.info(dataset)
        self.season = known.season or 1
        frame = datasets.load(dataset)
        frame = frame if columns is None else frame[columns]
        sizes = [len(x) for x in chronological_split(frame, SIZES.get(name, known.splits))]
        self.test = sizes[2]
        self.calibration = sizes[1] // 2
        self.stopping = sizes[1] - self.calibration
        self.chosen_by, self.before = frame[: sizes[0] + self.stopping], frame[: sum(sizes[:2])]
        self.whole = frame[: sum(sizes)]
        self.levels = [level for level in LEVELS if level <= HIGHEST.get(name, 100)]

    def train(self, model, hyperparameters):
        """A forecaster of the training part, stopped by the first half of the validation part."""
        forecaster = Forecaster(
            model,
            self.context,
            self.horizon,
            head=QuantileHead(QUANTILES),
            seed=SEED,
            optimizer=keras.optimizers.Adam(1e-3),
            **hyperparameters,
        )
        return forecaster.fit(
            self.chosen_by,
            validation_size=self.stopping,
            batch_size=self.batch,
            epochs=self.epochs,
            callbacks=[keras.callbacks.EarlyStopping(patience=4, restore_best_weights=True)],
            verbose=0,
        )

    def train_naive(self, model, hyperparameters):
        """A naive forecaster, without intervals of its own."""
        context = max(self.context, self.season)
        forecaster = Forecaster(model, context, self.horizon, head="point", **hyperparameters)
        return forecaster.fit(self.chosen_by)

    def calibrate(self, forecaster, method):
        """Conformal intervals by the second half of the validation part, every origin."""
        origins = self.calibration - self.horizon + 1
        forecaster.calibrate(
            self.before, windows=origins, step=1, levels=self.levels, method=method
        )

    def backtest(self, forecaster, frame, size):
        """Forecasts from every origin in the last `size` rows."""
        origins = size - self.horizon + 1
        return forecaster.backtest(frame, windows=origins, step=1, levels=self.levels)


def measure(name):
    """Rows of the result file for one series."""
    parts = Parts(name)
    trained = train_all(name, parts)
    best = min(trained, key=lambda row: row[0]["validation_crps"])
    table = [row | {"chosen": ""} for row, _ in trained if row is not best[0]]
    naives = naive_forecasters(parts)
    tests = {}
    for row, forecaster in [best, *naives]:
        tests[row["model"]], scores = score_both(parts, forecaster)
        table.append(row | scores | {"chosen": "yes" if row is best[0] else ""})
    mae = {row["model"]: backtesting.score(tests[row["model"]])["mae"].item() for row, _ in naives}
    compared = backtesting.skill(tests, min(mae, key=mae.get))
    for row in table:
        row |= {
            "seed": SEED,
            "skill": compared["skill"].get(row["model"], ""),
            "series": name,
            "context_length": parts.context,
            "prediction_length": parts.horizon,
            "origins": parts.test - parts.horizon + 1,
            "p": compared["p"].get(row["model"], ""),
            "keras": keras.__version__,
            "backend": keras.backend.backend(),
        }
    return table


def train_all(name, parts):
    """Pairs of a row, with the CRPS that chooses, and the architecture's forecaster."""
    trained = []
    for model, hyperparameters in MODELS.items():
        started = time.perf_counter()
        forecaster = parts.train(model, hyperparameters)
        rows = parts.backtest(forecaster, parts.chosen_by, parts.stopping)
        crps = backtesting.score(rows).iloc[0]["crps"]
        row = {"model": model, "validation_crps": crps, "seconds": time.perf_counter() - started}
        trained.append((row, forecaster))
        print(f"{name:16} {model:14} validation CRPS {crps:.4g}", flush=True)
    return trained


def naive_forecasters(parts):
    """Pairs of a row and a forecaster: the last value and, where there is a season, its naive."""
    naives = {"last_value": {}}
    if parts.season > 1:
        naives["seasonal_naive"] = {"season": parts.season}
    found = []
    for model, hyperparameters in naives.items():
        started = time.perf_counter()
        forecaster = parts.train_naive(model, hyperparameters)
        found.append(({"model": model, "seconds": time.perf_counter() - started}, forecaster))
    return found


def score_both(parts, forecaster):
    """The test's rows with adaptive intervals, and the scores with "split" and adaptive ones."""
    found = {}
    for method, suffix in (("split", " split"), ("adaptive", "")):
        parts.calibrate(forecaster, method)
        rows = parts.backtest(forecaster, parts.whole, parts.test)
        scores = backtesting.score(rows).iloc[0]
        found |= {f"{key}{suffix}": value for key, value in scores.items()}
    return rows, found


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
