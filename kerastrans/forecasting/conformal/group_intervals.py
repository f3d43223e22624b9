"""Conformal intervals of one group of series."""

from dataclasses import asdict, dataclass, replace

import numpy as np

from kerastrans.forecasting.conformal.offsets import (
    adaptive_offsets,
    are_skewed,
    count_effective,
    split_offsets,
    windows_needed,
)
from kerastrans.utils.validation import check_choice, check_non_negative

METHODS = ("split", "adaptive")


@dataclass(frozen=True)
class GroupIntervals:
    """Offsets of the intervals of one group of series, per level, step, channel and bound.

    Attributes:
        method: "split", for fixed offsets from the calibration windows, or "adaptive", for offsets
            that are updated with the outcomes of later windows.
        offsets: Dict of level in percent -> `(prediction_length, num_channels, 2)`, distances by
            which the lower and the upper bound are moved outwards, in units of the scale of a
            window.
        step_size: Dict of the same structure, step sizes of "adaptive", see `adaptive_offsets`.
        symmetric: Dict of level -> bool, whether both bounds have the same offset.
        effective_origins: int, number of non-overlapping calibration origins, see
            `count_effective`; None in files of earlier versions.

    Raises:
        ValueError: If the method is unknown.
    """

    method: str
    offsets: dict
    step_size: dict
    symmetric: dict
    effective_origins: int | None = None

    def __post_init__(self):
        check_choice("method", self.method, METHODS)

    @property
    def prediction_length(self):
        """Number of steps that were calibrated."""
        return len(next(iter(self.offsets.values())))

    def first_steps(self, prediction_length):
        """Return the intervals of the first steps; later ones have those of the last step."""
        steps = np.minimum(np.arange(prediction_length), self.prediction_length - 1)
        cut = {
            name: {level: x[steps] for level, x in getattr(self, name).items()}
            for name in ("offsets", "step_size")
        }
        return replace(self, **cut)

    @classmethod
    def fit(cls, scores, times, method="split", rate=None, *, symmetric=None):
        """Return the intervals of calibration scores, see `ConformalIntervals.fit`."""
        rate = 2 / len(np.unique(times)) ** 0.5 if rate is None else rate
        check_non_negative(rate=rate)
        # The levels differ in their base only, so that the same windows are known for all of them.
        any_scores = next(iter(scores.values()))
        is_known = np.isfinite(any_scores).any(axis=(1, 2, 3))
        num_origins = count_effective(times[is_known], any_scores.shape[1])
        is_symmetric = {
            level: _is_symmetric(x, level, symmetric, times, num_origins)
            for level, x in scores.items()
        }
        fitted = cls(method, {}, {}, is_symmetric, num_origins)
        offsets, step_size = {}, {}
        for level, score in scores.items():
            score = fitted._scores_of_bounds(level, score)
            offsets[level] = split_offsets(score, fitted._percent(level))
            step_size[level] = rate * np.nanquantile(np.abs(score), 0.9, axis=0)
        fitted = replace(fitted, offsets=offsets, step_size=step_size)
        # "adaptive" goes through the calibration windows too, and keeps the last offsets.
        return fitted.follow(scores, times)[1]

    def _scores_of_bounds(self, level, scores):
        """Return the scores to compute the offset of each bound from: its own, or the larger."""
        if not self.symmetric[level]:
            return scores
        return np.broadcast_to(scores.max(axis=-1, keepdims=True), scores.shape)

    def _percent(self, level):
        """Return the percentage of the scores of a bound that must not exceed its offset."""
        return level if self.symmetric[level] else 50 + level / 2

    def follow(self, scores, times):
        """Return the offsets of later windows, each updated with the outcomes known by then.

        Args:
            scores: Scores of later windows, see `ConformalIntervals.fit`.
            times: See `ConformalIntervals.fit`.

        Returns:
            Dict of level -> offsets with the shape of the scores, and the intervals after the last
            window.
        """
        offsets, last_offsets = {}, dict(self.offsets)
        for level, score in scores.items():
            if self.method == "split":
                offsets[level] = np.broadcast_to(self.offsets[level], score.shape)
                continue
            offsets[level], last_offsets[level] = adaptive_offsets(
                self._scores_of_bounds(level, score),
                times,
                self._percent(level),
                self.offsets[level],
                self.step_size[level],
            )
        return offsets, replace(self, offsets=last_offsets)

    def to_dict(self):
        """Return the intervals as a JSON-serializable dict, which `from_dict` reads."""
        return _as_json(asdict(self))

    @classmethod
    def from_dict(cls, config):
        """Return the intervals of a dict that `to_dict` returned."""
        offsets, step_size = (
            {_read_level(level): np.asarray(values) for level, values in config[name].items()}
            for name in ("offsets", "step_size")
        )
        symmetric = {_read_level(level): value for level, value in config["symmetric"].items()}
        return cls(config["method"], offsets, step_size, symmetric, config["effective_origins"])


def _is_symmetric(scores, level, symmetric, times, num_origins):
    """Return whether the interval of these scores has the same offset for both bounds."""
    needed = windows_needed(50 + level / 2)
    count = np.isfinite(scores).all(axis=-1).sum(axis=0).min()
    if symmetric is None:
        return bool(min(count, num_origins) < needed or not are_skewed(scores, level, times))
    if not symmetric and count < needed:
        raise ValueError(
            f"an asymmetric interval of {level:g} % requires at least {needed} calibration windows "
            f"at every step, got {count}."
        )
    return bool(symmetric)


def _as_json(value):
    """Return nested dicts with text keys, and arrays as lists."""
    if isinstance(value, dict):
        return {str(name): _as_json(x) for name, x in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def _read_level(text):
    """Return the level of a JSON key, an int if it is a whole number."""
    return float(text) if "." in text else int(text)
