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
        differences: List of one float per series: the largest difference of a point forecast or a
            decile, relative to the largest absolute value that the reference forecasts for that
            row.
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


def verify(folder, series, prediction_length, tolerance=TOLERANCE):
    """Compare the forecasts of a port with those of its reference package, from arrays.

    Both read the same folder and the same series in this process, in float32.

    Args:
        folder: Path of a checkpoint, see `kerastrans.models.pretrained.load`.
        series: List of arrays `(time,)` or `(variates, time)`, NaN where missing.
        prediction_length: int, number of steps to forecast.
        tolerance: float above 0, largest difference that counts as equal.

    Returns:
        `Verification`.

    Raises:
        ValueError: As in `load`, `PretrainedModel.forecast` and `compare`.
        ImportError: If the reference package is not installed.
    """
    check_positive_integers(prediction_length=prediction_length)
    model = load(folder)

    def forecast():
        found = model.forecast(series, prediction_length, DECILES)
        return [np.concatenate([x["mean"][..., None], x["quantiles"]], axis=-1) for x in found]

    return compare(port_of(model), folder, series, prediction_length, forecast, tolerance)


def compare(port, folder, series, prediction_length, forecast, tolerance=TOLERANCE):
    """Compare forecasts of some series with those of the reference package of a port.

    All deciles but the median are compared in increasing order, as a frame has them.

    Args:
        port: Name of the port in this package.
        folder: Path of a checkpoint.
        series: List of arrays `(time,)` or `(variates, time)`, NaN where missing.
        prediction_length: int, number of steps to forecast.
        forecast: Function that returns a list of arrays `(variates, prediction_length, 10)`, the
            point forecast and the deciles; it is called if the reference package is installed.
        tolerance: float above 0, largest difference that counts as equal.

    Returns:
        `Verification`.

    Raises:
        ImportError: If the reference package is not installed.
        ValueError: If the port has no known reference, or the reference returns forecasts of a
            different shape or values that are not finite.
    """
    check_positive(tolerance=tolerance)
    tasks = as_tasks(series)
    reference = reference_of(port)
    reference.check()
    expected = reference.forecast(folder, tasks, prediction_length)
    pairs = enumerate(zip(forecast(), expected, strict=True))
    differences = [_difference(reference.package, number, *pair) for number, pair in pairs]
    return Verification(port, _with_version(reference.package), differences, tolerance)


def _difference(package, number, forecast, expected):
    """Return the largest difference of a series, relative to the largest value of its row."""
    expected = np.asarray(expected, "float64")
    if forecast.shape != expected.shape or not np.isfinite(expected).all():
        what = "values that are not finite" if forecast.shape == expected.shape else expected.shape
        raise ValueError(
            f"{package} returns {what} for series {number}, ours has the shape {forecast.shape}."
        )
    forecast, expected = _in_order(forecast), _in_order(expected)
    largest = np.maximum(np.abs(expected).max(axis=(1, 2), keepdims=True), np.finfo("float32").tiny)
    return float((np.abs(forecast - expected) / largest).max())


def _in_order(forecast):
    """Return the point forecast, the median, and the other deciles in increasing order."""
    middle = [0, 1 + DECILES.index(0.5)]
    others = np.sort(np.delete(forecast, middle, axis=-1), axis=-1)
    return np.concatenate([forecast[..., middle], others], axis=-1)


def _with_version(package):
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return package
