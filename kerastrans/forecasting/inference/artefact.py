"""Everything of a fitted state that an exported file repeats."""

import numpy as np

from kerastrans.data.frames import ID
from kerastrans.export.encodings import Encodings
from kerastrans.export.widths import Widths

GROUP = "group"  # input of a file, of the value of the column that intervals were calibrated by


def export_options(state):
    """Return the arguments of `kerastrans.export.export` for a `FittedState`.

    Raises:
        ValueError: If conformal intervals were calibrated for fewer steps, or in other units.
    """
    config, intervals = state.config, state.intervals
    steps = config.prediction_length
    if intervals is not None and intervals.prediction_length < steps:
        raise ValueError(
            f"calibrated for {intervals.prediction_length} steps, a file forecasts {steps}: call "
            "calibrate for all of them."
        )
    if intervals is not None and intervals.scales is None and config.scaler.kind != "standard":
        raise ValueError("version 0.3 calibrated in other units: call calibrate again.")
    widths = None if intervals is None else _widths_of(intervals.first_steps(steps))
    return {
        "scaler": config.scaler,
        "fill": config.fill,
        "bounds": config.bounds,
        "short": config.short,
        "prediction_length": config.prediction_length,
        "num_samples": config.num_samples,
        "seed": config.seed,
        "encodings": Encodings(
            state.clock, bool(config.calendar), state.covariates, widths, config.mixes_channels
        ),
    }


def _widths_of(intervals):
    """Return the `Widths` of `ConformalIntervals`."""
    members = [intervals, *intervals.groups.values()]
    offsets = {level: np.stack([x.offsets[level] for x in members]) for level in intervals.offsets}
    by = intervals.by if intervals.by in (None, ID) else GROUP
    widths = Widths(offsets, by, tuple(intervals.groups))
    if intervals.sizes is None:
        return widths
    sizes = list(intervals.sizes.values())
    sizes = np.stack([np.mean(sizes, axis=0), *sizes])
    return Widths(offsets, by, tuple(intervals.groups), sizes, tuple(intervals.sizes))
