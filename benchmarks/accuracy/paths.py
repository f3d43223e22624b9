"""Do sample paths give the right distribution of sums, peaks and first passages?

For each set, a model is trained on the first part and calibrated on the rows after it; paths are
drawn from origins in the rows after those, one horizon apart. The coverage of an interval of 80 %
is measured for the sum over the horizon, the peak of each period, and the first step above the 90 %
quantile of the training values of each series. An outcome that has the same value as some paths
(the step of a first passage) is placed among them at random, so that exact forecasts cover 80 %.
"energy" and "variogram" are the scores of the steps of a series, in units of the standard deviation
of its training values, averaged over series and origins.

All methods have the same marginals. "learnt" is `Forecaster.simulate`; "independent" draws every
step by itself, or every step of a patch if the model decodes patches; "schaake" takes whole vectors
of scores of the calibration rows, and needs a model that does not decode. What was chosen was
chosen by the rows of the part "validation", whose origins are in the second half of the rows before
those of "test".

    python -m benchmarks.accuracy.paths           # writes benchmarks/results/paths.csv
"""

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import keras
import numpy as np
import pandas as pd

import kerastrans
from benchmarks.common import RESULTS, append_row, keys_of
from kerastrans import datasets
from kerastrans.decoding.contract import patch_dependence_of
from kerastrans.evaluation.scores.path_scores import energy_score, variogram_score
from kerastrans.forecasting.dependence import Dependence
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.inference import calibration
from kerastrans.forecasting.inference.marginals import scores_of

OUTPUT = RESULTS / "paths.csv"
KEYS = ["set", "model", "seed", "part", "method"]
COLUMNS = [
    *KEYS,
    "prediction_length",
    "origins",
    "series",
    "paths",
    "coverage-80",
    "coverage-80 sum",
    "coverage-80 peak",
    "coverage-80 passage",
    "energy",
    "variogram",
    "seconds",
    "keras",
    "backend",
]
METHODS = ("learnt", "independent", "schaake")
NUM_PATHS = 200


@dataclass(frozen=True)
class Set:
    """Rows of a set: steps of a forecast and of a period with a peak, and shares of the parts."""

    dataset: str
    context: int
    horizon: int
    period: int
    train: float  # share of the rows
    validation: float  # share of the rows
    origins: int  # of the test part


SETS = {
    "nyc_departures": Set("nyc_departures", 336, 168, 24, 0.5, 0.25, 12),
    "etth1": Set("etth1", 336, 168, 24, 0.6, 0.2, 18),
    "hospital": Set("hospital", 24, 12, 12, 48 / 84, 24 / 84, 1),
    "exchange_rate": Set("exchange_rate", 90, 30, 30, 0.6, 0.2, 40),
}


class Shuffle(Dependence):
    """Vectors of scores of the calibration rows in place of a copula, one for each path.

    Source: Clark et al. (2004), "The Schaake shuffle".
    """

    @classmethod
    def of(cls, scores):
        """Return the shuffle of scores `(windows, steps, channels)`, of series that are alike."""
        rows = np.moveaxis(scores, 1, 2).reshape(-1, scores.shape[1])
        found = cls(np.eye(scores.shape[1]))
        found.__dict__["rows"] = np.nan_to_num(rows)
        return found

    def draw(self, names, num_paths, seed):
        random = np.random.default_rng([*np.atleast_1d(seed).tolist(), 7])
        chosen = random.integers(len(self.rows), size=(len(names), num_paths))
        return self.rows[chosen] + 1e-6 * random.normal(size=(*chosen.shape, len(self.steps)))


def load(name):
    """Return the long frame of a set, and the place of each row in its series."""
    frame = datasets.load(SETS[name].dataset)
    if "unique_id" not in frame.columns:
        frame = (
            frame.rename_axis("ds").reset_index().melt("ds", var_name="unique_id", value_name="y")
        )
    frame = frame.sort_values(["unique_id", "ds"], ignore_index=True)
    return frame, frame.groupby("unique_id").cumcount().to_numpy()


def train(name, model, seed, time_limit, frame):
    """Return a forecaster of the training rows."""
    one = SETS[name]
    if model.startswith("kerastrans_zero"):
        return kerastrans.from_pretrained(model, one.horizon, verbose=False)
    forecaster = Forecaster(model, one.context, one.horizon, seed=seed)
    return forecaster.fit(frame, time_limit=time_limit, verbose=0)


