"""What the errors of a series are divided by: the seasonal differences of its training rows."""

import warnings

import numpy as np
import pandas as pd

from kerastrans.data.panel import read_panel
from kerastrans.data.time.frequency import offset_of
from kerastrans.data.time.seasons import season_of
from kerastrans.evaluation.columns import CUTOFF, ID, TIME
from kerastrans.evaluation.observations import as_long
from kerastrans.utils.validation import check_positive_integers


def scale_season(freq):
    """Steps of the season that scales errors of a frequency.

    Those of an hour for seconds, of a day for minutes and hours, of a week for business days, of
    a year for months and quarters, and 1 for days, weeks and years; also 1 where steps of several
    units do not divide the season. For longer seasons see `kerastrans.data.seasons_of`.

    Args:
        freq: str, pandas frequency.

    Raises:
        ValueError: not a frequency.

    Source: the table of GluonTS (`gluonts.time_feature.get_seasonality`), by which GIFT-Eval
    scores, and of the M4 competition.

    Example:
        >>> [scale_season(freq) for freq in ("15min", "h", "2h", "D", "B", "W-SUN", "MS", "QE-NOV")]
        [96, 24, 12, 1, 5, 1, 12, 4]
    """
    offset = offset_of(freq)
    unit = offset.rule_code.split("-")[0]
    season = 1 if unit in ("D", "W") else season_of(offset.base)
    return season // offset.n if season % offset.n == 0 else 1


def series_scales(backtest, train, season=None, freq=None):
    """Mean absolute and mean squared seasonal difference of each series of a backtest.

    Differences are between values that are a season apart in time: a missing row is a gap, and
    no pair that includes a gap counts. Nor do rows after the first origin of a series.

    Args:
        backtest: frame with "unique_id" and "cutoff".
        train: long or wide frame of the training rows, or None.
        season: int, steps of the season; None for `scale_season` of the frequency, with which
            series that are too short have no scale.
        freq: str, pandas frequency, where the time stamps of `train` do not tell it.

    Returns:
        DataFrame, a row a series in the order of the backtest, columns "absolute" and "squared":
        NaN for a series without a scale, of which a warning says the name and why. None without
        training rows.

    Raises:
        ValueError: a season or a frequency without training rows.
        ValueError: no series has training rows, or a given season is as long as the longest.

    Source: Hyndman, Koehler (2006); Makridakis et al. (2022), section 2.4.
    """
    if train is None and (season is not None or freq is not None):
        raise ValueError("season and freq are those of the training rows: give train= too.")
    if train is None:
        return None
    if season is not None:
        check_positive_integers(season=season)
    first_cutoffs = backtest.groupby(ID, sort=False)[CUTOFF].min()
    train = as_long(train)
    train = train[train[TIME] <= train[ID].map(first_cutoffs)]
    if train.empty:
        raise ValueError("train holds no row of the backtest's series up to their first origin.")
    panel = read_panel(train, freq=freq)
    longest = int((panel.ends - panel.begins).max())
    if season is not None and season >= longest:
        raise ValueError(
            f"season must be below the {longest} steps of the longest training series, got "
            f"{season}."
        )
    season = scale_season(panel.clock.freq) if season is None else season
    scales = _differences(panel, season).reindex(first_cutoffs.index)
    faults = {name: panel.faults.get(str(name), "no training rows") for name in scales.index}
    faults |= dict.fromkeys(panel.names[:, 0], f"no two values {season} steps apart")
    faults |= dict.fromkeys(scales.index[scales["absolute"] == 0], "it repeats itself exactly")
    scales = scales.where(scales["absolute"] > 0)
    unscaled = scales.index[scales["absolute"].isna()]
    if len(unscaled):
        warn_of_series("no scale, and no part in mase, rmsse, sql and msis", unscaled, faults)
    return scales


def _differences(panel, season):
    """Means of the absolute and squared differences a season apart, by series."""
    lengths = panel.ends - panel.begins
    series = np.repeat(np.arange(len(panel)), lengths)
    rows = np.repeat(panel.begins - np.cumsum(lengths) + lengths, lengths) + np.arange(len(series))
    has_season = rows - season >= panel.begins[series]
    rows, series = rows[has_season], series[has_season]
    change = pd.Series(panel.values[rows, 0] - panel.values[rows - season, 0])
    table = pd.DataFrame({"absolute": change.abs(), "squared": change**2})
    means = table.groupby(series).mean().reindex(range(len(panel)))
    return means.set_axis(panel.names[:, 0])


def warn_of_series(what, names, reasons):
    """Warn that some series have `what`, with the first five of them and why."""
    shown = "; ".join(f"{name!r}: {reasons[name]}" for name in names[:5])
    more = f"; and {len(names) - 5} more" if len(names) > 5 else ""
    warnings.warn(f"{what}: {len(names)} series ({shown}{more}).", UserWarning, stacklevel=4)
