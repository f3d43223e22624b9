"""Comparison of the forecasts of a port with those of the authors' package."""

from dataclasses import dataclass
from importlib import metadata

import numpy as np

from kerastrans.models.pretrained import load, port_of
from kerastrans.models.pretrained.arrays import DECILES, as_tasks
from kerastrans.models.pretrained.references import reference_of
from kerastrans.utils.validation import check_positive, check_positive_integers

TOLERANCE = 1e-4  # two float32 runs of the authors' packages differ by up to 5e-6


@dataclass(frozen=True)
class Verification:
    """Result of a comparison.

    Attributes:
        port: Name of the port in this package.
        package: Name and version of the reference package.
        differences: List of one float per series: the largest difference of a quantile, relative to
            the largest absolute value that the reference forecasts for that row.
        tolerance: float, largest difference that counts as equal.
    """

    port: str
    package: str
    differences: list
    tolerance: float

    @property
    def largest(self):
        """The largest of all differences."""
        return max(self.differences)

    @property
    def is_equal(self):
        """True if all differences are within the tolerance."""
        return self.largest <= self.tolerance


def verify(folder, series, prediction_length, tolerance=TOLERANCE, forecasts=None):
    """Compare the deciles that a port forecasts with those of its reference package.

    Both read the same folder and the same series in this process, in float32.

    Args:
        folder: Path of a checkpoint, see `kerastrans.models.pretrained.load`.
        series: List of arrays `(time,)` or `(variates, time)`, NaN where missing.
        prediction_length: int, number of steps to forecast.
        tolerance: float above 0, largest difference that counts as equal.
        forecasts: Function that returns a list of arrays `(variates, prediction_length, 9)`, the
            deciles of a frame, to compare instead of those of the array call of the port. All
            deciles but the median are then sorted, as the bounds in a frame are.

    Returns:
        `Verification`.

    Raises:
        ImportError: If the reference package is not installed.
        ValueError: If the port has no known reference, or the reference returns forecasts of a
            different shape or values that are not finite.
        ValueError: As in `load` and `PretrainedModel.forecast`.
    """
    check_positive(tolerance=tolerance)
    check_positive_integers(prediction_length=prediction_length)
    tasks = as_tasks(series)
    model = load(folder)
    port = port_of(model)
    reference = reference_of(port)
    reference.check()
    expected = reference.forecast(folder, tasks, prediction_length)
    if forecasts is None:
        forecasts = [x["quantiles"] for x in model.forecast(tasks, prediction_length, DECILES)]
    else:
        forecasts = forecasts()
        expected = [_with_sorted_bounds(deciles) for deciles in expected]
    pairs = enumerate(zip(forecasts, expected, strict=True))
    differences = [_difference(reference.package, number, *pair) for number, pair in pairs]
    return Verification(port, _with_version(reference.package), differences, tolerance)


def _with_sorted_bounds(deciles):
    """Return deciles with all but the median in order."""
    deciles = np.array(deciles)
    bounds = [0, 1, 2, 3, 5, 6, 7, 8]
    deciles[..., bounds] = np.sort(deciles[..., bounds], axis=-1)
    return deciles


def _difference(package, number, forecast, expected):
    """Return the largest difference of a series, relative to the largest value of its row."""
    expected = np.asarray(expected, "float64")
    if forecast.shape != expected.shape or not np.isfinite(expected).all():
        what = "values that are not finite" if forecast.shape == expected.shape else expected.shape
        raise ValueError(
            f"{package} returns {what} for series {number}, ours has the shape {forecast.shape}."
        )
    largest = np.maximum(np.abs(expected).max(axis=(1, 2), keepdims=True), np.finfo("float32").tiny)
    return float((np.abs(forecast - expected) / largest).max())


def _with_version(package):
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return package
