"""kerastrans_zero with and without covariates: prices, made series, and covariates without effect.

    KERAS_BACKEND=jax python -m benchmarks.accuracy.zero_covariates --part validation
    KERAS_BACKEND=jax python -m benchmarks.accuracy.zero_covariates --part test
    KERAS_BACKEND=jax python -m benchmarks.accuracy.zero_covariates --part made
    KERAS_BACKEND=jax python -m benchmarks.accuracy.zero_covariates --part seasonal

"validation" forecasts windows of the electricity prices that end 1, 3, 6, 10, 15, 20, 30 and 45
times 480 hours before the end of the files; settings were chosen there and on made series. "test"
reads the test windows of published tasks: the prices with their own covariates, and other tasks
with covariates that have no effect. "made" draws series, some of which depend on their covariates,
three times. "seasonal" forecasts the windows of "validation", and made hourly series, by
kerastrans_zero_2 with the option `season`. One row per case is added to
results/zero_covariates.csv; what is there is not run again. Scores are those of
`benchmarks.accuracy.tasks`; made series are scored like a task.
"""

import argparse
import functools
import warnings

import keras
import numpy as np
import pandas as pd

import kerastrans
from benchmarks.accuracy.task_list import DAY, TASKS, Task, split
from benchmarks.accuracy.tasks import LEVELS, SCORES, score
from benchmarks.common import RESULTS, append_row, keys_of
from tests.helpers.weights import ZERO_1

PATH = RESULTS / "zero_covariates.csv"
KEY = ("part", "case", "covariates", "seed")
COLUMNS = (*KEY, *SCORES, "backend", "keras")
PRICES = ("epf_np", "epf_fr", "epf_pjm")
BLOCKS = (1, 3, 6, 10, 15, 20, 30, 45)  # of the validation, in blocks of 480 hours before the end
OTHERS = ("ETT_1H", "hospital", "australian_tourism", "nyc_departures", "m4_weekly", "m3_monthly")
USELESS = ("noise", "walks", "waves", "ten")
# Number of steps, horizon and season of made series.
SHAPES = {"monthly": (120, 12, 12), "short": (24, 4, 1), "hourly": (1000, 24, 24)}
NUM_MADE = 40
MADE = ("useful", "weak", "lagged", "past", "category", "mixed", *USELESS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=tuple(_CASES), required=True)
    options = parser.parse_args()
    source = ("kerastrans_zero_2", DAY) if options.part == "seasonal" else (ZERO_1, None)
    build = functools.partial(_zero, *source)
    for case, covariates, seed, make in _CASES[options.part]():
        for given in ("none", covariates):
            key = options.part, case, given, str(seed)
            if key in keys_of(PATH, KEY):
                continue
            task, frame, columns = make()
            row = run(build, task, frame, columns if given != "none" else {})
            row |= dict(zip(KEY, key, strict=True))
            append_row(PATH, COLUMNS, row)
            print(*(f"{row[name]}" for name in COLUMNS[:-2]), flush=True)


