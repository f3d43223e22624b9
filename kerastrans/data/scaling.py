"""Standardisation with the statistics of the training rows alone."""

from dataclasses import dataclass

import numpy as np


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

    @classmethod
    def fit(cls, values):
        """Statistics of `values` `(time, num_channels)`: give it the training rows and no more."""
        values = np.asarray(values, "float64")
        std = values.std(axis=0)
        return cls(values.mean(axis=0), np.where(std > 0, std, 1.0))

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
