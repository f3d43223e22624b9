"""Standardisation: by the training rows alone, or of each window by its own context."""

from dataclasses import dataclass

import numpy as np

from kerastrans.utils.validation import check_choice, check_positive_integers

SCALERS = (None, "standard", "mean_abs", "mase")
SHIFTING = ("standard", "mase")  # kinds after which a zero of the series is no longer zero


@dataclass(frozen=True)
class StandardScaler:
    """Per-channel standardisation, `(x - mean) / std`, and its inverse.

    Make one with `StandardScaler.fit(train)`. A constant channel has std 1, so that it becomes 0.

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
        """Statistics of `values` `(time, num_channels)`: give it the training rows and no more.

        Raises:
            ValueError: a value is NaN; values whose range float64 cannot hold.
        """
        values = np.asarray(values, "float64")
        if np.isnan(values).any():
            place = np.argwhere(np.isnan(values))[0].tolist()
            raise ValueError(
                f"values must be known to standardise by, got NaN at {place}: fill them first, "
                "such as by frame.interpolate()."
            )
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

    def statistics(self, seen, xp=np, typical=0.0):
        """Centre and scale of every window, `(1, 1, num_channels)`, float32."""
        return tuple(x[None, None].astype("float32") for x in (self.mean, self.std))

    def transform(self, values):
        """`(..., num_channels)` in units of the series -> standardised, float32.

        Raises:
            ValueError: a value that float32 cannot hold.
        """
        return _to_float32((np.asarray(values, "float64") - self.mean) / self.std)

    def inverse_transform(self, values):
        """`(..., num_channels)` standardised -> units of the series, float32.

        Raises:
            ValueError: a value that float32 cannot hold.
        """
        return _to_float32(np.asarray(values, "float64") * self.std + self.mean)

    def to_dict(self):
        """JSON-ready `{"mean": [...], "std": [...]}`; `from_dict` reads it."""
        return {"mean": self.mean.tolist(), "std": self.std.tolist()}

    @classmethod
    def from_dict(cls, config):
        """A scaler from what `to_dict` returned."""
        return cls(np.asarray(config["mean"]), np.asarray(config["std"]))


@dataclass(frozen=True)
class WindowScaler:
    """Scaling of each window by the observed values of its own context.

    Attributes:
        kind: "standard" (mean and standard deviation), "mean_abs" (mean absolute value), "mase"
            (mean, and the mean absolute seasonal difference), or None for windows as they are.
        season: int, steps of the season of "mase"; fewer than the context has.

    Example:
        >>> import numpy as np
        >>> center, scale = WindowScaler("standard").statistics(np.array([[[1.0], [3.0]]]))
        >>> center.item(), scale.item()
        (2.0, 1.0)
    """

    kind: str | None = "standard"
    season: int = 1

    @property
    def is_identity(self):
        """Whether windows stay as they are, and so do their forecasts."""
        return self.kind is None

    @property
    def equivariance(self):
        """What may be done to a window so that the same is done to what is forecast from it.

        "affine" or "scale", see `kerastrans.data.pivot`; "" for windows as they are.
        """
        return {"standard": "affine", "mase": "affine", "mean_abs": "scale", None: ""}[self.kind]

    @property
    def least_spread(self):
        """The least standard deviation by which a network should divide a window once more.

        In units of the scaled window, so that the network does not undo what `statistics` does
        for a context that hardly moves. One that is divided by its level can be calm and yet move.
        0 where the units are not known.
        """
        return {None: 0.0, "standard": 1.0, "mean_abs": 0.01, "mase": 0.5}[self.kind]

    def __post_init__(self):
        check_choice("scaler", self.kind, SCALERS)
        check_positive_integers(season=self.season)

    def check_context(self, context_length):
        """Raise ValueError if a context of so many steps has no value a season before another."""
        if self.kind == "mase" and self.season >= context_length:
            raise ValueError(
                f"WindowScaler('mase', season={self.season}) takes differences of {self.season} "
                f"steps: context_length must be greater, got {context_length}."
            )

    def statistics(self, seen, xp=np, typical=0.0):
        """Centre and scale `(batch, 1, num_channels)` of contexts `(batch, time, num_channels)`.

        NaN values do not count. What is known of a context may hardly move, as the zeros before a
        launch or a sensor that is stuck, or be too little to tell: the scale is not below
        `typical / sqrt(known + 1)`, the deviation that the known values would have, were they all
        alike, with one more at the typical distance. Without a typical scale a constant context is
        divided by its magnitude, one that is zero throughout, or has no value, by 1.

        Args:
            seen: array or tensor.
            xp: the module that computes: NumPy, TensorFlow's NumPy, or `keras.ops`.
            typical: the scale of the whole series, `(batch, 1, num_channels)`, or broadcast, see
                `series_scales`; 0 where it is not known.
        """
        center, scale, unit, number = self._measured(seen, xp)
        if self.kind is None:
            return center, xp.ones_like(center)
        scale = xp.maximum(scale, typical / xp.sqrt(number + 1.0))
        return center, xp.where(scale > 0.0, scale, unit)

    def deviations(self, seen):
        """The scale of each context as it is: 0 where there is none, see `statistics`."""
        return self._measured(seen, np)[1]

    def _measured(self, seen, xp):
        """Centre, scale, magnitude (1 where it is 0) and number of known values of contexts."""
        known = xp.logical_not(xp.isnan(seen))
        weight = xp.where(known, xp.ones_like(seen), 0.0)
        number = xp.sum(weight, axis=1, keepdims=True)
        count = xp.maximum(number, 1.0)
        values = xp.where(known, seen, 0.0)
        unit = _or_one(xp.max(xp.abs(values), axis=1, keepdims=True), xp)
        if self.kind in (None, "mean_abs"):
            level = xp.sum(xp.abs(values) / unit, axis=1, keepdims=True) / count * unit
            return xp.zeros_like(level), level, unit, number
        # From the greatest value on and in units of the greatest size: neither do squares overflow,
        # nor is a small range lost beside a large level, nor does a constant have a deviation.
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
        # A deviation that is no more than the rounding of the values is none.
        is_real = scale > 4 * _resolution(seen)
        return center, xp.where(is_real, scale * unit, xp.zeros_like(scale)), unit, number


def _to_float32(values):
    too_large = np.isfinite(values) & (np.abs(values) > np.finfo("float32").max)
    if too_large.any():
        raise ValueError(f"float32 cannot hold the value {values[too_large][0]:g}.")
    return values.astype("float32")


def _or_one(x, xp):
    """Positive values as they are, 1 in place of others."""
    return xp.where(x > 0.0, x, xp.ones_like(x))


def _resolution(x):
    """The relative spacing of an array's or a tensor's numbers."""
    return np.finfo("float32" if "float32" in str(x.dtype) else "float64").eps
