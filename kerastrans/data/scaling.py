"""Standardisation with statistics of the training rows, or of the context of each window."""

from dataclasses import dataclass, field

import numpy as np

from kerastrans.utils.validation import check_choice, check_positive_integers

SCALERS = (None, "standard", "mean_abs", "mase")
LEAST_SPACINGS = 4  # a deviation of less than as many spacings of the values counts as 0
ENOUGH = 20  # known values, all equal, that show a constant, if they also show a season
SHIFTING = ("standard", "mase")  # kinds that shift values, so that zeros do not stay zero


@dataclass(frozen=True)
class StandardScaler:
    """Per-channel standardisation, `(x - mean) / std`, and its inverse.

    Create one with `StandardScaler.fit(train)`. A constant channel has std 1 and becomes 0.

    Attributes:
        mean: `(num_channels,)`, in the units of the series.
        std: `(num_channels,)`, population standard deviation, in the units of the series.

    Example:
        >>> scaler = StandardScaler.fit([[1.0], [3.0]])
        >>> scaler.transform([[5.0]]), scaler.inverse_transform([[3.0]])
        (array([[3.]], dtype=float32), array([[5.]], dtype=float32))
    """

    mean: np.ndarray
    std: np.ndarray

    is_identity = False  # see `WindowScaler`

    @classmethod
    def fit(cls, values):
        """Return the scaler of the training rows, `values` `(time, num_channels)`.

        Raises:
            ValueError: If a value is NaN, or float64 cannot hold the range of the values.
        """
        values = np.asarray(values, "float64")
        if np.isnan(values).any():
            place = np.argwhere(np.isnan(values))[0].tolist()
            raise ValueError(
                f"values must be known, got NaN at {place}: fill gaps first, such as with "
                "frame.interpolate()."
            )
        # Relative to the first row and in units of the largest distance from it: neither do squares
        # overflow, nor does a large level hide small changes.
        with np.errstate(over="ignore"):
            shifted = values - values[0]
        peak = np.abs(shifted).max(axis=0)
        if np.isinf(peak).any():
            raise ValueError(
                f"values must span a range that float64 can hold, got {values.min()} to "
                f"{values.max()}."
            )
        shifted /= np.where(peak > 0, peak, 1.0)
        std = peak * shifted.std(axis=0)
        return cls(values[0] + peak * shifted.mean(axis=0), np.where(std > 0, std, 1.0))

    def statistics(self, seen, xp=np, least=0.0):
        """Return centre and scale of every window, `(1, 1, num_channels)`, float32."""
        return tuple(x[None, None].astype("float32") for x in (self.mean, self.std))

    def transform(self, values):
        """Standardise values `(..., num_channels)` in the units of the series, to float32.

        Raises:
            ValueError: If float32 cannot hold a value.
        """
        return _to_float32((np.asarray(values, "float64") - self.mean) / self.std)

    def inverse_transform(self, values):
        """Return standardised values `(..., num_channels)` in the units of the series, float32.

        Raises:
            ValueError: If float32 cannot hold a value.
        """
        return _to_float32(np.asarray(values, "float64") * self.std + self.mean)

    def to_dict(self):
        """Return `{"mean": [...], "std": [...]}` for JSON; `from_dict` reads it."""
        return {"mean": self.mean.tolist(), "std": self.std.tolist()}

    @classmethod
    def from_dict(cls, config):
        """Return the scaler of a dict that `to_dict` returned."""
        return cls(np.asarray(config["mean"]), np.asarray(config["std"]))


