"""Sample paths as a table, and their sums and means over steps and series."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from narwhals.typing import IntoDataFrameT

from kerastrans.data.frames import ID, TARGET, TIME, check_is_frame, is_wide, to_long
from kerastrans.data.native_frames import takes_any_frame
from kerastrans.evaluation.columns import PATH, STEPS, check_columns, interval_columns, read_columns
from kerastrans.forecasting.inference.adaptation import adapt_to_clock, adapt_to_frame
from kerastrans.forecasting.inference.horizon import with_horizon
from kerastrans.forecasting.inference.reader import Reader
from kerastrans.forecasting.inference.rolling_origins import warn_in_sample
from kerastrans.utils.user_warnings import warn_user
from kerastrans.utils.validation import (
    check_choice,
    check_levels,
    check_percents,
    check_positive_integers,
)


@dataclass(frozen=True)
class PathTable:
    """Sample paths of several series, with one row of values per series and path.

    Attributes:
        alias: str, name of the column of values.
        keys: DataFrame with "unique_id" and "path", one row per row of `values`.
        times: DatetimeIndex of the steps, increasing.
        values: `(rows, steps)`, NaN for a step that a series does not have.
    """

    alias: str
    keys: pd.DataFrame
    times: pd.DatetimeIndex
    values: np.ndarray

    @classmethod
    def read(cls, paths, alias=None):
        """Read a frame that `Forecaster.simulate` returned, with its rows in any order.

        Raises:
            TypeError: If `paths` is not a frame.
            ValueError: If the frame is empty, a column is missing, or a series has two values at a
                step of a path.
        """
        check_is_frame(paths)
        check_columns(paths, ID, TIME, PATH)
        if paths.empty:
            raise ValueError("the frame of paths has no rows.")
        alias = read_columns(paths, alias).alias
        codes, keys = paths.groupby([ID, PATH], sort=False).ngroup(), paths[[ID, PATH]]
        keys = keys.loc[~codes.duplicated()].reset_index(drop=True)
        places, times = pd.factorize(pd.DatetimeIndex(paths[TIME]), sort=True)
        taken = codes.to_numpy() * len(times) + places
        if len(np.unique(taken)) < len(taken):
            row = paths[pd.Series(taken, paths.index).duplicated()].iloc[0]
            raise ValueError(
                f"path {row[PATH]} of {row[ID]!r} has two values at {row[TIME]}: give the paths of "
                "one forecast."
            )
        values = np.full(len(keys) * len(times), np.nan)
        values[taken] = paths[alias].to_numpy("float64")
        return cls(alias, keys, times, values.reshape(len(keys), len(times)))

    def blocks(self, freq):
        """Return the number of the block of each step, and the first time stamp of each block.

        Args:
            freq: pandas frequency, such as "D" or "W", whose periods are the blocks; an int, the
                number of steps of a block; None for a single block.

        Raises:
            ValueError: If `freq` is neither.
        """
        if freq is None:
            return np.zeros(len(self.times), int), self.times[:1]
        if isinstance(freq, int | np.integer) and not isinstance(freq, bool) and freq > 0:
            numbers = np.arange(len(self.times)) // freq
            return numbers, self.times[::freq]
        try:
            periods = pd.Series(0, self.times).groupby(pd.Grouper(freq=freq)).ngroup()
        except (TypeError, ValueError, AttributeError):
            raise ValueError(
                f"freq must be a pandas frequency, a number of steps or None, got {freq!r}."
            ) from None
        numbers, _ = pd.factorize(periods)
        return numbers, self.times[np.flatnonzero(np.diff(numbers, prepend=-1))]


def read_groups(by, names):
    """Return the group of each series.

    Args:
        by: None for each series by itself; "all" for one group; a dict of series -> group; or a
            frame with "unique_id" and one more column, the groups.
        names: Array of the names of the series.

    Raises:
        ValueError: If a series has no group.
    """
    if by is None:
        return np.asarray(names, object)
    if isinstance(by, str):
        if by != "all":
            raise ValueError(f"by must be None, 'all', a dict or a frame, got {by!r}.")
        return np.full(len(names), "all", object)
    if isinstance(by, pd.DataFrame):
        check_columns(by, ID)
        if by.shape[1] != 2:
            raise ValueError(
                f"by must have two columns, unique_id and the groups, got {list(by.columns)}."
            )
        by = dict(zip(by[ID], by[by.columns.difference([ID])[0]], strict=True))
    names = np.asarray(names, object)
    missing = [name for name in pd.unique(names) if name not in by or pd.isna(by[name])]
    if missing:
        raise ValueError(f"{len(missing)} series have no group in by, {missing[0]!r} is the first.")
    return np.array([by[name] for name in names], object)


def over_paths(frame, quantiles, columns):
    """Return quantiles over paths of some columns: one row per series, time and probability.

    Args:
        frame: DataFrame with "unique_id", perhaps "ds", "path", and the columns.
        quantiles: Probabilities.
        columns: Names of columns of numbers or time stamps.
    """
    keys = [name for name in (ID, TIME) if name in frame.columns and name not in columns]
    levels = list(check_levels(quantiles))
    groups = frame.groupby(keys, sort=False)[columns]
    parts = [groups.quantile(level).assign(quantile=level).reset_index() for level in levels]
    rows = pd.concat(parts, ignore_index=True)
    order = frame[keys].drop_duplicates().reset_index(drop=True)
    rows = order.merge(rows, on=keys, how="left")
    return rows[[*keys, "quantile", *columns]]


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


@takes_any_frame
def backtest_aggregates(
    forecaster: Any,
    frame: IntoDataFrameT,
    freq: str | int | None = None,
    *,
    windows: int = 5,
    step: int | None = None,
    how: str = "sum",
    by: Any = None,
    levels: Sequence[float] = (80, 95),
    num_paths: int = 100,
    seed: int = 0,
    static: Any = None,
    prediction_length: int | None = None,
) -> IntoDataFrameT:
    """Forecast sums or means of steps and series from several origins, and give the true ones.

    All series have the same origins, so that their sums are of the same dates. The true values are
    aggregated as the paths are, see `aggregate_paths`, and `kerastrans.backtesting.score` scores
    the result: "coverage-80" is the share of sums within their intervals of 80 %.

    Args:
        forecaster: Trained `kerastrans.Forecaster`.
        frame: Long or wide DataFrame of the rows up to the end of the last origin's horizon, with
            the covariates.
        freq: As in `aggregate_paths`; None for the whole horizon.
        windows: int, number of origins; the last one is `prediction_length` steps before the end.
        step: int, number of steps from one origin to the next; by default `prediction_length`.
        how: As in `aggregate_paths`.
        by: As in `aggregate_paths`.
        levels: Percents of the intervals. The upper bound of 90 is the stock that is enough in 95 %
            of the cases.
        num_paths: As in `Forecaster.simulate`, as the following.
        seed: int.
        static: DataFrame of static covariates.
        prediction_length: int, number of steps to forecast.

    Returns:
        DataFrame with the columns "unique_id", "ds" (the first time stamp of the period), "cutoff",
        "y" (the true sum), the median and the bounds of the intervals under the names of `predict`.

    Raises:
        ValueError: If the frame has too few time stamps, or an argument of `aggregate_paths` or
            `Forecaster.simulate` is invalid.

    Warns:
        UserWarning: If the model was trained on rows of a horizon.

    Example:
        >>> import kerastrans
        >>> forecaster = kerastrans.zoo.from_preset("nhits_air_passengers_12")
        >>> passengers = kerastrans.datasets.load("air_passengers")
        >>> rows = backtest_aggregates(forecaster, passengers, windows=2, levels=[80])
        >>> rows.columns.tolist()[3:]
        ['y', 'nhits', 'nhits-lo-80', 'nhits-hi-80']
    """
    config, alias = forecaster.config, forecaster.alias
    ahead = [*config.future, *config.limits]
    state = adapt_to_clock(adapt_to_frame(forecaster._trained(), frame), frame)
    steps = with_horizon(state, prediction_length).config.prediction_length
    step = steps if step is None else step
    check_positive_integers(windows=windows, step=step)
    names = {alias: 0.5}
    for level in check_percents(levels):
        tail = (100 - level) / 200
        names |= dict(zip(interval_columns(alias, level), (tail, 1 - tail), strict=True))
    long = to_long(frame, {*config.past, *ahead}) if is_wide(frame) else frame
    stamps = pd.DatetimeIndex(frame.index if is_wide(frame) else frame[TIME])
    panel = Reader.like(state).panel(frame, static)
    series = np.arange(len(panel))
    ends, first = panel.numbers(series, panel.cuts), panel.first.min()
    starts = ends.max() - steps - step * np.arange(windows)[::-1]  # on the clock
    if starts[0] <= first:
        raise ValueError(
            f"windows={windows} of {steps} steps need more than the {ends.max() - first} time "
            "stamps given."
        )
    cuts = panel.cuts - (ends - starts[:, None])
    warn_in_sample(state, panel, np.tile(series, windows), cuts.ravel(), "score")
    draws = {"num_paths": num_paths, "seed": seed, "prediction_length": steps, "static": static}
    draws["freq"], sums, rows = panel.clock.freq, {"how": how, "by": by}, []
    for start in starts:
        cutoff, last = panel.clock.times(np.array([start - 1, start + steps - 1]))
        part = frame[(stamps > cutoff) & (stamps <= last)]
        future = part[ahead if is_wide(frame) else [ID, TIME, *ahead]] if ahead else None
        paths = forecaster.simulate(frame[stamps <= cutoff], future=future, **draws)
        found = aggregate_paths(paths, freq, quantiles=sorted({*names.values()}), **sums)
        found = found.pivot(index=[ID, TIME], columns="quantile", values=alias).reset_index()
        truth = paths[[ID, TIME]].drop_duplicates().merge(long[[ID, TIME, TARGET]], how="left")
        truth = truth.rename(columns={TARGET: alias}).assign(**{PATH: 0})
        truth = aggregate_paths(truth, freq, **sums).rename(columns={alias: TARGET})
        found = found.merge(truth[[ID, TIME, TARGET]])
        columns = {name: found[probability] for name, probability in names.items()}
        rows.append(found[[ID, TIME]].assign(cutoff=cutoff, y=found[TARGET], **columns))
    return pd.concat(rows, ignore_index=True)


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
