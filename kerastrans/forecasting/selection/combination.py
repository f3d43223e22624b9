"""Combination of several trained forecasters in one functional Keras model."""

from collections.abc import Sequence

from kerastrans import heads
from kerastrans.data.covariates import KINDS, Covariates
from kerastrans.decoding.graph import inputs_of
from kerastrans.forecasting.forecaster import Forecaster
from kerastrans.forecasting.inference.state import FittedState
from kerastrans.models.parts.ensemble import Member, build_ensemble
from kerastrans.utils.validation import check_choice


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
            architectures may differ. Conformal intervals are dropped; call `calibrate` afterwards.
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
        _check_combinable(forecaster, forecasters[0], number)
    _check_columns(forecasters)
    share = 1 / len(forecasters) if how == "mean" else None
    return build_combined(Forecaster, forecasters, [share] * len(forecasters), alias=alias)


def build_combined(cls, forecasters, weights, *, alias="ensemble", seed=0):
    """Return a `cls` with the weighted mean of forecasters, or the median if weights are None."""
    fitted = [x.fitted for x in forecasters]
    members = [
        Member(x.model, x.config.scaler, None if weight is None else float(weight), x.config.fill)
        for x, weight in zip(fitted, weights, strict=True)
    ]
    model = build_ensemble(members, _quantiles(forecasters[0]))
    columns = {
        kind: next(filter(None, (getattr(x.covariates, kind) for x in fitted)), ())
        for kind in KINDS
    }
    names = {kind: [column.name for column in columns[kind]] for kind in ("past", "future")}
    calendar = any(x.config.calendar for x in fitted)
    length = forecasters[0].prediction_length
    names["bounds"] = forecasters[0].config.bounds
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
    )
    return ensemble


def _quantiles(forecaster):
    """Return the probabilities of a forecaster's quantiles, or None for points."""
    return getattr(heads.of(forecaster.model), "levels", None)


def _latest_times(parts):
    """Return the dict of series -> latest time, a number on the clock, in any of these dicts."""
    latest = {}
    for part in parts:
        for name, end in part.items():
            latest[name] = max(end, latest.get(name, end))
    return latest


def _check_combinable(forecaster, first, number):
    """Raise ValueError for a forecaster that cannot be combined with the first one."""
    if not isinstance(forecaster, Forecaster):
        raise ValueError(f"forecasters[{number}] must be a Forecaster, got {forecaster!r}.")
    fitted = forecaster._trained()
    where = f"forecasters[{number}] ({forecaster.alias})"
    additional_inputs = {tensor.name for tensor in inputs_of(fitted.model)[1:]}
    refused = sorted(
        additional_inputs - {"past_covariates", "future_covariates", "static_covariates"}
    )
    if refused or fitted.clock is None:
        why = f"its model takes {refused}" if refused else "it has published weights"
        raise ValueError(f"{where} cannot be combined: {why}.")
    quantiles, head = _quantiles(forecaster), heads.of(fitted.model)
    if quantiles is None and not isinstance(head, heads.PointHead):
        raise ValueError(
            f"{where} has a {type(head).__name__}: only points or quantiles can be combined."
        )
    settings = {
        "prediction_length": lambda x: x.prediction_length,
        "frequency": lambda x: x.fitted.freq,
        "time stamps": lambda x: x.fitted.clock,
        "channels": lambda x: x.fitted.channels,
        "quantiles": _quantiles,
        "bounds": lambda x: x.config.bounds,
    }
    for name, get in settings.items():
        if get(forecaster) != get(first):
            raise ValueError(
                f"{where} has {name} {get(forecaster)}, the first one has {get(first)}: combine "
                "forecasters with the same settings."
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
