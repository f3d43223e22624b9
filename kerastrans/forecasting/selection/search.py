"""Selection of an ensemble of several models within a time limit."""

import functools
import time
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrame

from kerastrans.data.frames import ID, TARGET, TIME, check_has_columns, to_long
from kerastrans.data.native_frames import takes_any_frame
from kerastrans.data.panel import read_panel
from kerastrans.data.time.seasons import mase_season
from kerastrans.evaluation.baselines.statistical import check_models, statistical_backtests
from kerastrans.evaluation.columns import CUTOFF, interval_columns
from kerastrans.evaluation.scores.scales import seasonal_differences
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.inference.rolling_origins import rows_until
from kerastrans.forecasting.selection.candidates import (
    CANDIDATES,
    NAIVE,
    PRETRAINED,
    QUANTILES,
    CandidateStore,
    train_candidate,
)
from kerastrans.forecasting.selection.combination import build_selected, greedy_weights
from kerastrans.forecasting.training.defaults import held_out_steps
from kerastrans.forecasting.training.extra_steps import EXTRA_STEPS_SHARE
from kerastrans.forecasting.training.time_limit import TimeLimit
from kerastrans.utils.pinball import pinball_loss
from kerastrans.utils.types import Columns, PathLike
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import check_positive_integers

LEVELS = (95, 80, 50)  # percents; their bounds and the median are the quantiles of the candidates
MIN_TIME_SHARE = 0.05  # share of the time limit that must remain to train another candidate


