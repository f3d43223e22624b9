"""What changes the forecasts of kerastrans_zero_2 without training, on the validation windows.

    KERAS_BACKEND=jax python -m benchmarks.accuracy.zero_variants --variants season,lags

Each variant is a label of results/zero_validation.csv; see `benchmarks.accuracy.zero_validation`
for its windows and scores.
"""

import argparse

import numpy as np
import pandas as pd

from benchmarks.accuracy.task_list import DAY
from benchmarks.accuracy.zero_validation import (
    COLUMNS,
    SETS,
    Quantiles,
    measure,
    summary,
    task_of,
)
from benchmarks.common import RESULTS, append_row, keys_of, names
from kerastrans.models.pretrained import load
from kerastrans.models.pretrained.arrays import compile_by_name
from kerastrans.models.pretrained.shipped import FOLDER
from kerastrans.models.pretrained.zero.network import build_network, sizes_of
from tests.helpers.weights import ZERO_1

PATH = RESULTS / "zero_validation.csv"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variants", type=names, default=tuple(VARIANTS))
    parser.add_argument("--sets", type=names, default=SETS)
    parser.add_argument("--gaps", action="store_true", help="leave three gaps in each history")
    parser.add_argument("--cycles", type=int, help="read only so many seasons of each history")
    options = parser.parse_args()
    for variant in options.variants:
        forecast = VARIANTS[variant]()
        for name in options.sets:
            label = f"version 2, {variant}" + ", gaps" * options.gaps
            label += f", {options.cycles} cycles" if options.cycles else ""
            if (label, name) not in keys_of(PATH, ("label", "set")):
                found = measure(forecast, task_of(name), options.gaps, options.cycles)
                row = {"label": label, "set": name, **found}
                append_row(PATH, COLUMNS, row)
                print(*row.values(), flush=True)
    print(summary(pd.read_csv(PATH)).to_string(), flush=True)


class Plain(Quantiles):
    """Version 2 on up to 1,024 steps. Subclasses forecast a list of windows in another way."""

    def __init__(self, name="kerastrans_zero_2"):
        super().__init__(load(FOLDER / name))


class Season(Plain):
    """With the option `season`."""

    def __call__(self, windows, task):
        model = self.model.with_options(season=task.season)
        found = model.forecast([x.past for x in windows], task.horizon, model.levels)
        return np.concatenate([x["quantiles"] for x in found])


class PairedLags(Plain):
    """Autocorrelations over the power of the pairs at each lag, with the same weights."""

    def __init__(self):
        super().__init__()
        network = self.model.network
        self.model.network = build_network({**sizes_of(network), "paired_lags": True}, like=network)
        self.networks = {self.model.max_context: self.model.network}


class PairedSeason(PairedLags, Season):
    """The same, with the option `season`."""


class Flip(Plain):
    """Mean with the negative forecast of the negative history."""

    def __call__(self, windows, task):
        negative = self.forecast([-x.past for x in windows], task.horizon)[..., ::-1]
        return (super().__call__(windows, task) - negative) / 2


class BothVersions(Plain):
    """Mean with version 1."""

    def __init__(self):
        super().__init__()
        self.first = Plain(ZERO_1)

    def __call__(self, windows, task):
        return (super().__call__(windows, task) + self.first(windows, task)) / 2


class Last512(Plain):
    """The last 512 steps alone."""

    def __call__(self, windows, task):
        return self.forecast([x.past[-512:] for x in windows], task.horizon)


class Last2048(Plain):
    """The last 2,048 steps, and one more octave of lags, with the same weights."""

    def __init__(self):
        super().__init__()
        config = sizes_of(self.model.network)
        longer = {"context_length": 2048, "octaves": config["octaves"] + 1, "trend_length": 2048}
        self.networks[2048] = build_network({**config, **longer}, like=self.model.network)
        self.model.max_context = 2048


class Lags(Plain):
    """Past values of the series as covariates, a horizon, a season more and seven seasons back."""

    def columns(self, window, task):
        """Covariates `(time + horizon, columns)`."""
        first = task.season * -(-task.horizon // task.season)
        lags = {first, first + task.season} | ({7 * task.season} if task.season >= DAY else set())
        series = pd.Series(np.concatenate([window.past, np.full(task.horizon, np.nan)]))
        return np.stack([series.shift(lag) for lag in sorted(lags) if lag >= first], axis=1)

    def __call__(self, windows, task):
        if task.season == 1:
            return super().__call__(windows, task)
        columns = [self.columns(x, task) for x in windows]
        lengths = [self.model.padded_length(len(x.past)) for x in windows]
        found = np.empty((len(windows), task.horizon, len(self.model.levels)))
        for length in set(lengths):
            sizes = (0,) * columns[0].shape[1]
            run = compile_by_name(self.model.build(length, task.horizon, 1, {"future": sizes}))
            for i in np.flatnonzero(np.equal(lengths, length)):
                past, mean, size = _scaled(windows[i].past)
                history = _last(past[:, None], length)
                known = np.stack([_scaled(x)[0] for x in columns[i].T], axis=1)
                known = _last(known, length + task.horizon)
                quantiles = run(history=history[None], future_covariates=known[None])
                found[i] = quantiles[0, :, 0] * size + mean
        return found


class LagsAndWeekends(Lags):
    """The same, and whether a step lies on a weekend."""

    def columns(self, window, task):
        columns = super().columns(window, task)
        if not task.is_dated or task.season < DAY:
            return columns
        weekend = window.times.day_of_week.to_numpy() >= 5
        return np.column_stack([columns, weekend])


def _scaled(values):
    """Values in deviations from their mean, as float64, and both."""
    mean, size = np.nanmean(values), np.nanstd(values) + 1e-9
    return (values - mean) / size, mean, size


def _last(rows, length):
    """The last rows, NaN before the first."""
    rows = rows[-length:]
    return np.concatenate([np.full((length - len(rows), rows.shape[1]), np.nan), rows])


VARIANTS = {
    "as it is": Plain,
    "paired lags": PairedLags,
    "paired lags and season": PairedSeason,
    "season": Season,
    "flip": Flip,
    "mean with version 1": BothVersions,
    "512 steps": Last512,
    "2048 steps": Last2048,
    "lags": Lags,
    "lags and weekends": LagsAndWeekends,
}

if __name__ == "__main__":
    main()
