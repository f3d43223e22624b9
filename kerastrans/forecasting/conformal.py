"""Intervals that cover what they promise: forecasts widened by errors on data not trained on.

An interval has a base, the quantiles of the model or, of a point forecast, the point twice. Its
score is how far the truth lay outside, in units of the window's scale; negative within. The
conformal interval is the base widened by a quantile of the scores, for each step and channel.
"""

import numpy as np

from kerastrans.utils.validation import check_choice, check_non_negative

METHODS = ("split", "adaptive")


def conformity_scores(targets, low, high, scale):
    """How far targets lie outside `[low, high]`, in units of `scale`; NaN where none is known.

    All are `(windows, prediction_length, num_channels)`, or broadcast.

    Source: Romano et al. (2019), equation 6.
    """
    return np.maximum(low - targets, targets - high) / scale


def split_offsets(scores, level):
    """The width to add, `(prediction_length, num_channels)`, from calibration scores.

    Args:
        scores: `(windows, prediction_length, num_channels)`.
        level: percent that the interval is to cover.

    Raises:
        ValueError: too few windows for this level.

    Source: Lei et al. (2018), algorithm 2; Romano et al. (2019), equation 8.
    """
    counts = np.isfinite(scores).sum(axis=0)
    ranks = np.ceil((counts + 1) * level / 100).astype(int)  # the rank-th smallest score
    if (ranks > counts).any():
        needed = int(np.ceil(level / (100 - level)))
        raise ValueError(
            f"an interval of {level} % needs at least {needed} calibration windows at every step, "
            f"got {counts.min()}."
        )
    ordered = np.sort(np.where(np.isfinite(scores), scores, np.inf), axis=0)
    return np.take_along_axis(ordered, ranks[None] - 1, axis=0)[0]


def adaptive_offsets(scores, times, level, start, step_size):
    """The width to add to each window in turn, learnt from those whose truth is known by then.

    After every known outcome the width grows by `step_size * level` if the truth lay outside, and
    shrinks by `step_size * (1 - level)` if inside; so the share outside tends to what is asked
    for, however the series drifts.

    Args:
        scores: `(windows, prediction_length, num_channels)`.
        times: `(windows,)`, increasing, number of each window's first target step; the outcome of
            step h is known h + 1 steps later.
        level: percent that the interval is to cover.
        start: `(prediction_length, num_channels)`, the width at first, see `split_offsets`.
        step_size: the same shape, how fast it learns, in units of the scores.

    Returns:
        Offsets as `scores`, for each window made without its own outcome, and those behind the
        last window, as `start`.

    Source: Angelopoulos, Candès, Tibshirani (2023), equation 4 (quantile tracking).
    """
    alpha = 1 - level / 100
    steps = np.arange(scores.shape[1])
    width, offsets = start.copy(), np.empty_like(scores)
    learnt = np.zeros(len(steps), int)  # of each step, how many windows it has learnt from

    def learn(now, last):
        while True:
            ready = learnt < last
            ready[ready] = times[learnt[ready]] + steps[ready] < now
            if not ready.any():
                return
            score, used = (x[learnt[ready], steps[ready]] for x in (scores, offsets))
            change = step_size[ready] * ((score > used) - alpha)  # by the width it was given
            width[ready] += np.where(np.isfinite(score), change, 0.0)
            learnt[ready] += 1

    for i in range(len(scores)):
        learn(times[i], i)
        offsets[i] = width
    learn(np.inf, len(scores))
    return offsets, width


class ConformalIntervals:
    """Widths of the intervals of one model, per level, step and channel.

    Make them with `ConformalIntervals.fit(scores, ...)`, or by `Forecaster.calibrate`.

    Attributes:
        method: "split", one width from the calibration windows, or "adaptive", which goes on
            learning from windows that come later.
        offsets: dict of level in percent -> `(prediction_length, num_channels)`, in units of a
            window's scale.
        step_size: the same, how fast "adaptive" learns.
    """

    def __init__(self, method, offsets, step_size):
        check_choice("method", method, METHODS)
        self.method = method
        self.offsets = offsets
        self.step_size = step_size

    @classmethod
    def fit(cls, scores, times, method="split", rate=None):
        """From calibration scores `{level: (windows, prediction_length, num_channels)}`.

        Args:
            scores: of windows that the model was not trained on, in the order of time.
            times: `(windows,)`, see `adaptive_offsets`.
            method: "split" or "adaptive".
            rate: float, step size of "adaptive", as a share of the 90 % quantile of the scores'
                sizes; by default `2 / sqrt(windows)`. The root is that of the theory; of 0.5, 1, 2
                and 4 over it, 2 gave the smallest mean error of coverage, of 80 and 95 %, on the
                validation parts of the benchmarks' series.

        Raises:
            ValueError: too few windows for a level, an unknown method.
        """
        check_choice("method", method, METHODS)
        rate = 2 / len(times) ** 0.5 if rate is None else rate
        check_non_negative(rate=rate)
        offsets = {level: split_offsets(score, level) for level, score in scores.items()}
        step_size = {
            level: rate * np.nanquantile(np.abs(score), 0.9, axis=0)
            for level, score in scores.items()
        }
        fitted = cls(method, offsets, step_size)
        return fitted.follow(scores, times)[1] if method == "adaptive" else fitted

    def follow(self, scores, times):
        """Widths for windows whose outcomes become known one after the other.

        Returns:
            `({level: offsets as the scores}, the intervals behind the last window)`.
        """
        if self.method == "split":
            widths = {k: np.broadcast_to(self.offsets[k], v.shape) for k, v in scores.items()}
            return widths, self
        widths, ends = {}, {}
        for level, score in scores.items():
            widths[level], ends[level] = adaptive_offsets(
                score, times, level, self.offsets[level], self.step_size[level]
            )
        return widths, ConformalIntervals(self.method, ends, self.step_size)

    def to_dict(self):
        """JSON-ready; `from_dict` reads it."""

        def as_lists(arrays):
            return {str(level): array.tolist() for level, array in arrays.items()}

        return {
            "method": self.method,
            "offsets": as_lists(self.offsets),
            "step_size": as_lists(self.step_size),
        }

    @classmethod
    def from_dict(cls, config):
        def as_arrays(lists):
            return {_number(level): np.asarray(values) for level, values in lists.items()}

        return cls(config["method"], as_arrays(config["offsets"]), as_arrays(config["step_size"]))


def _number(text):
    return float(text) if "." in text else int(text)
