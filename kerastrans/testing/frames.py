"""Helpers that treat long and wide frames alike: rows after a cutoff, single series, changes."""

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME, to_long

KEYS = (ID, TIME, "cutoff", "y")


def is_long(frame):
    """Return whether each row names its series; otherwise each column is a channel."""
    return ID in frame.columns


def target_columns(frame, covariates):
    """Return the names of the columns to forecast."""
    return ["y"] if is_long(frame) else [c for c in frame.columns if c not in covariates]


def change_rows(frame, columns, rows, function):
    """Return a copy of the frame with `function` applied to these columns and rows.

    Numeric columns become floats; the values of categories are replaced.
    """
    frame = frame.copy()
    for column in columns:
        if frame[column].dtype.kind in "iuf":
            values = frame[column].to_numpy("float64", copy=True)
            values[rows] = function(values[rows])
        else:  # a category
            values = frame[column].astype(object).to_numpy(copy=True)
            values[rows] = "another category"
        frame[column] = values
    return frame


def is_after(frame, cutoffs, steps=0):
    """Return a bool array of the rows that follow each series' cutoff by more than `steps` rows.

    Args:
        frame: Long or wide DataFrame.
        cutoffs: Series of time stamps, indexed by "unique_id".
        steps: int, number of rows after the cutoff that are excluded.
    """
    if not is_long(frame):
        after = frame.index > cutoffs.iloc[0]
        later = np.sort(frame.index[after])[steps:]
        return np.isin(frame.index, later)
    after = frame[TIME] > frame[ID].map(cutoffs)
    order = frame[TIME].where(after).groupby(frame[ID]).rank(method="first")
    return (order > steps).to_numpy()


def first_rows(frame, count, stride):
    """Return every `stride`-th of the first `count` rows of each series."""
    if not is_long(frame):
        return frame.sort_index().head(count)[::stride]
    frame = frame.sort_values([ID, TIME])
    row = frame.groupby(ID).cumcount()
    return frame[(row < count) & (row % stride == 0)]


def one_series(frame, name):
    """Return the rows of one series of a long frame."""
    return frame[frame[ID] == name]


def both_forms(frame, covariates, channels=None):
    """Return a frame and the same series in the other form: long for wide, wide for long.

    A wide frame has one time axis, so of long series the steps that all of them have are kept.

    Args:
        frame: Long or wide DataFrame.
        covariates: Names of the columns of a wide frame that are not channels.
        channels: Names of the channels of a wide frame; by default all other columns.
    """
    if not is_long(frame):
        return frame, to_long(frame, covariates, channels)
    times = frame.groupby(ID)[TIME]
    frame = frame[frame[TIME].between(times.min().max(), times.max().min())]
    wide = frame.pivot(index=TIME, columns=ID, values=TARGET)
    return frame, wide.rename_axis(index=None, columns=None)


def values(rows):
    """Return forecasts and intervals, indexed by series, time and cutoff, and sorted."""
    keys = [key for key in (ID, TIME, "cutoff") if key in rows.columns]
    return rows.set_index(keys).drop(columns="y", errors="ignore").sort_index()


def assert_rows_close(actual, expected, tolerance, what):
    """Raise AssertionError unless two forecasts have the same rows, columns and values.

    Differences are relative to the largest value of their series.
    """
    actual, expected = values(actual), values(expected)
    if list(actual.columns) != list(expected.columns):
        raise AssertionError(
            f"{what} has columns {list(actual.columns)}, expected {list(expected.columns)}"
        )
    if not actual.index.equals(expected.index):
        raise AssertionError(
            f"{what} has {len(actual)} rows, which differ from the {len(expected)} expected"
        )
    if not np.array_equal(actual.isna(), expected.isna()):
        raise AssertionError(f"{what} has missing values in other places than expected")
    size = expected.abs().max(axis=1).groupby(level=ID).transform("max").clip(lower=1e-30)
    difference = (actual - expected).abs().max(axis=1) / size
    if not (difference.fillna(0.0) <= tolerance).all():
        name = difference.idxmax()[0]
        raise AssertionError(
            f"{what} differs by {difference.max():.1e} of the largest value of series {name!r}, "
            f"{tolerance:.0e} is allowed"
        )


def last_windows(frame, columns, context_length):
    """Return the last `context_length` values of each series, with NaN before short series.

    Returns:
        Dict from the name of each series of a long frame, or from None for a wide frame, to a
        float64 array `(context_length, num_channels)`.
    """
    if not is_long(frame):
        parts = {None: frame.sort_index()}
    else:
        parts = {name: part.sort_values(TIME) for name, part in frame.groupby(ID)}
    windows = {}
    for name, part in parts.items():
        window = part[columns].to_numpy("float64")[-context_length:]
        missing = np.full((context_length - len(window), window.shape[1]), np.nan)
        windows[name] = np.concatenate([missing, window])
    return windows


def has_gaps(frame):
    """Return whether rows are missing inside a series, judged by its median step."""
    times = [part for _, part in frame.groupby(ID)[TIME]] if is_long(frame) else [frame.index]
    steps = [pd.Series(x).sort_values().diff().dropna() for x in times]
    return any((x > 1.5 * x.median()).any() for x in steps)
