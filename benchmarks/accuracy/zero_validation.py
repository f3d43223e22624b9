"""Compare weights of kerastrans-zero on real windows that lie before those of every test.

    KERAS_BACKEND=jax python -m benchmarks.accuracy.zero_validation \
        --model tests/fixtures/weights/kerastrans_zero --label "version 1"

The rows of the published tests are dropped before anything is read. Errors are divided by those of
the seasonal naive forecast, whose quantiles are normal with the deviation of its errors. One row a
set is added to results/zero_validation.csv. The sets in `HELD` stay unread until the recipe is
frozen: `--frozen` reads them, once.
"""

import argparse
import time
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import jax
import numpy as np
import pandas as pd
from keras import ops

from benchmarks.accuracy.task_list import TASKS, Task, split
from benchmarks.common import RESULTS, append_row, keys_of
from kerastrans.models.pretrained import load
from kerastrans.models.pretrained.zero.network import shorten
from kerastrans.models.pretrained.zero.windows import normalized
from kerastrans.utils.pinball import pinball_loss

SETS = (
    *("ETT_1H", "ETT_15T", "epf_np", "epf_pjm", "epf_fr", "hospital", "australian_tourism"),
    *("jena_weather_10T", "nyc_departures", "m4_hourly", "m4_weekly"),
    *("m3_yearly", "m3_quarterly", "m3_monthly", "m3_other"),
    *("tourism_yearly", "tourism_quarterly", "tourism_monthly"),
)
# Not read before the recipe is frozen. The first two have no published test here: their last rows
# are a window of their own, and only the rows before it are read.
HELD = {
    "illness": Task("held", "illness", 24, 4, 52, "illness"),
    "labour": Task("held", "labour", 12, 4, 12, "labour"),
    "m1_quarterly": Task("M1", "m1_quarterly", 8, 1, 4, "quarterly"),
    "m1_yearly": Task("M1", "m1_yearly", 6, 1, 1, "yearly"),
}
LEVELS = tuple(round(k / 10, 1) for k in range(1, 10))
OUTER = (0.025, 0.1, 0.9, 0.975)
WINDOWS, ROWS = 60, 300  # of a series, of a set, at most
BATCH, HORIZONS = 64, (24, 48, 168)  # sizes that are compiled
SCORES = ("mase", "sql", "coverage-80", "coverage-95", "width-80", "width-95")
COLUMNS = ("label", "set", "rows", *SCORES, "seconds")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="folder of a checkpoint")
    parser.add_argument("--label", required=True, help="name of these weights in the table")
    parser.add_argument("--frozen", action="store_true", help="read the sets held back, too")
    parser.add_argument("--gaps", action="store_true", help="leave three gaps in each history")
    parser.add_argument("--output", type=Path, default=RESULTS / "zero_validation.csv")
    options = parser.parse_args()
    forecaster = Quantiles(load(options.model))
    known = keys_of(options.output, ("label", "set"))
    for name in (*SETS, *(HELD if options.frozen else ())):
        if (options.label, name) not in known:
            found = measure(forecaster, task_of(name), options.gaps)
            row = {"label": options.label, "set": name, **found}
            append_row(options.output, COLUMNS, row)
    table = pd.read_csv(options.output)
    print(summary(table).to_string(), flush=True)


def task_of(name):
    return TASKS[name] if name in TASKS else HELD[name]


class Window(NamedTuple):
    """A history, what followed, and the time stamps of both."""

    past: np.ndarray
    future: np.ndarray
    times: pd.DatetimeIndex


class Quantiles:
    """Forecasts by a network that is compiled for few sizes, with its weights as arguments."""

    def __init__(self, model):
        self.model = model
        self.networks, self.compiled = dict(model.networks), {}

    def __call__(self, windows, task):
        """Quantiles `(rows, horizon, levels)` of a list of windows."""
        return self.forecast([window.past for window in windows], task.horizon)

    def forecast(self, histories, horizon):
        """Quantiles `(rows, horizon, levels)` of a list of histories of any length."""
        longest = next(n for n in HORIZONS if n >= horizon)
        lengths = np.array([self.model.padded_length(len(x)) for x in histories])
        found = np.empty((len(histories), horizon, len(self.model.levels)))
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            for start in range(0, len(rows), BATCH):
                part = rows[start : start + BATCH]
                block = np.full((BATCH, length), np.nan, "float32")
                for i, row in enumerate(part):
                    past = histories[row][-length:]
                    block[i, length - len(past) :] = past
                found[part] = self._run(block, longest)[: len(part), :horizon]
        return found

    def _run(self, block, horizon):
        length = block.shape[1]
        if length not in self.networks:
            self.networks[length] = shorten(self.model.network, length)
        network = self.networks[length]
        if length not in self.compiled:
            self.compiled[length] = jax.jit(
                lambda weights, inputs: network.stateless_call(weights, [], inputs)[0]
            )
        x, mean, size = normalized(ops.convert_to_tensor(block), length, horizon)
        weights = [variable.value for variable in network.trainable_variables]
        outputs = np.asarray(self.compiled[length](weights, x), float)
        return outputs * np.asarray(size)[..., None] + np.asarray(mean)[..., None]