@dataclass(frozen=True)
class WindowScaler:
    """Scaling of each window with statistics of the observed values of its context.

    Attributes:
        kind: "standard" (mean and standard deviation), "mean_abs" (mean absolute value), "mase"
            (mean, and the mean absolute seasonal difference), or None to leave windows unscaled.
        season: int, number of steps in the season of "mase", less than the context length.
        enough: int, number of known values, all equal, that show a constant. This and the following
            are learnt from training rows by `kerastrans.data.series_scales.learn_scales`.
        share: float, median standard deviation of a window, as a share of its mean absolute value.
        size: float, median standard deviation of a window, in units of the series.
        still: float, mean least scale of the windows of constants, as a share of the constant.
        zero: float, mean least scale of the windows of zeros, in units of the series.

    Example:
        >>> import numpy as np
        >>> center, scale = WindowScaler("standard").statistics(np.array([[[1.0], [3.0]]]))
        >>> center.item(), scale.item()
        (2.0, 1.0)
    """

    kind: str | None = "standard"
    season: int = 1
    enough: int = field(default=ENOUGH, repr=False)
    share: float = field(default=0.0, repr=False)
    size: float = field(default=0.0, repr=False)
    still: float = field(default=0.0, repr=False)
    zero: float = field(default=0.0, repr=False)

    @property
    def is_identity(self):
        """True if windows and their forecasts stay unscaled."""
        return self.kind is None

    @property
    def equivariance(self):
        """Changes of a window that change its forecast in the same way.

        "affine" or "scale", see `kerastrans.data.pivot`; "" if windows stay unscaled.
        """
        return {"standard": "affine", "mase": "affine", "mean_abs": "scale", None: ""}[self.kind]

    @property
    def least_spread(self):
        """Lower limit for the standard deviation if a network divides a scaled window again.

        It keeps the network from undoing what `statistics` does for a context that hardly changes.
        It is smaller for "mean_abs", whose contexts are divided by their level, so that small
        deviations matter, and 0 for unscaled windows, whose units are not known.
        """
        return {None: 0.0, "standard": 1.0, "mean_abs": 0.01, "mase": 0.5}[self.kind]

    def __post_init__(self):
        check_choice("scaler", self.kind, SCALERS)
        check_positive_integers(season=self.season)

    def check_context(self, context_length):
        """Raise ValueError if a context of this length is not longer than the season."""
        if self.kind == "mase" and self.season >= context_length:
            raise ValueError(
                f"WindowScaler('mase', season={self.season}) takes differences of {self.season} "
                f"steps: context_length must be greater, got {context_length}."
            )

    def least_scale(self, seen, typical=None, xp=np):
        """Return the least scale `(batch, 1, num_channels)` of contexts, 0 for a known constant.

        - If most values of a context are equal, such as the zeros before a launch or the values of
          a sensor that is stuck, it is up to `typical / sqrt(known + 1)`: the deviation of
          `known` equal values and one more at the typical distance.
        - If there are few known values, it is learnt from other windows, and is the smaller the
          more values there are: no more than `share / known` of their level, 0 for `enough` values.
        - If all values are equal, and the series is alike or not known, `still` or `zero` says.

        Args:
            seen: Array or tensor `(batch, time, num_channels)`, the contexts in the units of the
                series, NaN for missing values.
            typical: Standard deviation of the whole series, `(batch, 1, num_channels)`, see
                `series_scales`; None if no series is known.
            xp: Module that computes: NumPy, TensorFlow's NumPy, or `keras.ops`.
        """
        _, deviation, _, number = WindowScaler()._measured(seen, xp)
        level = WindowScaler("mean_abs")._measured(seen, xp)[1]
        more = 1.0 / xp.maximum(number, 1.0) - 1.0 / min(self.enough, seen.shape[1])
        least = xp.maximum(more, 0.0) * xp.where(level > 0.0, self.share * level, self.size)
        if typical is not None:
            same = xp.where(seen[:, 1:] == seen[:, :-1], 1.0, 0.0)  # NaN equals nothing
            both = xp.where(xp.isnan(seen[:, 1:] - seen[:, :-1]), 0.0, 1.0)
            pairs, same = (xp.sum(x, axis=1, keepdims=True) for x in (both, same))
            equal = xp.where(pairs > 0.0, 2.0 * same / xp.maximum(pairs, 1.0) - 1.0, 1.0)
            most = xp.where(equal > 0.0, equal * typical, 0.0)
            least = xp.maximum(least, most / xp.sqrt(number + 1.0))
        others = xp.where(level > 0.0, self.still * level, self.zero)
        return xp.where(xp.logical_and(deviation <= 0.0, least <= 0.0), others, least)

    def statistics(self, seen, xp=np, least=0.0):
        """Return centre and scale `(batch, 1, num_channels)` of contexts.

        NaN values are ignored. A context without a scale is divided by its magnitude; a context of
        zeros or without a value is divided by 1.

        Args:
            seen: Array or tensor `(batch, time, num_channels)`, the contexts.
            xp: Module that computes: NumPy, TensorFlow's NumPy, or `keras.ops`.
            least: Least scale of a context, `(batch, 1, num_channels)` or broadcast to it, see
                `least_scale`.
        """
        center, scale, unit, _ = self._measured(seen, xp)
        if self.kind is None:
            return center, xp.ones_like(center)
        scale = xp.maximum(scale, least)
        return center, xp.where(scale > 0.0, scale, unit)

    def settled(self, seen, center, scale, xp=np, least=0.0):
        """Return centre and scale of forecasts: the value and 0 for a context that is a constant.

        It is one if `enough` values are known, or as many as the context has, all are equal, and
        the least scale is 0.

        Args:
            seen: See `statistics`.
            center: Centre that `statistics` returned.
            scale: Scale that `statistics` returned.
            xp: See `statistics`.
            least: See `statistics`.
        """
        value, deviation, _, number = WindowScaler()._measured(seen, xp)
        is_settled = xp.logical_and(least <= 0.0, deviation <= 0.0)
        is_settled = xp.logical_and(is_settled, number >= min(self.enough, seen.shape[1]))
        center = xp.where(is_settled, value, center)
        return center, xp.where(is_settled, xp.zeros_like(scale), scale)

    def error_scale(self, seen, typical=None, xp=np):
        """Return the scale of the errors of forecasts, `(batch, 1, num_channels)`.

        It is the standard deviation of the context, at least its `least_scale`, whatever the kind
        of the scaler is, and 0 for a constant. See `least_scale` for the arguments.
        """
        deviation = WindowScaler()._measured(seen, xp)[1]
        return xp.maximum(deviation, self.least_scale(seen, typical, xp))

    def _measured(self, seen, xp):
        """Return centre, scale, magnitude (1 instead of 0) and number of known values."""
        known = xp.logical_not(xp.isnan(seen))
        weight = xp.where(known, xp.ones_like(seen), 0.0)
        number = xp.sum(weight, axis=1, keepdims=True)
        count = xp.maximum(number, 1.0)
        values = xp.where(known, seen, 0.0)
        unit = xp.max(xp.abs(values), axis=1, keepdims=True)
        unit = xp.where(unit > 0.0, unit, xp.ones_like(unit))
        if self.kind in (None, "mean_abs"):
            level = xp.sum(xp.abs(values) / unit, axis=1, keepdims=True) / count * unit
            return xp.zeros_like(level), level, unit, number
        # Relative to the largest value and in units of the largest magnitude: squares do not
        # overflow, a large level does not hide a small range, and a constant has no deviation.
        top = xp.max(xp.where(known, seen, -unit), axis=1, keepdims=True)
        below = xp.where(known, seen - top, 0.0) / unit
        middle = xp.sum(below, axis=1, keepdims=True) / count
        if self.kind == "standard":
            squares = weight * (below - middle) ** 2
            scale = xp.sqrt(xp.sum(squares, axis=1, keepdims=True) / count)
        else:
            both = weight[:, : -self.season] * weight[:, self.season :]
            steps = both * xp.abs(below[:, self.season :] - below[:, : -self.season])
            pairs = xp.maximum(xp.sum(both, axis=1, keepdims=True), 1.0)
            scale = xp.sum(steps, axis=1, keepdims=True) / pairs
        center = xp.where(number > 0.0, top + middle * unit, 0.0)
        # A deviation of a few rounding errors counts as 0.
        is_real = scale > LEAST_SPACINGS * _resolution(seen)
        return center, xp.where(is_real, scale * unit, xp.zeros_like(scale)), unit, number


def _to_float32(values):
    too_large = np.isfinite(values) & (np.abs(values) > np.finfo("float32").max)
    if too_large.any():
        raise ValueError(f"float32 cannot hold the value {values[too_large][0]:g}.")
    return values.astype("float32")


def _resolution(x):
    """Return the relative spacing of the numbers of an array or tensor."""
    return np.finfo("float32" if "float32" in str(x.dtype) else "float64").eps