def calibrate(forecaster, frame, steps):
    """Return the calibrated state, and the scores of the last `steps` rows of each series."""
    horizon = forecaster.prediction_length
    step = max(1, horizon // 7)
    windows = max(1, (steps - horizon) // step + 1)
    options = {"static": None, "levels": (50, 80, 95), "method": "split", "symmetric": None}
    found = calibration.calibrate(
        forecaster.fitted, frame, windows=windows, step=step, by=None, scale="window", **options
    )
    levels = tuple(found.intervals.offsets)
    scores = scores_of(*found.forecasts.conformal(found.intervals, levels))
    return calibration.with_calibration(forecaster.fitted, found), scores


def measure(forecaster, name, frame, place, cuts, scale, level):
    """Return the scores of the paths from some origins."""
    one, found = SETS[name], []
    random = np.random.default_rng(0)
    for number, cut in enumerate(cuts):
        paths = forecaster.simulate(frame[place < cut], num_paths=NUM_PATHS, seed=number)
        names = paths["unique_id"].drop_duplicates()
        drawn = paths[forecaster.alias].to_numpy().reshape(len(names), NUM_PATHS, one.horizon)
        actual = frame[(place >= cut) & (place < cut + one.horizon)]
        actual = actual["y"].to_numpy().reshape(len(names), 1, one.horizon)
        scales, levels = (x[names].to_numpy()[:, None, None] for x in (scale, level))
        for series in np.flatnonzero(np.isfinite(actual).all(axis=(1, 2))):
            values, truth = (x[series] / scales[series] for x in (drawn, actual))
            above = levels[series, 0, 0] / scales[series, 0, 0]
            found.append(
                {
                    "coverage-80": covered(values.T, truth[0], random),
                    "coverage-80 sum": covered(values.sum(axis=1), truth.sum(), random),
                    "coverage-80 peak": covered(*map(peaks(one.period), (values, truth)), random),
                    "coverage-80 passage": covered(
                        first(values, above), first(truth, above), random
                    ),
                    "energy": energy_score(values, truth[0]),
                    "variogram": variogram_score(values, truth[0]),
                }
            )
    return pd.DataFrame(found).mean().to_dict()


def peaks(period):
    """Return a function from `(rows, steps)` to the peaks of each period `(periods, rows)`."""
    return lambda x: x.reshape(len(x), -1, period).max(axis=2).T


def first(values, level):
    """Return the first step above a level in each row, the number of steps if there is none."""
    above = values > level
    return np.where(above.any(axis=1), above.argmax(axis=1), values.shape[1])


def covered(drawn, truth, random):
    """Return the share of outcomes `(...)` within the 80 % interval of paths `(..., paths)`."""
    truth = np.reshape(truth, (*np.shape(drawn)[:-1], 1))
    below, equal = (drawn < truth).sum(axis=-1), (drawn == truth).sum(axis=-1)
    rank = (below + random.uniform(size=below.shape) * (equal + 1)) / (drawn.shape[-1] + 1)
    return float(((rank > 0.1) & (rank < 0.9)).mean())


def run(name, model, seed, time_limit, output):
    """Append the rows of a model on a set that the file does not hold."""
    done = keys_of(output, KEYS)
    if all(
        (name, model, str(seed), part, x) in done
        for part in ("validation", "test")
        for x in METHODS[:2]
    ):
        return
    one, (frame, place) = SETS[name], load(name)
    length = place.max() + 1
    ends = [round(one.train * length), round((one.train + one.validation) * length)]
    known = frame[place < ends[0]]
    scale, level = (
        known.groupby("unique_id")["y"].agg(x) for x in ("std", lambda x: x.quantile(0.9))
    )
    scale = scale.where(scale > 0, 1.0)
    forecaster = train(name, model, seed, time_limit, known)
    fitted = forecaster.fitted
    middle = ends[0] + (ends[1] - ends[0]) // 2
    for part, begin, end in (("validation", middle, ends[1]), ("test", ends[1], length)):
        cuts = np.arange(end - one.horizon, begin - 1, -one.horizon)[: one.origins][::-1]
        forecaster.fitted = fitted
        state, scores = calibrate(forecaster, frame[place < cuts[0]], cuts[0] - ends[0])
        dependences = state.dependence, Dependence(np.eye(one.horizon)), Shuffle.of(scores)
        weight = patch_dependence_of(state.model) if state.decodes else None
        for method, dependence in zip(METHODS, dependences, strict=True):
            has_method = method == "learnt" or not state.decodes
            has_method |= method == "independent" and weight is not None
            if (name, model, str(seed), part, method) in done or not has_method:
                continue
            started = time.perf_counter()
            forecaster.fitted = replace(state, dependence=dependence)
            learnt = None if weight is None else keras.ops.convert_to_numpy(weight)
            if weight is not None and method == "independent":
                weight.assign(np.eye(len(learnt)))
            row = measure(forecaster, name, frame, place, cuts, scale, level)
            if weight is not None:
                weight.assign(learnt)
            row |= {"set": name, "model": model, "seed": seed, "part": part, "method": method}
            row |= {"prediction_length": one.horizon, "origins": len(cuts), "paths": NUM_PATHS}
            row |= {"series": len(scale), "seconds": round(time.perf_counter() - started, 1)}
            row |= {"keras": keras.__version__, "backend": keras.backend.backend()}
            rounded = {x: round(y, 4) if isinstance(y, float) else y for x, y in row.items()}
            append_row(output, COLUMNS, rounded)
            print(rounded, flush=True)


def sweep(run, sets, output, description):
    """Run the sets, models and seeds of the command line that are not in the file yet.

    Args:
        run: Function `(name, model, seed, time_limit, output)`.
        sets: Names of all sets.
        output: Default path of the file.
        description: Text whose first line describes the program.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--sets", default=",".join(sets))
    parser.add_argument("--models", default="nhits")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--output", type=Path, default=output)
    options = parser.parse_args()
    for seed in map(int, options.seeds.split(",")):
        for name in options.sets.split(","):
            for model in options.models.split(","):
                run(name, model, seed, options.time_limit, options.output)


if __name__ == "__main__":
    sweep(run, SETS, OUTPUT, __doc__)
