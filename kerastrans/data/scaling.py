"""Standardisation: by the training rows alone, or of each window by its own context."""

from dataclasses import dataclass

import numpy as np

from kerastrans.utils.validation import check_choice, check_positive_integers

SCALERS = (None, "standard", "mean_abs", "mase")


@dataclass(frozen=True)
class StandardScaler:
    """Per-channel standardisation, `(x - mean) / std`, and its inverse.

    Make one with `StandardScaler.fit(train)`. A constant channel has std 1, so that it becomes 0.

    Attributes:
        mean: `(num_channels,)`, in the units of the series.
        std: `(num_channels,)`, population standard deviation, in the units of the series.
    """

    mean: np.ndarray
    std: np.ndarray

    is_identity = False  # see `WindowScaler`

    @classmethod
    def fit(cls, values):
        """Statistics of `values` `(time, num_channels)`: give it the training rows and no more."""
        values = np.asarray(values, "float64")
        std = values.std(axis=0)
        return cls(values.mean(axis=0), np.where(std > 0, std, 1.0))

    def statistics(self, seen, xp=np):
        """Centre and scale of every window, `(1, 1, num_channels)`, float32."""
        return tuple(x[None, None].astype("float32") for x in (self.mean, self.std))

    def transform(self, values):
        """`(..., num_channels)` in units of the series -> standardised, float32."""
        return ((np.asarray(values, "float64") - self.mean) / self.std).astype("float32")

    def inverse_transform(self, values):
        """`(..., num_channels)` standardised -> units of the series, float32."""
        return (np.asarray(values, "float64") * self.std + self.mean).astype("float32")

    def to_dict(self):
        """JSON-ready `{"mean": [...], "std": [...]}`; `from_dict` reads it."""
        return {"mean": self.mean.tolist(), "std": self.std.tolist()}

    @classmethod
    def from_dict(cls, config):
        return cls(np.asarray(config["mean"]), np.asarray(config["std"]))


@dataclass(frozen=True)
class WindowScaler:
    """Scaling of each window by the observed values of its own context.

    Attributes:
        kind: "standard" (mean and standard deviation), "mean_abs" (mean absolute value), "mase"
            (mean, and the mean absolute seasonal difference), or None for windows as they are.
        season: int, steps of the season of "mase".
    """

    kind: str | None = "standard"
    season: int = 1

    @property
    def is_identity(self):
        """Whether windows stay as they are, and so do their forecasts."""
        return self.kind is None

    def __post_init__(self):
        check_choice("scaler", self.kind, SCALERS)
        check_positive_integers(season=self.season)

    def statistics(self, seen, xp=np):
        """Centre and scale `(batch, 1, num_channels)` of contexts `(batch, time, num_channels)`.

        NaN values do not count. A context that is constant is divided by its magnitude, one that
        is zero throughout, or has no value, by 1.

        Args:
            seen: array or tensor.
            xp: the module that computes: NumPy, TensorFlow's NumPy, or `keras.ops`.
        """
        known = xp.logical_not(xp.isnan(seen))
        values = xp.where(known, seen, 0.0)

        def mean(values, known):
            count = xp.sum(xp.where(known, 1.0, 0.0), axis=1, keepdims=True)
            total = xp.sum(xp.where(known, values, 0.0), axis=1, keepdims=True)
            return total / xp.maximum(count, 1.0)

        level = mean(xp.abs(values), known)
        center = level * 0.0 if self.kind in (None, "mean_abs") else mean(values, known)
        if self.kind is None:
            return center, center + 1.0
        if self.kind == "mean_abs":
            scale = level
        elif self.kind == "standard":
            scale = xp.sqrt(mean((values - center) ** 2, known))
        else:
            before, after = values[:, : -self.season], values[:, self.season :]
            both = xp.logical_and(known[:, : -self.season], known[:, self.season :])
            scale = mean(xp.abs(after - before), both)
        magnitude = xp.where(level > 0.0, level, 1.0)
        return center, xp.where(scale > 1e-9 * magnitude, scale, magnitude)