def run(build, task, frame, columns):
    """Forecast and score: a row of the table.

    Args:
        build: Function of a horizon and of covariates that returns a forecaster.
        task: `Task`.
        frame: Long frame with its covariates.
        columns: Dict of "past" and "future", and of "categories", pairs of a name and texts.
    """
    zero = build(task.horizon, **{kind: tuple(x) for kind, x in columns.items()})
    names = [*columns.get("past", ()), *columns.get("future", ())]
    frame = frame[["unique_id", "ds", "y", *names]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rows = zero.backtest(frame, windows=task.windows, step=task.horizon, levels=LEVELS)
    scores = score(rows, frame, task)
    row = {name: f"{scores[name]:.4f}" if name in scores else "" for name in SCORES}
    return {**row, "backend": keras.backend.backend(), "keras": keras.__version__}


@functools.lru_cache(maxsize=2)  # cases of the same kind are compiled once
def _zero(source, season, horizon, past=(), future=(), categories=()):
    columns = {"past": past, "future": future, "categories": dict(categories)}
    options = {} if season is None else {"model_options": {"season": season}}
    return kerastrans.from_pretrained(source, horizon, verbose=False, **columns, **options)


def validation_cases(kinds=("own", "walks", "waves")):
    """Yield the cases of the prices before the test windows."""
    for kind in kinds:
        for name in PRICES:
            for block in BLOCKS:
                load = functools.partial(_before, name, block)
                yield f"{name} -{block}", kind, 0, functools.partial(_make, TASKS[name], load, kind)


def _before(name, block):
    """Return the rows before so many blocks of windows."""
    task = TASKS[name]
    return split(task.load(), block * task.horizon * task.windows)[0]


def _make(task, load, kind):
    return with_covariates(task, load(), kind)


def seasonal_cases():
    """Yield cases of both kinds with a season of 24 steps."""
    yield from validation_cases(("own", *USELESS))
    yield from made_cases(("hourly",))


def test_cases():
    """Yield the cases of the test windows."""
    for kind, names in (("own", PRICES), *((kind, (*PRICES, *OTHERS)) for kind in USELESS)):
        for name in names:
            yield name, kind, 0, functools.partial(_make, TASKS[name], TASKS[name].load, kind)


def with_covariates(task, frame, kind="own", seed=0):
    """Return a task, its frame with covariates, and the arguments for them."""
    if kind == "own":
        return task, frame, {"future": task.future}
    rng = np.random.default_rng(seed)
    lengths = frame.groupby("unique_id", sort=False).size()
    parts = [useless(kind, length, task.season, rng) for length in lengths]
    columns = [f"x{i}" for i in range(parts[0].shape[1])]
    frame = frame.sort_values(["unique_id", "ds"], kind="stable", ignore_index=True)
    values = pd.DataFrame(np.concatenate(parts), columns=columns)
    return task, pd.concat([frame, values], axis=1), {"future": columns}


def useless(kind, length, season, rng):
    """Return covariates `(length, columns)` that a series does not depend on."""
    if kind == "noise":
        return rng.normal(size=(length, 1))
    if kind == "walks":
        return rng.normal(size=(length, 2)).cumsum(axis=0)
    if kind == "waves":
        return _weather(length, season, rng)[:, None]
    return np.stack([_weather(length, season, rng) for _ in range(10)], axis=1)


def _weather(length, season, rng):
    """Return a series `(length,)` of a season and an autoregression with a deviation of 1."""
    x = np.zeros(length + 50)
    for step in range(1, len(x)):
        x[step] = 0.8 * x[step - 1] + 0.6 * rng.normal()
    wave = np.sin(2 * np.pi * np.arange(length) / season + rng.uniform(0, 6.28))
    return x[50:] + wave * (season > 1)


def made_cases(shapes=tuple(SHAPES)):
    """Yield the cases of made series."""
    for shape in shapes:
        for kind in MADE:
            for seed in range(3):
                yield f"{shape} {kind}", kind, seed, functools.partial(made, shape, kind, seed)


def made(shape, kind, seed):
    """Return a task of made series, their frame, and the arguments for their covariates.

    Each series is the sum of an autoregression with a deviation of 1, a season, a random walk, and
    the effect of a covariate that has a season and an autoregression itself: 1 or -1 times its
    value; .3 times ("weak"); its value 2 steps ("lagged") or a horizon ("past") earlier; a category
    with the effects 0, 2 and -1; or its value next to four covariates without effect ("mixed").
    """
    length, horizon, season = SHAPES[shape]
    rng = np.random.default_rng([seed, MADE.index(kind), list(SHAPES).index(shape)])
    task = Task("kerastrans", f"{shape} {kind}", horizon, 1, season, shape)
    frames = [_made_series(kind, length, horizon, season, rng, i) for i in range(NUM_MADE)]
    frame = pd.concat(frames, ignore_index=True)
    names = [name for name in frame.columns if name not in ("unique_id", "ds", "y")]
    columns = {"past" if kind == "past" else "future": names}
    if kind == "category":
        columns["categories"] = [("x0", ("work", "fair", "feast"))]
    return task, frame, columns


def _made_series(kind, length, horizon, season, rng, number):
    total = length + horizon
    y = np.zeros(total + 50)
    memory = rng.choice([0, 0.5, 0.9])
    for step in range(1, len(y)):
        y[step] = memory * y[step - 1] + (1 - memory**2) ** 0.5 * rng.normal()
    y = y[50:] + rng.choice([0, 0.05, 0.3]) * rng.normal(size=total).cumsum()
    if season > 1:
        for k in (1, 2, 3):
            angles = 2 * np.pi * k * np.arange(total) / season + rng.uniform(0, 6.28)
            y = y + rng.exponential() * np.sin(angles)
    weather, sign = _weather(total + horizon, season, rng), rng.choice([-1, 1])
    x = {"x0": weather[horizon:]}
    if kind in USELESS:
        values = useless(kind, total, season, rng)
        x = {f"x{i}": values[:, i] for i in range(values.shape[1])}
    elif kind == "category":
        x = {"x0": rng.choice(["work", "fair", "feast"], total, p=[0.8, 0.1, 0.1])}
        y = y + 2 * (x["x0"] == "fair") - (x["x0"] == "feast")
    else:
        lag = {"lagged": 2, "past": horizon}.get(kind, 0)
        effect = 0.3 if kind == "weak" else 1.0
        y = y + effect * sign * weather[horizon - lag : len(weather) - lag]
    if kind == "mixed":
        x |= {f"x{i}": _weather(total, season, rng) for i in range(1, 5)}
    dates = pd.date_range("2020-01-01", periods=total, freq="D")
    return pd.DataFrame({"unique_id": f"{number:02}", "ds": dates, "y": y, **x})


_CASES = {
    "validation": validation_cases,
    "test": test_cases,
    "made": made_cases,
    "seasonal": seasonal_cases,
}

if __name__ == "__main__":
    main()
