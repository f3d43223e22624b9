"""From a frame to the best forecaster that a time limit allows: several models, averaged."""

import functools
import time
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME, to_long
from kerastrans.data.panel import read_panel
from kerastrans.data.time.seasons import season_of
from kerastrans.evaluation.columns import CUTOFF, interval_columns
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.inference.rolling_origins import rows_until
from kerastrans.forecasting.selection.candidates import CANDIDATES, LEVELS, NAIVE, made
from kerastrans.forecasting.selection.ensemble import ensemble_of
from kerastrans.forecasting.selection.store import Kept
from kerastrans.forecasting.selection.weights import greedy_weights
from kerastrans.forecasting.training.defaults import held_out_steps
from kerastrans.forecasting.training.extra_steps import EXTRA_STEPS_SHARE
from kerastrans.utils.types import Columns, PathLike
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import check_positive_integers

INTERVALS = (95, 80, 50)  # whose bounds, with the median, are the levels of every candidate
LEAST = 0.05  # of the time limit: with less left no further candidate begins


def select(
    frame: pd.DataFrame,
    prediction_length: int,
    *,
    time_limit: float = 600,
    past: Columns = (),
    future: Columns = (),
    static: pd.DataFrame | None = None,
    freq: str | None = None,
    seed: int = 0,
    folder: PathLike | None = None,
    verbose: bool = True,
) -> Forecaster:
    """Try several models on the end of each series, and average those that are best together.

    The seasonal naive forecast comes first, and "kerastrans_zero", which needs no training; then
    linear models, TiDE, N-HiTS and PatchTST, with and without the calendar, each as `Forecaster`
    trains it by default. All of them forecast the end of
    each series, which none has seen, from rolling origins; a mean of their quantiles is chosen
    there greedily, which is never worse there than its best member. The widths of its intervals
    are scaled by what was seen there; at last its members train on that end too, for a tenth of
    the steps that they were trained for. Channels of a wide frame are series of their own.

    Args:
        frame: long or wide, as `Forecaster.fit` takes it.
        prediction_length: int, steps to forecast.
        time_limit: float, seconds after which no further model begins. Where it is too short for
            any, the seasonal naive forecast is returned, with the quantiles of its own errors.
        past: names of covariates that are known for the past.
        future: names of covariates that are known for the steps to forecast too.
        static: frame of static covariates, as `Forecaster.fit` takes it.
        freq: str, pandas frequency, where the time stamps do not tell it.
        seed: int.
        folder: where each candidate is kept once it is trained: the same call goes on from there
            after an interruption. None to keep none.
        verbose: bool, whether a line a candidate is printed.

    Returns:
        A `kerastrans.selection.Selected`: a `Forecaster` of one functional Keras model, with a
        `leaderboard`.

    Raises:
        ValueError: Bad frames; no series longer than one forecast; a `folder` of another selection.

    Source: Caruana et al. (2004), for the greedy mean; Vincent (1912), for means of quantiles.
    """
    check_positive_integers(prediction_length=prediction_length)
    if not time_limit > 0:
        raise ValueError(f"time_limit must be seconds above 0, got {time_limit!r}.")
    columns = {"past": tuple(past), "future": tuple(future)}
    if ID not in frame.columns:
        frame = to_long(frame, [*past, *future])
    panel = read_panel(frame, freq=freq)
    freq = panel.clock.freq
    held_out = held_out_steps(panel.lengths, prediction_length) or prediction_length
    before = rows_until(frame, panel, panel.cuts - held_out)
    if before.empty:
        raise ValueError(
            f"the longest series has {(panel.cuts - panel.begins).max()} steps, too few to hold "
            f"{prediction_length} of them out."
        )
    facts = {"prediction_length": prediction_length, "seed": seed, **columns}
    has_calendar = bool(panel.clock.calendar_names)
    own = ((name, calendar and has_calendar, seed) for name, calendar, seed in CANDIDATES)
    candidates = tuple(dict.fromkeys(own))
    facts["candidates"] = candidates  # they are kept by their numbers
    kept = Kept(folder, facts, frame, static)
    judge = Judge(frame, static, held_out // prediction_length, season_of(freq), before)

    def make(candidate, seconds):
        arguments = before, prediction_length, freq, seconds, static
        return made(candidate, *arguments, seed=seed, **columns)

    say = print if verbose else lambda line: None
    results = judge.on_common_rows(_tried(candidates, make, kept, judge, time_limit, say))
    weights, loss = greedy_weights([result.forecasts for result in results], judge.loss)
    leaderboard = _leaderboard(results, weights, loss)
    chosen = [(x.forecaster, w) for x, w in zip(results, weights, strict=True) if w]
    return ensemble_of(chosen, frame, static, held_out, leaderboard, seed)


@dataclass(frozen=True)
class Result:
    """A candidate, its forecasts of the held-out end, their loss, and the seconds it took."""

    name: str
    forecaster: Forecaster
    forecasts: np.ndarray
    loss: float
    seconds: float


def _tried(candidates, make, kept, judge, time_limit, say):
    """The `Result` of each candidate for which there was time."""
    results, left_out, deadline = [], [], time.monotonic() + (1 - EXTRA_STEPS_SHARE) * time_limit
    for number, candidate in enumerate(((NAIVE, False, 0), *candidates)):
        began = time.monotonic()
        left = deadline - began
        if number and left < LEAST * time_limit and not kept.has(number):
            break
        name, calendar, seed = candidate
        name += ("+calendar" if calendar else "") + (f" (seed {seed})" if seed else "")
        # A third of what is left: the first ones are cheap, and end of themselves.
        seconds = left / max(1, min(3, len(candidates) + 1 - number))
        try:
            forecaster = kept.get(number, functools.partial(make, candidate, seconds))
        except ValueError as error:  # it diverged, or is not for a context as short as this
            if not number:
                raise
            left_out.append(f"{name}: left out, {error}")
            say(left_out[-1])
            continue
        forecasts, loss = judge(forecaster)
        taken = time.monotonic() - began
        results.append(Result(name, forecaster, forecasts, loss, taken))
        skill = _skill(loss, results[0].loss)
        say(f"{name}: loss {loss:.4g}, skill {skill:.1%}, {taken:.0f} s")
    if len(results) == 1 and left_out:
        warn_user(f"only the seasonal naive forecast is left: {left_out[0]}")
    elif len(results) == 1:
        say(f"{time_limit} s are too few for a model: this is the seasonal naive forecast.")
    return results


class Judge:
    """Forecasts the held-out end of each series, and says how good a forecast of it is.

    Args:
        frame: long.
        static: frame of static covariates, or None.
        windows: int, forecasts that do not overlap, the last at the end.
        season: int, of the scale of each series.
        before: frame, the rows that scale.
    """

    def __init__(self, frame, static, windows, season, before):
        self.frame, self.static, self.windows = frame, static, windows
        self.index = None
        change = before.groupby(ID)[TARGET].diff(season).abs().groupby(before[ID]).mean()
        size = before[TARGET].abs().groupby(before[ID]).mean()
        self.scales = change.where(change > 0, size.where(size > 0, 1.0))

    def __call__(self, forecaster):
        """The quantiles `(rows, levels)` of a forecaster, and their loss."""
        rows = forecaster.backtest(
            self.frame, windows=self.windows, static=self.static, levels=list(INTERVALS)
        )
        bounds = [interval_columns(forecaster.alias, level) for level in INTERVALS]
        names = [low for low, _ in bounds], [high for _, high in reversed(bounds)]
        rows = rows.set_index([ID, CUTOFF, TIME])
        if self.index is None:
            self.index = rows.index[rows[TARGET].notna()]
            self.targets = rows.loc[self.index, TARGET].to_numpy()[:, None]
            series = self.index.get_level_values(ID)
            self.series, scales = series, self.scales.reindex(series).to_numpy()
            # A series of which nothing is known before the held-out end has no scale.
            self.unit = np.where(np.isfinite(scales), scales, 1.0)
            if not len(self.index):
                raise ValueError(
                    f"the last {self.windows} forecasts of the series hold no known value: give "
                    "a frame that ends with known ones."
                )
        rows = rows.reindex(self.index)
        quantiles = rows[[*names[0], forecaster.alias, *names[1]]].to_numpy()
        return quantiles, self.loss(quantiles)

    def loss(self, quantiles):
        """Twice the quantile loss in scales of the series: the mean over levels, rows, series.

        Rows without a forecast do not count; it is infinite if there is none.
        """
        error, levels = self.targets - quantiles, np.array(LEVELS)
        losses = 2 * np.maximum(levels * error, (levels - 1) * error).mean(axis=1) / self.unit
        by_series = pd.Series(losses).groupby(self.series).mean()
        return float(by_series.mean()) if by_series.notna().any() else np.inf

    def on_common_rows(self, results):
        """The results judged by the rows that all of them forecast.

        Candidates without a forecast of any row are left out; the first is the seasonal naive.

        Raises:
            ValueError: No row is left.
        """
        results = [results[0], *(x for x in results[1:] if np.isfinite(x.loss))]
        common = np.all([np.isfinite(x.forecasts).all(axis=1) for x in results], axis=0)
        if not common.any():
            raise ValueError(
                "no row of the held-out end is forecast by all candidates: the series have no "
                "known value before it."
            )
        self.targets, self.unit = self.targets[common], self.unit[common]
        self.series = self.series[common]
        chosen = [replace(x, forecasts=x.forecasts[common]) for x in results]
        return [replace(x, loss=self.loss(x.forecasts)) for x in chosen]


def _skill(loss, naive_loss):
    """The share of the naive forecast's loss that is saved; a perfect naive leaves nothing."""
    if naive_loss > 0:
        return 1 - loss / naive_loss
    return 0.0 if loss == 0 else -np.inf


def _leaderboard(results, weights, loss):
    rows = [
        {"model": x.name, "loss": x.loss, "weight": weight, "seconds": x.seconds}
        for x, weight in zip(results, weights, strict=True)
    ]
    rows.append({"model": "ensemble", "loss": loss, "seconds": sum(x.seconds for x in results)})
    table = pd.DataFrame(rows).sort_values("loss", ignore_index=True, kind="stable")
    table.insert(1, "skill", [_skill(loss, results[0].loss) for loss in table["loss"]])
    return table
