"""The past values, lags and corrections that each forecast of kerastrans-zero is the sum of."""

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.data.pivot import pivot_windows
from kerastrans.decoding.graph import inputs_of
from kerastrans.forecasting.inference.windows import SeriesEnds
from kerastrans.models.pretrained.zero.explanation import (
    WINDOWS,
    explain_windows,
    move_of,
    network_of,
    phases_of,
)
from kerastrans.utils.batch_sizes import BATCH

PAST_VALUE, MEAN = "past value", "mean"  # the parts that have shares
CHANGES, SLOPE, OFFSET = "recent changes", "slope", "offset"
COVARIATE = "covariate"  # followed by its name
# The arrays of `explain_windows` for one forecast.
PARTS = ("mean", "lags", "places", "shares", "changes", "slopes", "offset")


def check_explains(state, alias):
    """Raise ValueError if the forecasts of a model are not sums of known parts."""
    if network_of(state.model) is None:
        other = " A tft has variable_importances." if state.config.architecture == "tft" else ""
        raise ValueError(
            f"explain reads the shares of past values in kerastrans_zero; {alias!r} is another "
            f"model, whose forecasts are not sums of such shares.{other}"
        )


def explanation_frame(state, windows):
    """Return the parts of the forecasts of windows as a frame, see `Forecaster.explain`.

    After a series that ends with missing values, they are those within the horizon of the model.
    """
    ends = SeriesEnds.of(state.config, windows)
    windows = ends.moved
    explain, names = explain_windows(state.model), [x.name for x in inputs_of(state.model)[1:]]
    phases = phases_of(state.model)
    season = 1 if phases is None else phases.season
    move_name = getattr(move_of(state.model), "part", None)
    columns = [x.name for x in (*state.covariates.past, *state.covariates.future)]
    panel, parts = windows.panel, []
    for start in range(0, len(windows), BATCH):
        inputs = windows.histories(slice(start, start + BATCH))
        history, known = inputs["history"], [inputs[name] for name in names]
        series, cuts = (x[start : start + BATCH] for x in (windows.series, windows.cuts))
        for channel in range(panel.num_channels):
            found = _explain(explain, history[..., channel], known, move_name is not None)
            numbers = panel.numbers(series, cuts)
            rows = _rows(panel.clock, numbers, columns, season, move_name, *found)
            ids = panel.names[series, channel]
            is_known = ~np.isnan(history[..., channel]).all(axis=1)
            is_known &= np.isin(np.arange(start, start + len(cuts)), ends.places[:, channel])
            rows.insert(0, ID, ids[rows["window"]])
            window = rows.pop("window")
            first = panel.clock.times(numbers + ends.gaps[start : start + BATCH])
            parts.append(rows[is_known[window] & (rows[TIME] >= first.take(window))])
    return pd.concat(parts, ignore_index=True)


def _explain(explain, history, known, has_move):
    """Return the parts of the forecasts of histories `(batch, time)`, in units of the series.

    Args:
        explain: Function that `explain_windows` returned.
        history: NumPy array, NaN where missing.
        known: List of arrays of covariates.
        has_move: bool, whether the last array is how far the forecast is moved.

    Returns:
        The history without the effects of covariates; these effects; how far the forecast is moved,
        `(batch, prediction_length)`, or None; and for each forecast of a sum, that of the window
        and perhaps that of each phase, its weight `(batch, prediction_length)` and its seven
        arrays.
    """
    with np.errstate(over="ignore"):
        relative, pivot, unit = pivot_windows(history[..., None], "affine")
    found = explain(relative[..., 0].astype("float32"), *known)
    pivot, unit = pivot[:, 0], unit[:, 0]
    effects = np.zeros((*found[0].shape, 0))
    if known:
        rest, effects, *found = found
        history = pivot + unit * np.asarray(rest, "float64")
        effects = np.asarray(effects, "float64") * unit[..., None]
    weights = [np.ones_like(found[0])]
    move = unit * np.asarray(found.pop(), "float64") if has_move else None
    if len(found) > len(PARTS):
        weight = np.asarray(found.pop(len(PARTS)), "float64")
        weights = [1 - weight, weight]
    forecasts = []
    for number, weight in enumerate(weights):
        arrays = found[len(PARTS) * number :][: len(PARTS)]
        parts = dict(zip(PARTS, (np.asarray(x, "float64") for x in arrays), strict=True))
        for name in ("changes", "slopes"):
            parts[name] = parts[name] * unit[..., None]
        parts["offset"] = parts["offset"] * unit
        parts["mean"] = pivot + unit * parts["mean"]
        forecasts.append((weight, parts))
    return history, effects, move, forecasts


