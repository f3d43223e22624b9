"""Several trained forecasters as one, of one functional Keras model."""

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
    """One forecaster of several that are trained: the median or the mean of their forecasts.

    It is an ordinary `Forecaster` of one Keras model that scales and forecasts as each of its
    members does: it saves, exports and serves as one file. N-BEATS is such an ensemble, of
    contexts, losses and seeds. Members keep their weights; a further `fit` trains all of them
    together.

    Args:
        forecasters: list of trained `Forecaster`, all of points or all of the same quantiles, on
            series of the same columns and frequency. Their contexts, scalers, losses and
            architectures may differ. Their conformal intervals are not kept: call `calibrate`.
        how: "median" or "mean", of points or of each quantile.
        alias: name of the forecast's columns.

    Returns:
        A `Forecaster`.

    Raises:
        RuntimeError: A forecaster that is not trained.
        ValueError: No list of forecasters, or an empty one.
        ValueError: Forecasters that do not go together; what differs is named.

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
        raise ValueError(f"forecasters must be a list of trained ones, got {forecasters!r}.")
    for number, forecaster in enumerate(forecasters):
        _check(forecaster, forecasters[0], number)
    _check_columns(forecasters)
    share = 1 / len(forecasters) if how == "mean" else None
    return combined(Forecaster, forecasters, [share] * len(forecasters), alias=alias)


def combined(cls, forecasters, weights, *, alias="ensemble", seed=0):
    """A `cls` of the mean of some forecasters, or of the median where the weights are None."""
    members = [
        Member(x.model, x.config.scaler, None if weight is None else float(weight), x.config.fill)
        for x, weight in zip((x.fitted for x in forecasters), weights, strict=True)
    ]
    model = build_ensemble(members, _levels(forecasters[0]))
    fitted = [x.fitted for x in forecasters]
    columns = {
        kind: next(filter(None, (getattr(x.covariates, kind) for x in fitted)), ())
        for kind in KINDS
    }
    names = {kind: [column.name for column in columns[kind]] for kind in ("past", "future")}
    calendar = any(x.config.calendar for x in fitted)
    length = forecasters[0].prediction_length
    names["bounds"] = forecasters[0].config.bounds
    made = cls(model, None, length, scaler=None, calendar=calendar, seed=seed, alias=alias, **names)
    made.fitted = FittedState(
        made.config,
        model,
        fitted[0].clock,
        Covariates(**columns),
        fitted[0].channels,
        _latest(x.trained for x in fitted),
        chosen_by=_latest(x.chosen_by for x in fitted),
    )
    return made


def _levels(forecaster):
    """The levels of a forecaster's quantiles; None for points."""
    return getattr(heads.of(forecaster.model), "levels", None)


def _latest(parts):
    """Of dicts from series to the clock's numbers one, of the greatest numbers."""
    latest = {}
    for part in parts:
        for name, end in part.items():
            latest[name] = max(end, latest.get(name, end))
    return latest


def _check(forecaster, first, number):
    """Refuse a forecaster that cannot be part of a model, or forecasts otherwise than the first."""
    if not isinstance(forecaster, Forecaster):
        raise ValueError(f"forecasters[{number}] must be a Forecaster, got {forecaster!r}.")
    fitted = forecaster._trained()
    where = f"forecasters[{number}] ({forecaster.alias})"
    further = {tensor.name for tensor in inputs_of(fitted.model)[1:]}
    unknown = sorted(further - {"past_covariates", "future_covariates", "static_covariates"})
    if unknown or fitted.clock is None:
        why = f"its model takes {unknown}" if unknown else "its weights are published ones"
        raise ValueError(f"{where} cannot be combined: {why}.")
    levels, head = _levels(forecaster), heads.of(fitted.model)
    if levels is None and not isinstance(head, heads.PointHead):
        raise ValueError(
            f"{where} has a {type(head).__name__}: what is combined are points or quantiles."
        )
    facts = {
        "prediction_length": lambda x: x.prediction_length,
        "frequency": lambda x: x.fitted.freq,
        "time stamps": lambda x: x.fitted.clock,
        "channels": lambda x: x.fitted.channels,
        "quantile levels": _levels,
        "bounds": lambda x: x.config.bounds,
    }
    for name, fact in facts.items():
        if fact(forecaster) != fact(first):
            raise ValueError(
                f"{where} has {name} {fact(forecaster)}, the first one has {fact(first)}: combine "
                "forecasters that were trained alike."
            )


def _check_columns(forecasters):
    """Refuse covariates that one input could not hold for all that take them."""
    for kind in KINDS:
        name = f"{kind}_covariates"
        having = [x for x in forecasters if name in {tensor.name for tensor in x.model.inputs}]
        columns = [getattr(x.fitted.covariates, kind) for x in having]
        if any(other != columns[0] for other in columns):
            raise ValueError(
                f"the forecasters that take {kind} covariates must take the same ones, from the "
                "same training data."
            )
