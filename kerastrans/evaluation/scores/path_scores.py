"""Scores of joint sample paths: the energy score and the variogram score."""

from typing import Any

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrame

from kerastrans.data.frames import ID, TARGET, TIME, check_is_frame, is_wide, to_long
from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.columns import PATH, check_columns, read_columns
from kerastrans.utils.validation import check_choice, check_positive

ESTIMATORS = ("usual", "fair")
SCOPES = (ID, TIME, None)


def energy_score(paths: Any, truth: Any, estimator: str = "usual") -> float:
    """Return the energy score of sample paths of a vector.

    It is the mean distance of the paths from the outcome, minus half the mean distance between two
    paths; in the units of the series, the smaller the better. For one value it is the CRPS.

    Args:
        paths: Array `(num_paths, size)`.
        truth: Array `(size,)`.
        estimator: "usual" for the score of the paths as they are; "fair" for an unbiased estimate
            of the score of the distribution that the paths were drawn from independently. The paths
            of `Forecaster.simulate` represent their distribution better than independent draws, so
            that "usual" is the default.

    Raises:
        ValueError: If the shapes do not agree, or "fair" is given a single path.

    Source: Gneiting, Raftery (2007), "Strictly proper scoring rules", equation 22; Fricker, Ferro,
    Stephenson (2013), "Three recommendations for evaluating climate predictions", for "fair".

    Example:
        >>> energy_score([[0.0, 0.0], [3.0, 4.0]], [0.0, 0.0])
        1.25
    """
    paths, truth = _check(paths, truth, estimator)
    count = len(paths)
    to_truth = np.linalg.norm(paths - truth, axis=1).mean()
    # Distances row by row: all pairs of paths at once would need too much memory.
    between = sum(np.linalg.norm(paths - path, axis=1).sum() for path in paths)
    pairs = count**2 if estimator == "usual" else count * (count - 1)
    return float(to_truth - between / pairs / 2)


def variogram_score(paths: Any, truth: Any, p: float = 0.5, estimator: str = "usual") -> float:
    """Return the variogram score of sample paths of a vector.

    It compares the differences between all pairs of values with their expectation, so that it
    notices a wrong dependence that the energy score hardly sees.

    Args:
        paths: Array `(num_paths, size)`.
        truth: Array `(size,)`.
        p: float, exponent of the differences.
        estimator: As in `energy_score`.

    Returns:
        The sum over all ordered pairs of values, each with a weight of 1.

    Raises:
        ValueError: If the shapes do not agree, `p` is not above 0, or "fair" is given a single
            path.

    Source: Scheuerer, Hamill (2015), "Variogram-based proper scoring rules for probabilistic
    forecasts of multivariate quantities", equation 12.

    Example:
        >>> variogram_score([[0.0, 1.0], [0.0, 1.0]], [0.0, 4.0])
        2.0
    """
    paths, truth = _check(paths, truth, estimator)
    check_positive(p=p)
    count, total = len(paths), 0.0
    for place in range(len(truth)):
        observed = np.abs(truth - truth[place]) ** p
        drawn = np.abs(paths - paths[:, [place]]) ** p
        total += np.square(observed - drawn.mean(axis=0)).sum()
        if estimator == "fair":
            total -= drawn.var(axis=0).sum() / (count - 1)
    return float(total)


@takes_any_frame
def score_paths(
    paths: IntoDataFrame,
    frame: IntoDataFrame,
    *,
    by: str | None = "unique_id",
    p: float = 0.5,
    estimator: str = "usual",
    alias: str | None = None,
) -> Any:
    """Score the sample paths of a forecast by the energy score and the variogram score.

    Args:
        paths: Frame of `Forecaster.simulate`.
        frame: Long or wide frame of the outcomes.
        by: "unique_id" to score the steps of each series as one vector; "ds" to score all series
            at each step as one vector; None for one vector of all steps and series.
        p: float, exponent of the variogram score.
        estimator: "usual" or "fair", see `energy_score`.
        alias: Name of the column of values, if there are several.

    Returns:
        DataFrame with one row per vector and the columns "energy" and "variogram", indexed by the
        series or the time. Steps without an outcome are left out.

    Raises:
        ValueError: If a column is missing, an option is unknown, no outcome is known, a step has
            two values or outcomes, or a path lacks a step of the others.

    Example:
        >>> import kerastrans
        >>> frame = kerastrans.datasets.load("air_passengers")
        >>> forecaster = kerastrans.zoo.from_preset("nhits_air_passengers_12")
        >>> paths = forecaster.simulate(frame[:-12])
        >>> list(score_paths(paths, frame).columns)
        ['energy', 'variogram']

    Source: as of `energy_score` and `variogram_score`.
    """
    check_choice("by", by, SCOPES)
    check_choice("estimator", estimator, ESTIMATORS)
    for given in (paths, frame):
        check_is_frame(given)
    check_columns(paths, ID, TIME, PATH)
    alias = read_columns(paths, alias).alias
    known = to_long(frame, ()) if is_wide(frame) else frame
    check_columns(known, ID, TIME, TARGET)
    rows = paths.merge(known[[ID, TIME, TARGET]], on=[ID, TIME])
    rows = rows[np.isfinite(rows[TARGET]) & rows[alias].notna()]
    if rows.empty:
        raise ValueError("no step of the paths has an outcome in the frame.")
    repeated = rows.duplicated([ID, TIME, PATH])
    if repeated.any():
        name, time, path = rows.loc[repeated, [ID, TIME, PATH]].iloc[0]
        raise ValueError(f"path {path} of {name!r} has two values or outcomes at {time}.")
    found = {}
    for key, part in rows.groupby(by, sort=False) if by else [("all", rows)]:
        values = part.pivot(index=PATH, columns=[ID, TIME], values=alias)
        if values.isna().any(axis=None):
            name, time = values.columns[values.isna().any()][0]
            raise ValueError(f"not all paths have a value of {name!r} at {time}.")
        truth = part.drop_duplicates([ID, TIME]).set_index([ID, TIME])[TARGET][values.columns]
        arrays = values.to_numpy("float64"), truth.to_numpy("float64")
        found[key] = {
            "energy": energy_score(*arrays, estimator),
            "variogram": variogram_score(*arrays, p, estimator),
        }
    table = pd.DataFrame.from_dict(found, orient="index")
    return table.rename_axis(by)


def _check(paths, truth, estimator):
    """Return paths and outcome as float64 arrays."""
    paths, truth = np.asarray(paths, "float64"), np.asarray(truth, "float64")
    check_choice("estimator", estimator, ESTIMATORS)
    if paths.ndim != 2 or truth.shape != paths.shape[1:] or not len(paths):
        raise ValueError(
            "paths must be (num_paths, size) and truth (size,), got shapes "
            f"{paths.shape} and {truth.shape}."
        )
    if estimator == "fair" and len(paths) == 1:
        raise ValueError("estimator='fair' requires at least two paths, got one.")
    return paths, truth
