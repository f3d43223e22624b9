"""Sums and means of sample paths over steps and series."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrameT

from kerastrans.data.frames import ID, TIME
from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.columns import PATH, STEPS
from kerastrans.forecasting.paths.table import PathTable, over_paths, read_groups
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import check_choice


@takes_any_frame
def aggregate_paths(
    paths: IntoDataFrameT,
    freq: str | int | None = None,
    *,
    how: str = "sum",
    by: Any = None,
    incomplete: str = "nan",
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
            With a frequency, the column "steps" says how many these are.
        how: "sum" or "mean".
        by: None for each series; "all" for all series together; a dict of series -> group, or a
            frame with "unique_id" and a column of groups.
        incomplete: What a group is that lacks one of its series at a time stamp of a period, as of
            series that end at different times: "nan" for NaN, with a warning, or "sum" for the sum
            or mean of what there is.
        quantiles: Probabilities whose quantiles over the paths are returned instead of the paths.
        alias: Name of the column of values, if there are several.

    Returns:
        DataFrame with the columns "unique_id" (the series, or the group), "ds" (the first time
        stamp of the period), "path" and the values; "quantile" instead of "path" for quantiles;
        and "steps", the number of time stamps of the period, if there is a frequency. A sum is NaN
        if a part of it is.

    Raises:
        ValueError: If a column is missing, `freq`, `how`, `incomplete` or a quantile is invalid,
            or a series has no group.

    Example:
        >>> import kerastrans
        >>> forecaster = kerastrans.zoo.from_preset("nhits_air_passengers_12")
        >>> paths = forecaster.simulate(kerastrans.datasets.load("air_passengers"))
        >>> years = aggregate_paths(paths, "YS", quantiles=[0.1, 0.9])
        >>> years[["unique_id", "quantile"]].values.tolist()
        [['passengers', 0.1], ['passengers', 0.9]]
    """
    check_choice("how", how, ("sum", "mean"))
    check_choice("incomplete", incomplete, ("nan", "sum"))
    table = PathTable.read(paths, alias)
    numbers, starts = table.blocks(freq)
    exists = _exists(paths, table)
    groups = read_groups(by, table.keys[ID])
    members, names = pd.factorize(groups)
    held = _add_rows(exists, members, len(names)) > 0  # which steps any series of a group has
    lacks = held[members] & ~exists
    sums, counts, lacks, held = (
        np.stack([x[:, numbers == block].sum(axis=1) for block in range(len(starts))], axis=1)
        for x in (np.where(exists, table.values, 0.0), exists, lacks, held)
    )
    keys = pd.DataFrame({ID: groups, PATH: table.keys[PATH]})
    codes = keys.groupby([ID, PATH], sort=False).ngroup().to_numpy()
    is_first = ~pd.Series(codes).duplicated()
    keys, members = keys.loc[is_first].reset_index(drop=True), members[is_first]
    sums, counts, lacks = (_add_rows(x, codes, len(keys)) for x in (sums, counts, lacks))
    with np.errstate(invalid="ignore"):
        values = sums / counts if how == "mean" else np.where(counts > 0, sums, np.nan)
    if incomplete == "nan" and lacks.any():
        values[lacks > 0] = np.nan
        lacking = (lacks > 0).any(axis=0)
        first = keys[ID][np.argmax(lacks[:, lacking.argmax()])]
        warn_user(
            f"{lacking.sum()} of {len(starts)} periods lack a series of a group, the first of them "
            f"of {first!r} at {starts[lacking.argmax()]}: their values are NaN. Give "
            "incomplete='sum' for those of the other series."
        )
    rows = pd.DataFrame(
        {
            ID: np.repeat(keys[ID].to_numpy(), len(starts)),
            TIME: np.tile(starts, len(keys)),
            PATH: np.repeat(keys[PATH].to_numpy(), len(starts)),
            table.alias: values.ravel(),
            **({} if freq is None else {STEPS: held[members].ravel()}),
        }
    )
    rows = rows[counts.ravel() > 0].reset_index(drop=True)
    if quantiles is None:
        return rows
    found = over_paths(rows, quantiles, [table.alias])
    if freq is None:
        return found
    return found.merge(rows[[ID, TIME, STEPS]].drop_duplicates(), on=[ID, TIME], how="left")


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
