"""Whether a port forecasts a user's own series as the authors' package does."""

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
    """What a comparison found.

    Attributes:
        port: str, the file of the model here.
        package: str, the reference and its version.
        differences: list of float, one a series: the largest difference of a quantile, relative to
            the largest absolute value that the reference forecasts for that row.
        tolerance: float.
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
        """Whether all differences are within the tolerance."""
        return self.largest <= self.tolerance


def verify(folder, series, prediction_length, tolerance=TOLERANCE):
    """Compare the deciles that a port forecasts with those of its reference package.

    Both read the same folder and the same series in this process, in float32.

    Args:
        folder: path of a checkpoint, see `kerastrans.models.pretrained.load`.
        series: list of arrays `(time,)` or `(variates, time)`, NaN where missing.
        prediction_length: int.
        tolerance: float above 0.

    Returns:
        `Verification`.

    Raises:
        ImportError: The reference package is not installed; it is named.
        ValueError: No reference is known, or it returns forecasts of another shape or no numbers.
        ValueError: As `load` and `PretrainedModel.forecast`.
    """
    check_positive(tolerance=tolerance)
    check_positive_integers(prediction_length=prediction_length)
    tasks = as_tasks(series)
    model = load(folder)
    port = port_of(model)
    reference = reference_of(port)
    reference.check()
    found = [x["quantiles"] for x in model.forecast(tasks, prediction_length, DECILES)]
    expected = reference.forecast(folder, tasks, prediction_length)
    pairs = enumerate(zip(found, expected, strict=True))
    differences = [_difference(reference.package, number, *pair) for number, pair in pairs]
    return Verification(port, _with_version(reference.package), differences, tolerance)


def _difference(package, number, found, expected):
    """The largest difference of a series, relative to the largest value of its row."""
    expected = np.asarray(expected, "float64")
    if found.shape != expected.shape or not np.isfinite(expected).all():
        what = "values that are not finite" if found.shape == expected.shape else expected.shape
        raise ValueError(
            f"{package} returns {what} for series {number}, ours has the shape {found.shape}."
        )
    largest = np.maximum(np.abs(expected).max(axis=(1, 2), keepdims=True), np.finfo("float32").tiny)
    return float((np.abs(found - expected) / largest).max())


def _with_version(package):
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return package
