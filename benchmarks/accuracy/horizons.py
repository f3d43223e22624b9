"""How good is a forecast of four times the trained horizon, and which way of continuing is best?

For each set, one model is trained for four times a horizon, another for the horizon and continued
in several ways. Both forecast the validation part from the same origins; the test part is not read.

    python -m benchmarks.accuracy.horizons        # writes benchmarks/results/horizons.csv
"""

import time
from dataclasses import replace

import keras
import numpy as np

from benchmarks.accuracy.paths import load, sweep
from benchmarks.common import RESULTS, append_row, keys_of
from kerastrans import backtesting
from kerastrans.forecasting.dependence import Dependence
from kerastrans.forecasting.forecaster import Forecaster

OUTPUT = RESULTS / "horizons.csv"
KEYS = ["set", "model", "seed", "way"]
SCORES = ["mae", "crps", "coverage-80", "coverage-95"]
COLUMNS = [*KEYS, "prediction_length", "origins", *SCORES, "seconds", "keras", "backend"]
LEVELS = (80, 95)
# Trained horizon, origins, context (None for the default), ends of the training and the validation
# part as shares of the rows.
SETS = {
    "nyc_departures": (24, 20, None, 0.6, 0.8),
    "hospital": (3, 2, 24, 48 / 84, 72 / 84),
    "exchange_rate": (12, 20, None, 0.6, 0.8),
    "etth1": (24, 20, None, 0.6, 0.8),
}


class Median(Dependence):
    """Dependence of a single path, the median."""

    def probabilities(self, names, num_paths, seed):
        return np.full((len(names), num_paths, len(self.steps)), 0.5)


def ways(state):
    """Return a dict of the way of continuing -> its dependence and number of paths."""
    steps = state.config.prediction_length
    return {
        "paths 100": (state.dependence, 100),
        "paths 50": (state.dependence, 50),
        "independent 100": (Dependence(np.eye(steps)), 100),
        "constant probability 100": (Dependence(np.ones((steps, steps))), 100),
        "constant probability 9": (Dependence(np.ones((steps, steps))), 9),
        "median, widened": (Median(np.eye(steps)), 1),
    }


def widen(rows, alias, steps):
    """Replace the intervals of a median path by those of its first steps, widened.

    The squared distances of a step from the median are those of the same step of the first forecast
    plus those of the last step of the forecast before.
    """
    number = rows.groupby(["unique_id", "cutoff"]).cumcount().to_numpy()
    blocks = -(-(number.max() + 1) // steps)
    for name in [f"{alias}-{side}-{level}" for level in LEVELS for side in ("lo", "hi")]:
        first = (rows[name] - rows[alias]).to_numpy()[number < steps].reshape(-1, steps)
        parts = [first]
        for _ in range(1, blocks):
            parts.append(np.sign(first) * np.hypot(first, parts[-1][:, -1:]))
        rows[name] = rows[alias] + np.concatenate(parts, axis=1).ravel()
    return rows


def run(name, model, seed, time_limit, output):
    """Append the rows of a model on a set that the file does not hold."""
    done = keys_of(output, KEYS)
    steps, origins, context, begin, end = SETS[name]
    frame, place = load(name)
    length = place.max() + 1
    train, known = (frame[place < round(share * length)] for share in (begin, end))
    step = max(1, (round(end * length) - round(begin * length) - 4 * steps) // (origins - 1))
    options = {"windows": origins, "step": step, "levels": LEVELS}

    def write(way, rows, started):
        scores = backtesting.score(rows).iloc[0][SCORES].round(5).to_dict()
        row = {"set": name, "model": model, "seed": seed, "way": way, **scores}
        row |= {"prediction_length": 4 * steps, "origins": origins}
        row |= {"seconds": round(time.perf_counter() - started, 1)}
        row |= {"keras": keras.__version__, "backend": keras.backend.backend()}
        append_row(output, COLUMNS, row)
        print(row, flush=True)

    if (name, model, str(seed), "trained for it") not in done:
        started = time.perf_counter()
        longer = Forecaster(model, context, 4 * steps, seed=seed)
        longer.fit(train, time_limit=time_limit, verbose=0)
        write("trained for it", longer.backtest(known, **options), started)
    forecaster = Forecaster(model, context, steps, seed=seed)
    forecaster.fit(train, time_limit=time_limit, verbose=0)
    state = forecaster.fitted
    for way, (dependence, count) in ways(state).items():
        if (name, model, str(seed), way) in done:
            continue
        started, config = time.perf_counter(), state.config.changed(num_samples=count)
        forecaster.fitted = replace(state, config=config, dependence=dependence)
        rows = forecaster.backtest(known, prediction_length=4 * steps, **options)
        rows = widen(rows, forecaster.alias, steps) if count == 1 else rows
        write(way, rows, started)


if __name__ == "__main__":
    sweep(run, SETS, OUTPUT, __doc__)
