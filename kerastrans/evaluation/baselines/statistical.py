"""Statistical baselines for the rows of a backtest: ETS, Theta and ARIMA of `statsforecast`."""

from collections.abc import Sequence

import numpy as np
from narwhals.typing import IntoDataFrame, IntoDataFrameT

from kerastrans.data.native_frames import takes_any_frame
from kerastrans.data.time.seasons import choose_season, shortest_season
from kerastrans.evaluation.baselines.naive import locate, on_rows, origins_of
from kerastrans.evaluation.columns import interval_columns
from kerastrans.utils.validation import check_choice, check_percents, import_extra

MODELS = {"ets": "AutoETS", "theta": "AutoTheta", "arima": "AutoARIMA"}
LONGEST = {"ets": 24}  # season that a model can have: the library fits a longer one without


@takes_any_frame
def statistical_backtests(
    backtest: IntoDataFrameT,
    history: IntoDataFrame,
    models: Sequence[str] = tuple(MODELS),
    *,
    levels: Sequence[float] = (80, 95),
    season: int | None = None,
    freq: str | None = None,
) -> dict[str, IntoDataFrameT]:
    """Backtest ETS, Theta and ARIMA on the rows of a backtest, refitted at each origin.

    Missing values are interpolated. A series with fewer than 3 known values, or that a model
    cannot be fitted to, has its last value as the forecast; intervals that the model cannot
    compute have no width.

    Args:
        backtest: DataFrame returned by `Forecaster.backtest`. Its "y" extends the history of later
            origins.
        history: Long or wide DataFrame of the series before and between the origins.
        models: Names of the models: "ets", "theta" and "arima", whose orders are chosen by their
            information criteria. With 2,000 values and a season of 24, a fit takes 0.5, 0.5 and 6
            seconds of one core.
        levels: Percents of the intervals.
        season: int, number of steps in the season, 1 for none; None for the main season of the
            frequency, see `kerastrans.data.season_of`, if a series holds it twice before its last
            origin, otherwise 1. ETS has no season of more than 24 steps.
        freq: str, pandas frequency; required if it cannot be inferred from the time stamps.

    Returns:
        Dict of name -> backtest. A name has the season if it is above 1: "ets (7)".

    Raises:
        ImportError: If `statsforecast` is not installed: `pip install ".[baselines]"`.
        ValueError: If a model is unknown, a level is not a percent, the season is below 1 or not
            shorter than the longest series, a column is missing, or a series has no history.

    Source: Hyndman, Khandakar (2008) for ETS and ARIMA, whose likelihood is approximated during the
    search as in their R package, for more than 150 values or a season above 12; Fiorucci et al.
    (2016) for Theta.
    """
    library = check_models(models, "models")
    levels = list(check_percents(levels))
    panel, series, known, ahead = locate(backtest, history, freq)
    longest = int((known + 1 - panel.first[series]).max())
    shortest = shortest_season(panel.clock.freq, longest)
    season = choose_season(season, max(longest, 2), shortest)
    fitted = {x: season if season <= LONGEST.get(x, season) else 1 for x in models}
    suffixes = ["", *(x for level in levels for x in interval_columns("", level))]
    values = {name: np.full((len(suffixes), len(series)), np.nan) for name in models}
    for rows, origin, past in origins_of(panel, series, known):
        steps = ahead[rows] - origin - 1
        is_long = np.isfinite(past).sum() >= 3
        past = _interpolate(past)
        for name, season in fitted.items():
            options = {"approximation": len(past) > 150 or season > 12} if name == "arima" else {}
            model = getattr(library, MODELS[name])(season_length=season, **options)
            found = _forecast(model, past, int(steps.max()) + 1, levels, is_long)
            values[name][:, rows] = found[:, steps]
    names = {name: f"{name} ({season})" if season > 1 else name for name, season in fitted.items()}
    return {
        names[name]: on_rows(backtest, names[name], found[0]).assign(
            **{names[name] + x: row for x, row in zip(suffixes[1:], found[1:], strict=True)}
        )
        for name, found in values.items()
    }


def check_models(models, argument="statistical"):
    """Return the library of statistical models.

    Args:
        models: Names of the models.
        argument: str, name of the argument that gave them.

    Raises:
        ImportError: If `statsforecast` is not installed.
        ValueError: If a model is unknown.
    """
    for name in models:
        check_choice(argument, name, tuple(MODELS))
    return import_extra("statsforecast.models", f"{argument}={models!r}", "baselines")


def _interpolate(values):
    """Return the values from the first known one on, without gaps."""
    rows = np.flatnonzero(np.isfinite(values))
    if not len(rows):
        return values[:0]
    return np.interp(np.arange(rows[0], len(values)), rows, values[rows])


def _forecast(model, past, steps, levels, is_long):
    """Return the forecast and the bounds of its intervals, `(1 + 2 * levels, steps)`."""
    last = np.full((1 + 2 * len(levels), steps), past[-1] if len(past) else np.nan)
    if not is_long:
        return last
    try:
        found = model.forecast(y=past, h=steps, level=levels)
    except Exception:  # the library raises errors of many types for series that it cannot fit
        return last
    bounds = [f"{side}-{level}" for level in levels for side in ("lo", "hi")]
    found = np.stack([found["mean"], *(found[name] for name in bounds)])
    return np.where(np.isnan(found), found[0], found)
