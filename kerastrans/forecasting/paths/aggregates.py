"""Sums and means of sample paths over steps and series."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrameT

from kerastrans.data.frames import ID, TIME
from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.columns import PATH
from kerastrans.forecasting.paths.table import PathTable, over_paths, read_groups
from kerastrans.utils.validation import check_choice


@takes_any_frame
def aggregate_paths(
    paths: IntoDataFrameT,
    freq: str | int | None = None,
    *,
    how: str = "sum",
    by: Any = None,
    quantiles: Sequence[float] | None = None,
    alias: str | None = None,
) -> IntoDataFrameT:
    """Sum or average sample paths over steps, and over groups of series.

    Rows of different series with the same path are added, so that the distribution of the sum has
    the dependence of the series.

    Args:
        paths: Frame of `Forecaster.simulate`.
        freq: pandas frequency of the periods, such as "D", "W" or "MS"; an int, the number of steps
            of a period, counted from the first time stamp of all series; or None for the whole
            horizon. A period that the horizon contains in part has the steps that it contains.
        how: "sum" or "mean".
        by: None for each series; "all" for all series together; a dict of series -> group, or a
            frame with "unique_id" and a column of groups.
        quantiles: Probabilities whose quantiles over the paths are returned instead of the paths.
        alias: Name of the column of values, if there are several.

    Returns:
        DataFrame with the columns "unique_id" (the series, or the group), "ds" (the first time
        stamp of the period), "path" and the values; "quantile" instead of "path" for quantiles.
        A sum is NaN if a part of it is.

    Raises:
        ValueError: If a column is missing, `freq`, `how` or a quantile is invalid, or a series has
            no group.

    Example:
        >>> import kerastrans
        >>> forecaster = kerastrans.zoo.from_preset("nhits_air_passengers_12")
        >>> paths = forecaster.simulate(kerastrans.datasets.load("air_passengers"))
        >>> years = aggregate_paths(paths, "YS", quantiles=[0.1, 0.9])
        >>> years[["unique_id", "quantile"]].values.tolist()
        [['passengers', 0.1], ['passengers', 0.9]]
    """
    check_choice("how", how, ("sum", "mean"))
    table = PathTable.read(paths, alias)
    numbers, starts = table.blocks(freq)
    exists = _exists(paths, table)
    sums, counts = (
        np.stack([x[:, numbers == block].sum(axis=1) for block in range(len(starts))], axis=1)
        for x in (np.where(exists, table.values, 0.0), exists)
    )
    groups = read_groups(by, table.keys[ID])
    keys = pd.DataFrame({ID: groups, PATH: table.keys[PATH]})
    codes = keys.groupby([ID, PATH], sort=False).ngroup().to_numpy()
    keys = keys.loc[~pd.Series(codes).duplicated()].reset_index(drop=True)
    sums, counts = (_add_rows(x, codes, len(keys)) for x in (sums, counts))
    with np.errstate(invalid="ignore"):
        values = sums / counts if how == "mean" else np.where(counts > 0, sums, np.nan)
    rows = pd.DataFrame(
        {
            ID: np.repeat(keys[ID].to_numpy(), len(starts)),
            TIME: np.tile(starts, len(keys)),
            PATH: np.repeat(keys[PATH].to_numpy(), len(starts)),
            table.alias: values.ravel(),
        }
    )
    rows = rows[counts.ravel() > 0].reset_index(drop=True)
    return rows if quantiles is None else over_paths(rows, quantiles, [table.alias])


def _exists(paths, table):
    """Return which steps of the table the frame has, also those whose value is NaN."""
    if len(paths) == table.values.size:
        return np.ones(table.values.shape, bool)
    ones = PathTable.read(paths.assign(**{table.alias: 1.0}), table.alias)
    return np.isfinite(ones.values)


def _add_rows(values, codes, count):
    """Return the sums of the rows with the same code."""
    added = np.zeros((count, values.shape[1]))
    np.add.at(added, codes, values)
    return added
