"""The cuts of windows: the cut of a window is the row of its first target."""

import numpy as np


def training_cuts(
    panel, context_length, prediction_length, stride=1, held_out=0, pad=True, limit=None
):
    """Return the cuts of the training windows and of the validation windows.

    Windows without a known value before the cut, or without a known target, are left out.

    Args:
        panel: `Panel`.
        context_length: int, number of steps of history in a window.
        prediction_length: int, number of steps to forecast.
        stride: int, number of steps between two windows.
        pad: bool, whether to include windows whose context begins before their series, so that a
            model learns to forecast from a short history; otherwise only full windows are used.
        held_out: int, or ints `(series,)`, number of last steps of each series that are validation
            targets; 0 for no validation.
        limit: int, number of last training steps of each series that the forecasts of training
            windows begin in, up to the very last step; targets beyond it are unknown. None for all
            windows whose targets are training steps.

    Returns:
        `((series, cuts), (series, cuts))`, ints `(windows,)`.

    Source: Oreshkin et al. (2020), N-BEATS, for the limit, which is their history size.

    Raises:
        ValueError: If a window's targets do not fit into the steps that are held out.
    """
    if np.isscalar(held_out) and 0 < held_out < prediction_length:
        raise ValueError(
            f"validation_size must be 0, or at least prediction_length={prediction_length} to hold "
            f"the targets of a window, got {held_out}."
        )
    known = panel.num_known
    split = panel.cuts - held_out

    def cuts(begins, ends, targets=prediction_length):
        """Return the cuts of all windows with `targets` targets from `begins` to `ends`."""
        # First cut of each series, and its number of windows.
        lowest = np.maximum(begins, panel.begins + (1 if pad else context_length))
        counts = np.maximum(0, -(-(ends - targets + 1 - lowest) // stride))
        # Series of each window, its place among those of the series, and its cut.
        series = np.repeat(np.arange(len(panel)), counts)
        place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        first = lowest[series] + stride * place
        # `known` counts known rows: a difference is the number of known values in a range.
        has_context = known[first] > known[np.maximum(first - context_length, panel.begins[series])]
        has_targets = known[np.minimum(first + prediction_length, ends[series])] > known[first]
        chosen = has_context & has_targets
        return series[chosen], first[chosen]

    training = cuts(panel.begins, split) if limit is None else cuts(split - limit, split, targets=1)
    return training, cuts(split, panel.cuts if np.any(held_out) else split)