@takes_any_frame
def select(
    frame: IntoDataFrame,
    prediction_length: int,
    *,
    time_limit: float = 600,
    past: Columns = (),
    future: Columns = (),
    static: IntoDataFrame | None = None,
    freq: str | None = None,
    seed: int = 0,
    folder: PathLike | None = None,
    statistical: Columns = (),
    verbose: bool = True,
) -> Forecaster:
    """Backtest several models on the end of each series, and return the best ensemble of them.

    The first candidates are the seasonal naive forecast and "kerastrans_zero_2", which need no
    training. Linear models, TiDE, N-HiTS, PatchTST and a decoder-only Transformer follow, with and
    without calendar features, each with the defaults of `Forecaster`. All candidates are backtested
    on the held-out end of each series. An ensemble that averages their quantiles is then selected
    greedily; on the held-out end it is never worse than its best member. The spread of its
    forecasts is corrected by the errors there. Finally, its members are trained on the held-out end
    too, for a tenth of their training steps. The channels of a wide frame are treated as separate
    series.

    Args:
        frame: Long or wide frame, see `Forecaster.fit`.
        prediction_length: int, number of steps to forecast.
        time_limit: float, seconds that the call takes at most. The measured seconds of the
            candidates decide how many of them are trained, for how long, and what is left for the
            ensemble. If it is too short for any model, the seasonal naive forecast is returned,
            with the quantiles of its errors; the backtest of a model that was begun is completed.
        past: Names of covariates that are known for the past.
        future: Names of covariates that are also known for the steps to forecast.
        static: Frame of static covariates, see `Forecaster.fit`.
        freq: str, pandas frequency, if it cannot be inferred from the time stamps.
        seed: int, seed of all candidates.
        folder: Path of a folder to store trained candidates in, so that the same call can be
            resumed after an interruption, or share them with another process. None to store
            nothing.
        statistical: Names of statistical models that the leaderboard lists for comparison, "ets",
            "theta" and "arima", see `kerastrans.evaluation.statistical_backtests`. They
            are fitted when the time limit is over, take as long as they need, and are not part of
            the ensemble, which is one Keras model.
        verbose: bool, whether to print what begins, and the loss of each candidate.

    Returns:
        A `kerastrans.selection.Selected`: a `Forecaster` with one functional Keras model and a
        `leaderboard`.

    Raises:
        ImportError: If statistical models are given and `statsforecast` is not installed.
        ValueError: If the frame is invalid or has no such covariate, a statistical model is
            unknown, no series is longer than one forecast, or `folder` belongs to a selection with
            other data or arguments, `time_limit` included.

    Source: Caruana et al. (2004), for the greedy mean; Vincent (1912), for means of quantiles.
    """
    check_positive_integers(prediction_length=prediction_length)
    if not time_limit > 0:
        raise ValueError(f"time_limit must be seconds above 0, got {time_limit!r}.")
    limit = TimeLimit(time_limit)
    statistical = tuple(statistical)
    if statistical:
        check_models(statistical)
    columns = {"past": tuple(past), "future": tuple(future)}
    check_has_columns(frame, [*past, *future], "covariates")
    if ID not in frame.columns:
        frame = to_long(frame, [*past, *future])
    panel = read_panel(frame, freq=freq)
    freq = panel.clock.freq
    held_out = held_out_steps(panel.lengths, prediction_length) or prediction_length
    ends = panel.cuts_without_last(held_out)
    training_frame = rows_until(frame, panel, ends)
    if training_frame.empty:
        raise ValueError(
            f"the longest series has {panel.lengths.max()} steps, too few to hold out "
            f"{prediction_length} of them."
        )
    settings = {"prediction_length": prediction_length, "seed": seed, "freq": freq, **columns}
    settings |= {"frame": frame, "static": static, "time_limit": float(time_limit)}
    has_calendar = bool(panel.clock.calendar_names)
    variants = ((name, calendar and has_calendar, seed) for name, calendar, seed in CANDIDATES)
    candidates = tuple(dict.fromkeys(variants))
    store = CandidateStore(folder, settings | {"candidates": candidates})  # stored by number
    scorer = HoldoutScorer(frame, static, held_out // prediction_length, panel, ends)

    def train(candidate, budget):
        arguments = training_frame, prediction_length, freq, budget, static
        return train_candidate(candidate, *arguments, seed=seed, **columns)

    report = functools.partial(print, flush=True) if verbose else lambda line: None
    results = _run_candidates(candidates, train, store, scorer, limit, report)
    results += _run_statistical(statistical, results[0].forecaster, scorer, freq, report)
    results = scorer.on_common_rows(results)
    listed = [result for result in results if result.forecaster is None]
    results = [result for result in results if result.forecaster is not None]
    weights, loss = greedy_weights([result.forecasts for result in results], scorer.loss)
    leaderboard = _leaderboard(results, weights, loss, listed)
    chosen = [(x.forecaster, w) for x, w in zip(results, weights, strict=True) if w]
    selected = build_selected(chosen, frame, static, held_out, leaderboard, seed, limit, report)
    limit.warn_if_exceeded()
    return selected


@dataclass(frozen=True)
class Result:
    """Trained candidate, its forecasts `(rows, quantiles)` of the held-out end, and their loss.

    The forecaster of a statistical model is None.
    """

    name: str
    forecaster: Forecaster | None
    forecasts: np.ndarray
    loss: float
    training: float  # seconds
    scoring: float  # seconds

    @property
    def seconds(self):
        """Seconds of training and backtest."""
        return self.training + self.scoring


def _run_candidates(candidates, train, store, scorer, limit, report):
    """Return the `Result` of each candidate that was trained within the time limit."""
    results, left_out = [], []
    for number, candidate in enumerate(((NAIVE, False, 0), *candidates)):
        scoring = max((x.scoring for x in results), default=0.0)  # of this one, too
        # The ensemble forecasts once more before and after its members are trained further.
        ensemble = sum(x.scoring + EXTRA_STEPS_SHARE * x.training for x in results)
        seconds_left = (limit.left - ensemble) / (1 + EXTRA_STEPS_SHARE) - 2 * scoring
        if number and seconds_left < MIN_TIME_SHARE * limit.seconds and not store.has(number):
            break
        name, calendar, seed = candidate
        name += ("+calendar" if calendar else "") + (f" (seed {seed})" if seed else "")
        # At most a third of the remaining time: the first candidates are cheap and stop early.
        budget = seconds_left / max(1, min(3, len(candidates) + 1 - number))
        start = limit.left
        if candidate[0] not in (NAIVE, PRETRAINED) and not store.has(number):
            report(f"{name}: training for at most {budget:.0f} s")
        try:
            forecaster = store.get(number, functools.partial(train, candidate, budget))
        except ValueError as error:  # the training diverged, or the context is too short
            if not number:
                raise
            left_out.append(f"{name}: left out, {error}")
            report(left_out[-1])
            continue
        training, start = start - limit.left, limit.left
        forecasts, loss = scorer(scorer.backtest(forecaster), forecaster.alias)
        result = Result(name, forecaster, forecasts, loss, training, start - limit.left)
        results.append(result)
        skill = _skill(loss, results[0].loss)
        report(f"{name}: loss {loss:.4g}, skill {skill:.1%}, {result.seconds:.0f} s")
    if len(results) == 1 and left_out:
        warn_user(f"only the seasonal naive forecast is available: {left_out[0]}")
    elif len(results) == 1:
        report(
            f"{limit.seconds} s is too short to train a model: the seasonal naive forecast is used."
        )
    return results


def _run_statistical(names, forecaster, scorer, freq, report):
    """Return the `Result` of each statistical model on the rows that a forecaster forecasts."""
    results = []
    for name in names:
        report(f"{name}: fitting")
        start = time.perf_counter()
        rows = scorer.backtest(forecaster)
        found = statistical_backtests(rows, scorer.frame, [name], levels=LEVELS, freq=freq)
        ((name, rows),) = found.items()
        forecasts, loss = scorer(rows, name)
        results.append(Result(name, None, forecasts, loss, 0.0, time.perf_counter() - start))
    return results


class HoldoutScorer:
    """Scores forecasters by their quantile loss on the held-out end of each series.

    Args:
        frame: Long frame.
        static: Frame of static covariates, or None.
        windows: int, number of non-overlapping forecasts in the held-out end.
        panel: `Panel` of the frame. The scale of a series is that of the scaled errors of
            `kerastrans.backtesting.score`, and the mean absolute value of a series without one.
        ends: Array `(series,)`, the row of the panel at which the held-out end of each begins.
    """

    def __init__(self, frame, static, windows, panel, ends):
        self.frame, self.static, self.windows = frame, static, windows
        self.index = None
        season = mase_season(panel.clock.freq)
        change = seasonal_differences(panel, season, ends)["absolute"]
        spans = zip(panel.begins, ends, strict=True)
        size = [pd.Series(panel.values[begin:end, 0]).abs().mean() for begin, end in spans]
        size = pd.Series(size, change.index)
        self.scales = change.where(change > 0, size.where(size > 0, 1.0))

    def backtest(self, forecaster):
        """Return the backtest of a forecaster on the held-out end."""
        options = {"static": self.static, "levels": list(LEVELS)}
        return forecaster.backtest(self.frame, windows=self.windows, **options)

    def __call__(self, rows, alias):
        """Return the quantiles `(rows, quantiles)` of a backtest, and their loss."""
        lows, highs = zip(*(interval_columns(alias, level) for level in LEVELS), strict=True)
        rows = rows.set_index([ID, CUTOFF, TIME])
        if self.index is None:
            self.index = rows.index[rows[TARGET].notna()]
            self.targets = rows.loc[self.index, TARGET].to_numpy()[:, None]
            series = self.index.get_level_values(ID)
            self.series, scales = series, self.scales.reindex(series).to_numpy()
            # A series without a known value before the held-out end has no scale.
            self.unit = np.where(np.isfinite(scales), scales, 1.0)
            if not len(self.index):
                raise ValueError(
                    f"the last {self.windows} forecasts of the series have no known value: give "
                    "a frame that ends with known values."
                )
        quantiles = rows.reindex(self.index)[[*lows, alias, *reversed(highs)]].to_numpy()
        return quantiles, self.loss(quantiles)

    def loss(self, quantiles):
        """Return twice the mean quantile loss, in units of the scales of the series.

        The mean is over quantiles, then the rows of each series, then series. Rows without a
        forecast are ignored; without any forecast, the loss is infinite.
        """
        losses = pinball_loss(self.targets - quantiles, np.array(QUANTILES))
        losses = 2 * losses.mean(axis=1) / self.unit
        by_series = pd.Series(losses).groupby(self.series).mean()
        return float(by_series.mean()) if by_series.notna().any() else np.inf

    def on_common_rows(self, results):
        """Return the results, scored on the rows that all of them forecast.

        Candidates without any forecast are left out, except for the first one, the seasonal naive
        forecast.

        Raises:
            ValueError: If all candidates have no row in common.
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
    """Return the relative reduction of the naive loss; 0 if both are 0."""
    if naive_loss > 0:
        return 1 - loss / naive_loss
    return 0.0 if loss == 0 else -np.inf


def _leaderboard(results, weights, loss, listed):
    """Return the table of candidates, their ensemble, and statistical models without a weight."""
    rows = [
        {"model": x.name, "loss": x.loss, "weight": weight, "seconds": x.seconds}
        for x, weight in zip(results, weights, strict=True)
    ]
    rows += [{"model": x.name, "loss": x.loss, "seconds": x.seconds} for x in listed]
    rows.append({"model": "ensemble", "loss": loss, "seconds": sum(x.seconds for x in results)})
    table = pd.DataFrame(rows).sort_values("loss", ignore_index=True, kind="stable")
    table.insert(1, "skill", [_skill(loss, results[0].loss) for loss in table["loss"]])
    return table
