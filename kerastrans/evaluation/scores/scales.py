"""True values of series, and the scales of scaled errors."""

import numpy as np
import pandas as pd

from kerastrans.data.frames import to_long
from kerastrans.data.panel import read_panel
from kerastrans.data.time.seasons import choose_season, mase_season
from kerastrans.evaluation.columns import CUTOFF, ID, TARGET, TIME, check_columns
from kerastrans.utils.user_warnings import warn_user


def as_long(frame):
    """Return the columns "unique_id", "ds" and "y" of a long or wide frame.

    Args:
        frame: DataFrame with these columns, or with a DatetimeIndex and one column per channel.
            Columns that are not numeric are left out.

    Raises:
        ValueError: If the frame is neither long nor wide.

    Example:
        >>> times = pd.date_range("2024-01-01", periods=2, freq="D")
        >>> as_long(pd.DataFrame({"a": [1, 2], "b": [3, 4]}, times))["unique_id"].tolist()
        ['a', 'a', 'b', 'b']
    """
    check_columns(frame)
    if isinstance(frame.index, pd.DatetimeIndex) and ID not in frame.columns:
        return to_long(frame.select_dtypes("number").rename_axis(columns=None), ())[
            [ID, TIME, TARGET]
        ]
    check_columns(frame, ID, TIME, TARGET)
    return frame[[ID, TIME, TARGET]]


def observed_values(history, forecasts):
    """Return a long frame of the true values of the series in a frame of forecasts, sorted by time.

    Args:
        history: Long or wide DataFrame, or None.
        forecasts: DataFrame of forecasts. Its column "y", if present, is added to the history.
    """
    parts = [] if history is None else [as_long(history)]
    if TARGET in forecasts:
        parts.append(forecasts[[ID, TIME, TARGET]])
    if not parts:
        return forecasts[[ID, TIME]].head(0).assign(y=0.0)
    values = pd.concat(parts)
    values = values[values[ID].isin(forecasts[ID].unique())]
    return values.groupby([ID, TIME], as_index=False).first()  # first value that is not NaN


def error_scales(backtest, train, season=None, freq=None):
    """Return the mean absolute and mean squared seasonal difference of each series of a backtest.

    Differences are taken between values one season apart in time. Pairs that include a missing
    value, and rows after the first origin of a series, are ignored.

    Args:
        backtest: DataFrame with the columns "unique_id" and "cutoff".
        train: Long or wide DataFrame of the training rows, or None.
        season: int, number of steps in the season. None for `mase_season` of the frequency; series
            that are too short for it then have no scale.
        freq: str, pandas frequency; required if it cannot be inferred from the time stamps of
            `train`.

    Returns:
        DataFrame with one row per series, in the order of the backtest, and the columns "absolute"
        and "squared". Series without a scale are NaN, and a warning names them with the reason.
        None if `train` is None.

    Raises:
        ValueError: If a season or a frequency is given without training rows.
        ValueError: If no series has training rows, or `season` is not shorter than the longest
            series.

    Source: Hyndman, Koehler (2006); Makridakis et al. (2022), section 2.4.
    """
    if train is None and (season is not None or freq is not None):
        raise ValueError("season and freq describe the training rows: pass train= as well.")
    if train is None:
        return None
    first_cutoffs = backtest.groupby(ID, sort=False)[CUTOFF].min()
    train = as_long(train)
    train = train[train[TIME] <= train[ID].map(first_cutoffs)]
    if train.empty:
        raise ValueError("train holds no row of the backtest's series up to their first origin.")
    panel = read_panel(train, freq=freq)
    longest = int((panel.ends - panel.begins).max())
    season = choose_season(season, longest, mase_season(panel.clock.freq))
    scales = seasonal_differences(panel, season).reindex(first_cutoffs.index)
    # The reason why a series has no scale; a later entry replaces an earlier one.
    faults = {name: panel.faults.get(str(name), "no training rows") for name in scales.index}
    faults |= dict.fromkeys(panel.names[:, 0], f"no two values {season} steps apart")
    faults |= dict.fromkeys(scales.index[scales["absolute"] == 0], "it repeats itself exactly")
    scales = scales.where(scales["absolute"] > 0)
    unscaled = scales.index[scales["absolute"].isna()]
    if len(unscaled):
        warn_of_series("no scale, so left out of mase, rmsse, sql and msis", unscaled, faults)
    return scales


def seasonal_differences(panel, season, ends=None):
    """Return the means of the absolute and squared differences a season apart, by series.

    Differences are between values one season apart in time, not in rows: pairs that include a
    missing value are ignored.

    Args:
        panel: `Panel` of single series.
        season: int, number of steps.
        ends: Array `(series,)`, the row after the last one used of each series; None for all.

    Returns:
        DataFrame with the columns "absolute" and "squared", one row per series.

    Example:
        >>> frame = pd.DataFrame({"load": [1.0, 2.0, 5.0]}, pd.to_datetime(["2024-01-01",
        ...     "2024-01-02", "2024-01-04"]))
        >>> seasonal_differences(read_panel(frame, freq="D"), 1)["absolute"].tolist()
        [1.0]
    """
    # The panel holds all series in one column: list the rows and the series of each.
    ends = panel.ends if ends is None else np.maximum(ends, panel.begins)
    lengths = ends - panel.begins
    series = np.repeat(np.arange(len(panel)), lengths)
    rows = np.repeat(panel.begins - np.cumsum(lengths) + lengths, lengths) + np.arange(len(series))
    # Keep the rows whose value one season earlier belongs to the same series.
    has_season = rows - season >= panel.begins[series]
    rows, series = rows[has_season], series[has_season]
    change = pd.Series(panel.values[rows, 0] - panel.values[rows - season, 0])
    table = pd.DataFrame({"absolute": change.abs(), "squared": change**2})
    means = table.groupby(series).mean().reindex(range(len(panel)))
    return means.set_axis(panel.names[:, 0])


def warn_of_series(what, names, reasons):
    """Warn about series, naming the first five of them with the reasons."""
    shown = "; ".join(f"{name!r}: {reasons[name]}" for name in names[:5])
    more = f"; and {len(names) - 5} more" if len(names) > 5 else ""
    warn_user(f"{what}: {len(names)} series ({shown}{more}).")
