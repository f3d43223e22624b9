"""The past values, lags and corrections that each forecast of kerastrans-zero is the sum of."""

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.data.pivot import pivot_windows
from kerastrans.decoding.graph import inputs_of
from kerastrans.models.pretrained.zero.explanation import (
    WINDOWS,
    explain_windows,
    network_of,
    phases_of,
)
from kerastrans.utils.batch_sizes import BATCH

PAST_VALUE, MEAN = "past value", "mean"  # the parts that have shares
CHANGES, SLOPE, OFFSET = "recent changes", "slope", "offset"
COVARIATE = "covariate"  # followed by its name


def check_explains(state, alias):
    """Raise ValueError if the forecasts of a model are not sums of known parts."""
    if network_of(state.model) is None:
        other = " A tft has variable_importances." if state.config.architecture == "tft" else ""
        raise ValueError(
            f"explain reads the shares of past values in kerastrans_zero; {alias!r} is another "
            f"model, whose forecasts are not sums of such shares.{other}"
        )
    if phases_of(state.model) is not None:
        raise ValueError(
            f"{alias!r} has the option 'season': explain reads the shares of one window, and these "
            "forecasts are means with those of each phase. Leave out the option."
        )


def explanation_frame(state, windows):
    """Return the parts of the forecasts of windows as a frame, see `Forecaster.explain`."""
    explain, names = explain_windows(state.model), [x.name for x in inputs_of(state.model)[1:]]
    columns = [x.name for x in (*state.covariates.past, *state.covariates.future)]
    panel, parts = windows.panel, []
    for start in range(0, len(windows), BATCH):
        inputs = windows.histories(slice(start, start + BATCH))
        history, known = inputs["history"], [inputs[name] for name in names]
        series, cuts = (x[start : start + BATCH] for x in (windows.series, windows.cuts))
        for channel in range(panel.num_channels):
            found = _explain(explain, history[..., channel], known)
            rows = _rows(panel.clock, panel.numbers(series, cuts), columns, *found)
            ids = panel.names[series, channel]
            is_known = ~np.isnan(history[..., channel]).all(axis=1)
            rows.insert(0, ID, ids[rows["window"]])
            parts.append(rows[is_known[rows.pop("window")]])
    return pd.concat(parts, ignore_index=True)


def _explain(explain, history, known):
    """Return the parts of the forecasts of histories `(batch, time)`, in units of the series.

    The first two are the history without the effects of covariates, and these effects.

    Args:
        explain: Function that `explain_windows` returned.
        history: NumPy array, NaN where missing.
        known: List of arrays of covariates.
    """
    with np.errstate(over="ignore"):
        relative, pivot, unit = pivot_windows(history[..., None], "affine")
    found = explain(relative[..., 0].astype("float32"), *known)
    effects = np.zeros((*found[-1].shape, 0))
    if known:
        rest, effects, *found = found
        history = pivot[:, 0] + unit[:, 0] * np.asarray(rest, "float64")
        effects = np.asarray(effects, "float64") * unit
    mean, lags, places, *others = (np.asarray(x) for x in found)
    shares, changes, slopes, offset = (x.astype("float64") for x in others)
    pivot, unit = pivot[:, 0], unit[:, 0]
    corrections = changes * unit[..., None], slopes * unit[..., None], offset * unit
    return history, effects, pivot + unit * mean, lags, places, shares, *corrections


def _rows(
    clock, cuts, columns, history, effects, mean, lags, places, shares, changes, slopes, offset
):
    """Return the rows of some windows, ordered by window, step and part."""
    window, step = (x.ravel() for x in np.indices(offset.shape))

    def table(part, window, step, contribution, lag=None, place=None, value=np.nan, share=np.nan):
        columns = {"window": window, "step": step, "part": part, "lag": lag, "place": place}
        numbers = {"value": value, "share": share, "contribution": contribution}
        return pd.DataFrame({**columns, **numbers})

    chosen = np.nonzero(shares)
    share, place = shares[chosen], places[chosen]
    value = history[chosen[0], place - 1]
    past = table(PAST_VALUE, *chosen[:2], share * value, lags[chosen[0], chosen[2]], place)
    past = past.assign(value=value, share=share)
    rest = (1 - shares.sum(axis=(2, 3))).ravel()
    means = mean[window, 0]
    changed, slope = np.nonzero(changes), np.nonzero(slopes)
    lag_of_change = lags[changed[0], changed[2]]
    rows = [
        past,
        table(MEAN, window, step, rest * means, value=means, share=rest),
        table(CHANGES, *changed[:2], changes[changed], lag_of_change),
        table(SLOPE, *slope[:2], slopes[slope], np.take(WINDOWS, slope[2])),
        table(OFFSET, window, step, offset.ravel()),
        *(
            table(f"{COVARIATE} {name}", window, step, effects[..., i].ravel())
            for i, name in enumerate(columns)
        ),
    ]
    rows = pd.concat(rows).sort_values(["window", "step"], kind="stable", ignore_index=True)
    cut, place = cuts[rows["window"]], rows.pop("place")
    rows.insert(1, TIME, clock.times(cut + rows.pop("step")))
    rows["lag"] = rows["lag"].astype("Int64")
    known = place.notna()
    times = clock.times(cut - 1 + place.where(known, 0).astype("int64"))
    rows.insert(4, "source", pd.Series(times).where(known))
    return rows
