"""Conformal intervals of one group of series: what each bound is moved by, and how it learns."""

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
        method: "split", one offset from the calibration windows, or "adaptive", which goes on
            learning from windows that come later.
        offsets: dict of level in percent -> `(prediction_length, num_channels, 2)`, by how much
            the lower and the upper bound move outwards, in units of a window's scale.
        step_size: the same, how fast "adaptive" learns, see `adaptive_offsets`.
        symmetric: dict of level -> bool, whether both bounds move alike.
        effective_origins: int, how many calibration origins do not overlap, see `count_effective`;
            None in files of earlier versions.

    Raises:
        ValueError: an unknown method.
    """

    method: str
    offsets: dict
    step_size: dict
    symmetric: dict
    effective_origins: int | None = None

    def __post_init__(self):
        check_choice("method", self.method, METHODS)

    @classmethod
    def fit(cls, scores, times, method="split", rate=None, *, symmetric=None):
        """From calibration scores, see `ConformalIntervals.fit`."""
        rate = 2 / len(np.unique(times)) ** 0.5 if rate is None else rate
        check_non_negative(rate=rate)
        chosen = {level: _is_symmetric(x, level, symmetric) for level, x in scores.items()}
        some = next(iter(scores.values()))
        known = np.isfinite(some).any(axis=(1, 2, 3))
        fitted = cls(method, {}, {}, chosen, count_effective(times[known], some.shape[1]))
        sided = {level: fitted._sided(level, score) for level, score in scores.items()}
        offsets = {x: split_offsets(y, fitted._share(x)) for x, y in sided.items()}
        steps = {x: rate * np.nanquantile(np.abs(y), 0.9, axis=0) for x, y in sided.items()}
        fitted = replace(fitted, offsets=offsets, step_size=steps)
        return fitted.follow(scores, times)[1]

    def _sided(self, level, scores):
        """The scores that each bound learns from: its own, or the larger one for both."""
        if not self.symmetric[level]:
            return scores
        return np.broadcast_to(scores.max(axis=-1, keepdims=True), scores.shape)

    def _share(self, level):
        """Percent of the scores of a bound that are not to be above its offset."""
        return level if self.symmetric[level] else 50 + level / 2

    def follow(self, scores, times):
        """Offsets of windows whose outcomes become known one after the other.

        Args:
            scores: as in `ConformalIntervals.fit`, of later windows.
            times: as there.

        Returns:
            `({level: offsets as the scores}, the intervals after the last window)`.
        """
        if self.method == "split":
            widths = {k: np.broadcast_to(self.offsets[k], v.shape) for k, v in scores.items()}
            return widths, self
        widths, ends = {}, dict(self.offsets)
        for level, score in scores.items():
            sided, share = self._sided(level, score), self._share(level)
            state = self.offsets[level], self.step_size[level]
            widths[level], ends[level] = adaptive_offsets(sided, times, share, *state)
        return widths, replace(self, offsets=ends)

    def to_dict(self):
        """JSON-ready; `from_dict` reads it."""
        return _as_json(asdict(self))

    @classmethod
    def from_dict(cls, config):
        """The intervals of what `to_dict` returned, in this version or an earlier one."""
        offsets, step_size = (
            {_number(level): _of_bounds(values) for level, values in config[name].items()}
            for name in ("offsets", "step_size")
        )
        symmetric = config.get("symmetric", dict.fromkeys(config["offsets"], True))
        symmetric = {_number(level): value for level, value in symmetric.items()}
        number = config.get("effective_origins")
        return cls(config["method"], offsets, step_size, symmetric, number)


def _is_symmetric(scores, level, symmetric):
    """Whether an interval of these scores has one offset for both bounds."""
    needed = windows_needed(50 + level / 2)
    count = np.isfinite(scores).all(axis=-1).sum(axis=0).min()
    if symmetric is None:
        return bool(not are_skewed(scores, level) or count < needed)
    if not symmetric and count < needed:
        raise ValueError(
            f"an asymmetric interval of {level:g} % needs at least {needed} calibration windows at "
            f"every step, got {count}."
        )
    return bool(symmetric)


def _as_json(value):
    if isinstance(value, dict):
        return {str(name): _as_json(x) for name, x in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def _of_bounds(values):
    """Offsets of both bounds, `(prediction_length, num_channels, 2)`; once they had one."""
    values = np.asarray(values)
    return np.stack([values, values], axis=-1) if values.ndim == 2 else values


def _number(text):
    return float(text) if "." in text else int(text)
