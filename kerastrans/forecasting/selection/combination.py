"""Combination of trained forecasters in one Keras model, and the ensemble of `select`."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from kerastrans import heads
from kerastrans.data.covariates import KINDS, Covariates
from kerastrans.data.window_index import training_cuts
from kerastrans.decoding.graph import inputs_of
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.inference.error_dependence import learn_dependence
from kerastrans.forecasting.inference.forecast import forecast_windows
from kerastrans.forecasting.inference.recipe import Training
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.forecasting.inference.windows import windows_of
from kerastrans.forecasting.training.data import TrainingData
from kerastrans.forecasting.training.defaults import thin_windows
from kerastrans.forecasting.training.extra_steps import num_extra_steps, train_further
from kerastrans.forecasting.training.fallback import quantiles_of
from kerastrans.forecasting.training.loop import steps_taken
from kerastrans.forecasting.training.spread import SpreadCorrection
from kerastrans.forecasting.training.time_limit import TimeLimit
from kerastrans.forecasting.training.windows import TrainingWindows
from kerastrans.models.parts.ensemble import Member, build_ensemble
from kerastrans.utils.validation import check_choice

LEADERBOARD = "leaderboard.csv"


def combine(
    forecasters: Sequence[Forecaster], how: str = "median", *, alias: str = "ensemble"
) -> Forecaster:
    """Return the ensemble of several trained forecasters: the median or mean of their forecasts.

    The ensemble is a `Forecaster` with one Keras model. Each member scales and forecasts as it does
    separately. The ensemble is saved, exported and served as one file. The published results of
    N-BEATS come from such an ensemble, with different contexts, losses and seeds. The given
    forecasters are not changed. Another `fit` trains copies of all members together. `clone`
    and `backtest(refit=True)` are refused, because they would train new members as one model.

    Args:
        forecasters: List of trained `Forecaster`, all with points or all with the same quantiles,
            for series with the same columns and frequency. Their contexts, scalers, losses and
            architectures may differ. Autoregressive models contribute the quantiles of
            `num_samples` samples, drawn with the same random numbers for all windows; another
            `fit` does not train them. Conformal intervals are dropped; call `calibrate` afterwards.
            Missing values at the end of a series are zeros if all members have `fill="zero"`.
        how: "median" or "mean", applied to the points or to each quantile.
        alias: Name of the forecast column.

    Raises:
        RuntimeError: If a forecaster is not trained.
        ValueError: If `forecasters` is not a list, or is empty.
        ValueError: If the forecasters cannot be combined; the message names the difference.

    Source: Oreshkin et al. (2020), section 3.4.

    Example:
        >>> import kerastrans
        >>> frame = kerastrans.datasets.load("air_passengers")
        >>> last = kerastrans.Forecaster("last_value", 1, 12).fit(frame)
        >>> season = kerastrans.Forecaster("seasonal_naive", 12, 12, season=12).fit(frame)
        >>> rows = kerastrans.combine([last, season], "mean").predict(frame)
        >>> list(rows.columns), len(rows)
        (['unique_id', 'ds', 'ensemble'], 12)
    """
    check_choice("how", how, ("median", "mean"))
    if not isinstance(forecasters, list | tuple) or not forecasters:
        raise ValueError(f"forecasters must be a list of trained forecasters, got {forecasters!r}.")
    for number, forecaster in enumerate(forecasters):
        _check_combinable(forecaster, number)
    _check_settings(forecasters)
    _check_columns(forecasters)
    share = 1 / len(forecasters) if how == "mean" else None
    return build_combined(Forecaster, forecasters, [share] * len(forecasters), alias=alias)


def build_combined(cls, forecasters, weights, *, alias="ensemble", seed=0):
    """Return a `cls` with the weighted mean of forecasters, or the median if weights are None."""
    fitted, levels = [x.fitted for x in forecasters], _common_quantiles(forecasters)
    weights = [None if weight is None else float(weight) for weight in weights]
    members = [
        Member(quantiles_of(x, levels), x.config.scaler, weight, x.config.fill)
        for x, weight in zip(fitted, weights, strict=True)
    ]
    model = build_ensemble(members, levels)
    columns = {
        kind: next(filter(None, (getattr(x.covariates, kind) for x in fitted)), ())
        for kind in KINDS
    }
    names = {kind: [column.name for column in columns[kind]] for kind in ("past", "future")}
    calendar = any(x.config.calendar for x in fitted)
    length = forecasters[0].prediction_length
    names["bounds"] = forecasters[0].config.bounds
    names["short"] = "refuse" if any(x.config.short == "refuse" for x in fitted) else "pad"
    names["fill"] = "zero" if all(x.config.fill == "zero" for x in fitted) else None
    ensemble = cls(
        model, None, length, scaler=None, calendar=calendar, seed=seed, alias=alias, **names
    )
    ensemble.fitted = FittedState(
        ensemble.config,
        model,
        fitted[0].clock,
        Covariates(**columns),
        fitted[0].channels,
        _latest_times(x.trained for x in fitted),
        chosen_by=_latest_times(x.chosen_by for x in fitted),
        made_by="kerastrans.combine",
        read_as=fitted[0].read_as,
        seasons=fitted[0].seasons,
    )
    return ensemble


def _draws(forecaster):
    """Return whether the forecasts are samples."""
    return isinstance(forecaster.fitted.head, heads.Samples)


def _common_quantiles(forecasters):
    """Return the probabilities of the members' quantiles, or None for points.

    Samples have all quantiles: if no member has others, these are the default ones.
    """
    of_models = [heads.of(x.fitted.model) for x in forecasters if not _draws(x)]
    return getattr((of_models or [heads.QuantileHead()])[0], "levels", None)


def _latest_times(parts):
    """Return the dict of series -> latest time, a number on the clock, in any of these dicts."""
    latest = {}
    for part in parts:
        for name, end in part.items():
            latest[name] = max(end, latest.get(name, end))
    return latest


def _check_combinable(forecaster, number):
    """Raise ValueError for a forecaster that cannot be combined with any other."""
    if not isinstance(forecaster, Forecaster):
        raise ValueError(f"forecasters[{number}] must be a Forecaster, got {forecaster!r}.")
    fitted = forecaster._trained()
    where = f"forecasters[{number}] ({forecaster.alias})"
    others = inputs_of(fitted.model)[1 : -1 if fitted.decodes else None]
    additional_inputs = {tensor.name for tensor in others}
    refused = sorted(
        additional_inputs - {"past_covariates", "future_covariates", "static_covariates"}
    )
    if refused or fitted.clock is None:
        why = f"its model takes {refused}" if refused else "it has published weights"
        raise ValueError(f"{where} cannot be combined: {why}.")
    head = heads.of(fitted.model)
    if not _draws(forecaster) and not isinstance(head, heads.PointHead | heads.QuantileHead):
        raise ValueError(
            f"{where} has a {type(head).__name__}: only points, quantiles or samples can be "
            "combined."
        )


def _check_settings(forecasters):
    """Raise ValueError for forecasters whose settings differ."""
    levels = _common_quantiles(forecasters)
    settings = {
        "prediction_length": lambda x: x.prediction_length,
        "frequency": lambda x: x.fitted.freq,
        "time stamps": lambda x: x.fitted.clock,
        "channels": lambda x: x.fitted.channels,
        "quantiles": lambda x: levels or "samples" if _draws(x) else _common_quantiles([x]),
        "bounds": lambda x: x.config.bounds,
    }
    first = forecasters[0]
    for number, forecaster in enumerate(forecasters):
        for name, get in settings.items():
            if get(forecaster) != get(first):
                raise ValueError(
                    f"forecasters[{number}] ({forecaster.alias}) has {name} {get(forecaster)}, the "
                    f"first one has {get(first)}: combine forecasters with the same settings."
                )


def _check_columns(forecasters):
    """Raise ValueError if the members with covariates of a kind do not have the same ones."""
    for kind in KINDS:
        name = f"{kind}_covariates"
        members = [x for x in forecasters if name in {tensor.name for tensor in x.model.inputs}]
        columns = [getattr(x.fitted.covariates, kind) for x in members]
        if any(x != columns[0] for x in columns):
            raise ValueError(
                f"the forecasters with {kind} covariates must have the same ones, fitted to the "
                "same training data."
            )


def greedy_weights(forecasts, loss, rounds=25):
    """Return greedily selected weights that minimise the loss of the weighted mean of forecasts.

    In each round, the forecast that reduces the loss of the mean most is added, with replacement.
    The first one is the best single forecast, and the weights of the best round are returned, so
    that the mean is never worse than its best member on these forecasts.

    Args:
        forecasts: List of arrays of the same shape.
        loss: Function from such an array to a float, NaN if a forecast is not finite.
        rounds: int, number of forecasts to add.

    Returns:
        Array `(len(forecasts),)` of weights that sum to 1, and the loss of the weighted mean.

    Source: Caruana et al. (2004), "Ensemble selection from libraries of models".

    Example:
        >>> weights, loss = greedy_weights([np.ones(3), -np.ones(3)], lambda x: abs(x).mean())
        >>> weights.tolist(), float(loss)
        ([0.5, 0.5], 0.0)
    """
    counts = np.zeros(len(forecasts))
    total, best, best_counts = 0.0, np.inf, None
    for _ in range(rounds):
        losses = [loss((total + x) / (counts.sum() + 1)) for x in forecasts]
        chosen = int(np.nanargmin(losses))
        counts[chosen] += 1
        total = total + forecasts[chosen]
        if losses[chosen] < best:
            best, best_counts = losses[chosen], counts.copy()
    return best_counts / best_counts.sum(), best


class Selected(Forecaster):
    """A `Forecaster` that `kerastrans.select` returned.

    Attributes:
        leaderboard: DataFrame with one row per candidate and one for the ensemble, the best first.
            The columns are "model"; "skill", the reduction of the loss relative to the seasonal
            naive forecast; "loss", the mean quantile loss on the held-out end in units of the
            scales of the series; "weight" in the ensemble; and "seconds" of training.
    """

    leaderboard = None

    def save(self, path, **kwargs):
        """Save the forecaster and the leaderboard, see `Forecaster.save`."""
        super().save(path, **kwargs)
        if self.leaderboard is not None:
            self.leaderboard.to_csv(Path(path) / LEADERBOARD, index=False)

    @classmethod
    def load(cls, path):
        """Load the forecaster and the leaderboard, see `Forecaster.load`."""
        loaded = super().load(path)
        if (Path(path) / LEADERBOARD).is_file():
            loaded.leaderboard = pd.read_csv(Path(path) / LEADERBOARD)
        return loaded


def build_selected(chosen, frame, static, held_out, leaderboard, seed, limit, report):
    """Return the `Selected` ensemble, after training its members on the held-out end too.

    The spread is corrected by the errors of the ensemble on the held-out end before this training,
    because these forecasts are too narrow afterwards.

    Args:
        chosen: List of pairs `(forecaster, weight)`.
        frame: Long frame with all rows.
        static: Frame of static covariates, or None.
        held_out: int, number of last steps of each series that were held out.
        leaderboard: DataFrame, see `Selected`.
        seed: int, seed of the ensemble.
        limit: `TimeLimit` of the selection. If too little is left, members are not trained further.
        report: Function that is called with a line of progress.
    """
    forecasters, weights = zip(*chosen, strict=True)
    selected = build_combined(Selected, forecasters, weights, seed=seed)
    panel = selected.reader.panel(frame, static)
    size = selected.fitted.config.context_length, selected.prediction_length
    _, cuts = training_cuts(panel, *size, held_out=held_out)
    windows = windows_of(selected.fitted, panel, *thin_windows(*cuts))
    # Measure the spread before the members are trained on these windows; apply it afterwards.
    report(f"ensemble: forecasting the held-out rows by {_count(forecasters)}")
    start = limit.left
    forecasts = forecast_windows(selected.fitted, windows)
    correction = SpreadCorrection(selected.fitted, forecasts)
    forecast = start - limit.left  # seconds, and as many after the members are trained
    trained = []
    for number, forecaster in enumerate(forecasters):
        seconds = (limit.left - forecast) / (len(forecasters) - number)
        trained.append(_train_further(forecaster, frame, static, seconds, report))
    selected = build_combined(Selected, forecasters, weights, seed=seed)
    correction.apply(selected.fitted, is_trained_on=any(trained))
    numbers = panel.numbers(range(len(panel)), panel.cuts).tolist()
    chosen_by = dict(zip(map(str, panel.names[:, 0]), numbers, strict=True))
    selected.fitted = replace(
        selected.fitted,
        chosen_by=chosen_by,
        made_by="kerastrans.select",
        dependence=learn_dependence(forecasts),
    )
    selected.leaderboard = leaderboard
    return selected


def _count(forecasters):
    return f"{len(forecasters)} model{'s' if len(forecasters) > 1 else ''}"


def _train_further(forecaster, frame, static, seconds, report):
    """Train a forecaster for a few steps on all rows; return whether it was trained."""
    fitted = forecaster.fitted
    steps = num_extra_steps(steps_taken(forecaster.model.optimizer))
    if not steps or seconds <= 0:
        return False
    report(f"{forecaster.alias}: {steps} extra steps on all rows, for at most {seconds:.0f} s")
    data = TrainingData(forecaster.reader, [forecaster.reader.panel(frame, static)])
    windows = TrainingWindows(fitted.model, data, Training())
    stop = TimeLimit(seconds).callback(lambda steps: 0.0)
    if not train_further(windows, steps, stop=stop):
        return False
    forecaster.fitted = replace(fitted, trained=windows.trained)
    return True
