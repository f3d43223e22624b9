"""The past values, lags and corrections that each forecast of kerastrans-zero is the sum of."""

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TIME
from kerastrans.data.pivot import pivot_windows
from kerastrans.models.pretrained.zero.explanation import WINDOWS, explain_windows, network_of
from kerastrans.utils.batch_sizes import BATCH

PAST_VALUE, MEAN = "past value", "mean"  # the parts that have shares
CHANGES, SLOPE, OFFSET = "recent changes", "slope", "offset"


def check_explains(state, alias):
    """Raise ValueError if the forecasts of a model are not sums of known parts."""
    if network_of(state.model) is None:
        other = " A tft has variable_importances." if state.config.architecture == "tft" else ""
        raise ValueError(
            f"explain reads the shares of past values in kerastrans_zero; {alias!r} is another "
            f"model, whose forecasts are not sums of such shares.{other}"
        )


def explanation_frame(state, windows):
    """Return the parts of the forecasts of windows as a frame, see `Forecaster.explain`."""
    sizes = windows.context_length, windows.prediction_length
    explain = explain_windows(network_of(state.model), *sizes)
    panel, parts = windows.panel, []
    for start in range(0, len(windows), BATCH):
        history = windows.histories(slice(start, start + BATCH))["history"]
        series, cuts = (x[start : start + BATCH] for x in (windows.series, windows.cuts))
        for channel in range(panel.num_channels):
            found = _explain(explain, history[..., channel])
            rows = _rows(panel.clock, panel.numbers(series, cuts), *found)
            names = panel.names[series, channel]
            is_known = ~np.isnan(history[..., channel]).all(axis=1)
            rows.insert(0, ID, names[rows["window"]])
            parts.append(rows[is_known[rows.pop("window")]])
    return pd.concat(parts, ignore_index=True)


def _explain(explain, history):
    """Return the history `(batch, time)` and its parts, float64 in the units of the series."""
    with np.errstate(over="ignore"):
        relative, pivot, unit = pivot_windows(history[..., None], "affine")
    found = explain(relative[..., 0].astype("float32"))
    mean, lags, places, *others = (np.asarray(x) for x in found)
    shares, changes, slopes, offset = (x.astype("float64") for x in others)
    pivot, unit = pivot[:, 0], unit[:, 0]
    corrections = changes * unit[..., None], slopes * unit[..., None], offset * unit
    return history, pivot + unit * mean, lags, places, shares, *corrections


def _rows(clock, cuts, history, mean, lags, places, shares, changes, slopes, offset):
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
    ]
    rows = pd.concat(rows).sort_values(["window", "step"], kind="stable", ignore_index=True)
    cut, place = cuts[rows["window"]], rows.pop("place")
    rows.insert(1, TIME, clock.times(cut + rows.pop("step")))
    rows["lag"] = rows["lag"].astype("Int64")
    known = place.notna()
    times = clock.times(cut - 1 + place.where(known, 0).astype("int64"))
    rows.insert(4, "source", pd.Series(times).where(known))
    return rows