def _rows(clock, cuts, columns, season, move_name, history, effects, move, forecasts):
    """Return the rows of some windows, ordered by window, step and part."""
    window, step = (x.ravel() for x in np.indices(effects.shape[:2]))
    effect_names = [f"{COVARIATE} {name}" for name in columns]
    rows = []
    for number, (weight, parts) in enumerate(forecasts):
        rows += _rows_of_forecast(history, weight, season if number else 1, parts)
    rows += [
        _table(name, window, step, effects[..., i].ravel()) for i, name in enumerate(effect_names)
    ]
    if move_name is not None:
        moved = np.nonzero(move)
        rows.append(_table(move_name, *moved, move[moved]))
    rows = pd.concat(rows)
    if len(forecasts) > 1:
        rows = _added(rows)
    order = [PAST_VALUE, MEAN, CHANGES, SLOPE, OFFSET, move_name, *effect_names]
    places = rows["part"].map({part: i for i, part in enumerate(order)})
    rows = rows.iloc[np.lexsort([places, rows["step"], rows["window"]])].reset_index(drop=True)
    cut, place = cuts[rows["window"]], rows.pop("place")
    rows.insert(1, TIME, clock.times(cut + rows.pop("step")))
    rows["lag"] = rows["lag"].astype("Int64")
    known = place.notna()
    times = clock.times(cut - 1 + place.where(known, 0).astype("int64"))
    rows.insert(4, "source", pd.Series(times).where(known))
    return rows


def _added(rows):
    """Return the rows of two forecasts, one for each value or lag that is a part of both."""
    keys = ["window", "step", "part", "lag", "place"]
    groups = rows.groupby(keys, dropna=False, sort=False)
    numbers = {
        "value": groups["value"].first(),
        "share": groups["share"].sum(min_count=1),
        "contribution": groups["contribution"].sum(),
    }
    rows = pd.DataFrame(numbers).reset_index()
    is_past, is_mean = rows["part"] == PAST_VALUE, (rows["part"] == MEAN) & (rows["share"] != 0)
    rows.loc[is_past, "contribution"] = rows["share"] * rows["value"]
    rows.loc[is_mean, "value"] = rows["contribution"] / rows["share"]
    return rows


def _rows_of_forecast(history, weight, season, parts):
    """Return the tables of a forecast that is a sum, multiplied by its weight.

    Args:
        history: `(batch, time)`.
        weight: `(batch, prediction_length)`.
        season: int, number of steps between two values of the series that was forecast.
        parts: Dict of the arrays of `explain_windows`, in units of the history.
    """
    lags, places, shares = (parts[name] for name in ("lags", "places", "shares"))
    rest = weight * (1 - shares.sum(axis=(2, 3)))
    shares = weight[..., None, None] * shares
    changes, slopes = (weight[..., None] * parts[name] for name in ("changes", "slopes"))
    chosen = np.nonzero(shares)
    share, place, lag = shares[chosen], places[chosen], lags[chosen[:3]]
    value = history[chosen[0], place.astype(int) - 1]
    past = _table(PAST_VALUE, *chosen[:2], share * value, lag, place, value, share)
    window, step = (x.ravel() for x in np.indices(weight.shape))
    means, rest, offset = parts["mean"].ravel(), rest.ravel(), (weight * parts["offset"]).ravel()
    changed, slope = np.nonzero(changes), np.nonzero(slopes)
    return [
        past,
        _table(MEAN, window, step, rest * means, value=means, share=rest),
        _table(CHANGES, *changed[:2], changes[changed], lags[changed]),
        _table(SLOPE, *slope[:2], slopes[slope], season * np.take(WINDOWS, slope[2])),
        _table(OFFSET, window, step, offset),
    ]


def _table(part, window, step, contribution, lag=None, place=None, value=np.nan, share=np.nan):
    """Return the rows of one part as a frame."""
    columns = {"window": window, "step": step, "part": part, "lag": lag, "place": place}
    numbers = {"value": value, "share": share, "contribution": contribution}
    return pd.DataFrame({**columns, **numbers})
