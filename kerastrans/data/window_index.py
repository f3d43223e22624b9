"""Where windows are cut: each cut is the row of a window's first target."""

import numpy as np


def training_cuts(
    panel, context_length, prediction_length, stride=1, held_out=0, pad=True, limit=None
):
    """Cuts of the windows that train, and of those that validate.

    Windows without a known value before the cut, or from it on, are left out.

    Args:
        panel: `Panel`.
        context_length: int, steps of history in a window.
        prediction_length: int, steps to forecast after them.
        stride: int, steps from one window to the next.
        pad: bool, whether windows whose context begins before their series are taken too, so that
            a model learns what it can say of a short history; otherwise full ones alone.
        held_out: int, or ints `(series,)`, last steps of each series whose targets validate; 0 for
            none.
        limit: int, of the steps of each series that train the last, from which the forecasts begin
            that train, up to the very last step: what comes after it is not known. None for all
            windows whose targets are among the steps that train.

    Returns:
        `((series, cuts), (series, cuts))`, ints `(windows,)`.

    Source: Oreshkin et al. (2020), N-BEATS, for the limit, which is their history size.

    Raises:
        ValueError: a window's targets do not fit into the steps that are held out.
    """
    if np.isscalar(held_out) and 0 < held_out < prediction_length:
        raise ValueError(
            f"validation_size must be 0, or at least prediction_length={prediction_length} to hold "
            f"the targets of a window, got {held_out}."
        )
    known = panel.num_known
    split = panel.cuts - held_out

    def cuts(begins, ends, targets=prediction_length):
        lowest = np.maximum(begins, panel.begins + (1 if pad else context_length))
        counts = np.maximum(0, -(-(ends - targets + 1 - lowest) // stride))
        series = np.repeat(np.arange(len(panel)), counts)
        place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        first = lowest[series] + stride * place
        has_context = known[first] > known[np.maximum(first - context_length, panel.begins[series])]
        has_targets = known[np.minimum(first + prediction_length, ends[series])] > known[first]
        chosen = has_context & has_targets
        return series[chosen], first[chosen]

    training = cuts(panel.begins, split) if limit is None else cuts(split - limit, split, targets=1)
    return training, cuts(split, panel.cuts if np.any(held_out) else split)
