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
    parts = []
    for start in range(0, len(windows), BATCH):
        chosen = slice(start, start + BATCH)
        history = windows.histories(chosen)["history"]
        numbers = windows.panel.numbers(windows.series[chosen], windows.cuts[chosen])
        for channel in range(windows.panel.num_channels):
            names = windows.panel.names[windows.series[chosen], channel]
            found = _explain(explain, history[..., channel])
            parts += [
                _rows(windows.panel.clock, name, number, *(x[i] for x in found))
                for i, (name, number) in enumerate(zip(names, numbers, strict=True))
                if not np.isnan(history[i, :, channel]).all()
            ]
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


def _rows(clock, name, cut, history, mean, lags, places, shares, changes, slopes, offset):
    """Return the rows of one series, ordered by step and part."""
    steps = len(offset)

    def table(part, step, contribution, lag=None, source=None, value=np.nan, share=np.nan):
        columns = {"step": step, "part": part, "lag": lag, "source": source, "value": value}
        return pd.DataFrame({**columns, "share": share, "contribution": contribution})

    step, octave, cycle = np.nonzero(shares)
    share, place = shares[step, octave, cycle], places[step, octave, cycle]
    value = history[place - 1]
    rest = 1 - shares.sum(axis=(1, 2))
    every = np.arange(steps)
    changed, slope = np.nonzero(changes), np.nonzero(slopes)
    rows = pd.concat(
        [
            table(PAST_VALUE, step, share * value, lags[octave], place, value, share),
            table(MEAN, every, rest * mean, value=mean.item(), share=rest),
            table(CHANGES, changed[0], changes[changed], lags[changed[1]]),
            table(SLOPE, slope[0], slopes[slope], np.take(WINDOWS, slope[1])),
            table(OFFSET, every, offset),
        ]
    ).sort_values("step", kind="stable", ignore_index=True)
    step, source = rows.pop("step"), rows["source"]
    rows["lag"] = rows["lag"].astype("Int64")
    known = source.notna()
    times = clock.times(cut - 1 + source.where(known, 0).astype("int64"))
    rows["source"] = pd.Series(times).where(known)
    rows.insert(0, ID, name)
    rows.insert(1, TIME, clock.times(cut + step))
    return rows
