"""Peaks and first passages of sample paths."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrame, IntoDataFrameT

from kerastrans.data.frames import ID, TIME
from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.columns import PATH
from kerastrans.forecasting.paths.aggregates import PathTable, over_paths
from kerastrans.utils.validation import check_choice

TIME_OF_EVENT = "time"
PROBABILITY = "probability"


@takes_any_frame
def find_peaks(
    paths: IntoDataFrameT,
    freq: str | int | None = None,
    *,
    kind: str = "max",
    quantiles: Sequence[float] | None = None,
    alias: str | None = None,
) -> IntoDataFrameT:
    """Find the largest or the smallest value of each sample path, and its time.

    Args:
        paths: Frame of `Forecaster.simulate`.
        freq: Periods with a peak each, as in `aggregate_paths`; None for the whole horizon.
        kind: "max" or "min".
        quantiles: Probabilities whose quantiles over the paths, of values and of times, are
            returned instead of the paths.
        alias: Name of the column of values, if there are several.

    Returns:
        DataFrame with the columns "unique_id", "ds" (the first time stamp of the period), "path",
        the values, and "time" (of the first such value); "quantile" instead of "path" for
        quantiles. Without a known value, both are missing.

    Raises:
        ValueError: If a column is missing, or `freq`, `kind` or a quantile is invalid.

    Example:
        >>> import pandas as pd
        >>> times = pd.date_range("2024-01-01", periods=4, freq="12h")
        >>> paths = pd.DataFrame(
        ...     {"unique_id": "a", "ds": times, "path": 0, "model": [1.0, 3.0, 5.0, 2.0]}
        ... )
        >>> find_peaks(paths, "D")[["model", "time"]].astype(str).values.tolist()
        [['3.0', '2024-01-01 12:00:00'], ['5.0', '2024-01-02 00:00:00']]
    """
    check_choice("kind", kind, ("max", "min"))
    table = PathTable.read(paths, alias)
    numbers, starts = table.blocks(freq)
    sign = 1 if kind == "max" else -1
    signed = np.where(np.isnan(table.values), -np.inf, sign * table.values)
    values, places = [], []
    for block in range(len(starts)):
        steps = np.flatnonzero(numbers == block)
        place = steps[signed[:, steps].argmax(axis=1)]
        values.append(np.take_along_axis(table.values, place[:, None], 1)[:, 0])
        places.append(place)
    values, places = np.stack(values, axis=1).ravel(), np.stack(places, axis=1).ravel()
    rows = pd.DataFrame(
        {
            ID: np.repeat(table.keys[ID].to_numpy(), len(starts)),
            TIME: np.tile(starts, len(table.keys)),
            PATH: np.repeat(table.keys[PATH].to_numpy(), len(starts)),
            table.alias: values,
            TIME_OF_EVENT: table.times.take(places).where(np.isfinite(values)),
        }
    )
    if quantiles is None:
        return rows
    return over_paths(rows, quantiles, [table.alias, TIME_OF_EVENT])


@takes_any_frame
def find_first_passages(
    paths: IntoDataFrame,
    level: float,
    *,
    direction: str = "above",
    summary: bool = False,
    alias: str | None = None,
) -> Any:
    """Find the first time that each sample path is above or below a level.

    Args:
        paths: Frame of `Forecaster.simulate`.
        level: float, in the units of the series.
        direction: "above" for a value larger than the level, "below" for a smaller one.
        summary: bool, whether to return the probability that the level has been passed by each
            step, instead of the paths.
        alias: Name of the column of values, if there are several.

    Returns:
        DataFrame with the columns "unique_id", "path" and "time", NaT if the path never passes the
        level. The summary has the columns "unique_id", "ds" and "probability", the share of the
        paths that have passed the level at or before "ds", NaN if this is not known: at the steps
        of other series, unless all paths have passed it before.

    Raises:
        ValueError: If a column is missing, or the level or direction is invalid.

    Example:
        >>> import pandas as pd
        >>> times = pd.date_range("2024-01-01", periods=3)
        >>> keys = {"unique_id": "a", "ds": [*times, *times], "path": [0, 0, 0, 1, 1, 1]}
        >>> paths = pd.DataFrame({**keys, "model": [1.0, 3.0, 1.0, 0.0, 0.0, 0.0]})
        >>> find_first_passages(paths, 2.0)["time"].tolist()
        [Timestamp('2024-01-02 00:00:00'), NaT]
        >>> find_first_passages(paths, 2.0, summary=True)["probability"].tolist()
        [0.0, 0.5, 0.5]
    """
    check_choice("direction", direction, ("above", "below"))
    if isinstance(level, bool) or not np.isscalar(level) or not np.isfinite(level):
        raise ValueError(f"level must be a finite number, got {level!r}.")
    table = PathTable.read(paths, alias)
    with np.errstate(invalid="ignore"):
        passed = table.values > level if direction == "above" else table.values < level
    ever = passed.any(axis=1)
    if not summary:
        times = table.times.take(passed.argmax(axis=1)).where(ever)
        return table.keys.assign(**{TIME_OF_EVENT: times})
    has_passed = np.maximum.accumulate(passed, axis=1).astype("float64")
    has_passed[np.isnan(table.values).all(axis=1)] = np.nan  # no forecast
    has_passed[np.isnan(table.values) & ~ever[:, None]] = np.nan
    shares = pd.DataFrame(has_passed).groupby(table.keys[ID], sort=False).mean(skipna=False)
    return pd.DataFrame(
        {
            ID: np.repeat(shares.index.to_numpy(), len(table.times)),
            TIME: np.tile(table.times, len(shares)),
            PROBABILITY: shares.to_numpy().ravel(),
        }
    )