def measure(forecaster, task, gaps=False, cycles=None):
    """Scores of a task: a row of the table.

    Gaps, and the number of seasons of history if it is given, change what the model reads, not the
    scale.
    """
    started = time.process_time()
    windows = windows_of(task)
    read = with_gaps(windows) if gaps else windows
    if cycles:
        read = [x._replace(past=x.past[-cycles * task.season :]) for x in read]
    quantiles = forecaster(read, task)
    own = scores(quantiles, forecaster.model.levels, windows, task.season)
    naive = np.stack([naive_quantiles(x.past, task.horizon, task.season) for x in windows])
    base = scores(naive, (*LEVELS, *OUTER), windows, task.season)
    ratios = {name: own[name] / base[name] for name in ("mase", "sql")}
    row = {name: f"{ratios.get(name, own[name]):.4f}" for name in SCORES}
    return {"rows": len(windows), **row, "seconds": f"{time.process_time() - started:.1f}"}


def windows_of(task):
    """A list of `Window`, all of them before those of the test."""
    frame, _ = split(task.load(), task.horizon * task.windows)
    windows, h = [], task.horizon
    most = min(WINDOWS, -(-ROWS // frame["unique_id"].nunique())) if task.windows > 1 else 1
    for _, rows in frame.groupby("unique_id", sort=True):
        values, times = rows["y"].to_numpy(float), pd.DatetimeIndex(rows["ds"])
        count = min(most, max(1, len(values) // (3 * h)))
        for end in range(len(values) - count * h, len(values), h):
            past = values[:end]
            if end > task.season + 2 and scale_of(past, task.season) > 0:
                windows.append(Window(past, values[end : end + h], times[: end + h]))
    return [windows[i] for i in np.unique(np.linspace(0, len(windows) - 1, ROWS).astype(int))]


def with_gaps(windows):
    """The windows without three stretches of a twelfth of their last 1,024 steps."""
    random, found = np.random.default_rng(1), []
    for window in windows:
        past = window.past.copy()
        size = max(1, min(len(past), 1024) // 12)
        first = max(0, len(past) - 1024)
        for start in random.integers(first, len(past) - size + 1, size=3):
            past[start : start + size] = np.nan
        found.append(window._replace(past=past))
    return found


def scale_of(past, season):
    """Mean error of a seasonal naive forecast within a history."""
    return np.nanmean(np.abs(past[season:] - past[:-season]))


def naive_quantiles(past, horizon, season):
    """Normal quantiles around the last season, `(horizon, levels)`."""
    filled = pd.Series(past).ffill().bfill().to_numpy()
    cycles = np.arange(horizon) // season + 1
    center = filled[len(filled) - season + np.arange(horizon) % season]
    errors = filled[season:] - filled[:-season]
    deviation = np.sqrt(np.mean(errors**2)) * np.sqrt(cycles)
    steps = [NormalDist().inv_cdf(level) for level in (*LEVELS, *OUTER)]
    return center[:, None] + deviation[:, None] * np.array(steps)


def scores(quantiles, levels, windows, season):
    """Means over windows of the scores in units of the naive errors in each history."""
    actual = np.stack([window.future for window in windows])
    scale = np.array([scale_of(window.past, season) for window in windows])[:, None]
    at = {round(level, 3): quantiles[..., i] for i, level in enumerate(levels)}
    errors = (actual[..., None] - np.stack([at[x] for x in LEVELS], -1)) / scale[..., None]
    found = {
        "mase": np.nanmean(np.abs(actual - at[0.5]) / scale),
        "sql": 2 * np.nanmean(pinball_loss(errors, np.array(LEVELS), np)),
    }
    for name, low, high in (("80", 0.1, 0.9), ("95", 0.025, 0.975)):
        inside = (actual >= at[low]) & (actual <= at[high])
        found[f"coverage-{name}"] = 100 * inside[np.isfinite(actual)].mean()
        found[f"width-{name}"] = np.nanmean((at[high] - at[low]) / scale)
    return found


def summary(table):
    """Geometric means of the ratios over `SETS`, and what 80 and 95 % cover, by label."""
    table = table[table["set"].isin(SETS)]
    groups = table.groupby("label", sort=False)
    found = groups[["mase", "sql"]].agg(lambda x: np.exp(np.log(x).mean()))
    found["coverage-80"] = groups["coverage-80"].mean()
    found["far from 80"] = groups["coverage-80"].agg(lambda x: (x - 80).abs().mean())
    found["coverage-95"] = groups["coverage-95"].mean()
    found["sets"] = groups.size()
    return found.round(4)


if __name__ == "__main__":
    main()
