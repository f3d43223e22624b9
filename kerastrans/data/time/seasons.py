"""Seasons: how many steps an hour, a day, a week or a year has, and which of them series show."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from kerastrans.data.time.frequency import DAY, MICROSECOND, offset_of, step_of
from kerastrans.utils.validation import check_positive_integers

_HOUR, _YEAR = (pd.Timedelta(period).value for period in ("1h", "365.25D"))
_SHORTEST_STEP = _HOUR // 12  # five minutes
MIN_CONTEXTS = 20  # of two seasons, in all series, that show a season without a test
NEARER = 0.95  # the error of the main season's values, over that of the last values, at most
REPEATED = 0.3  # correlation of changes with those a further season ago, at least
# By the first part of the names of frequencies whose steps vary in length: months, and seasons.
_MONTHS = {
    **dict.fromkeys(("MS", "ME", "BMS", "BME", "CBMS", "CBME"), 1),
    **dict.fromkeys(("QS", "QE", "BQS", "BQE"), 3),
    **dict.fromkeys(("HYS", "HYE", "BHYS", "BHYE"), 6),  # of pandas 3
    **dict.fromkeys(("YS", "YE", "BYS", "BYE"), 12),
}
_SEASONS = {
    **dict.fromkeys(("B", "C"), (5, 261)),
    "W": (52,),
    **dict.fromkeys(("SMS", "SME"), (24,)),
    **{name: (12 // months,) for name, months in _MONTHS.items()},
}


@dataclass(frozen=True)
class Seasons:
    """Seasons of series, in steps.

    Attributes:
        main: int, main season of the clock, see `season_of`; 1 for a clock without one.
        further: Tuple of ints, its longer seasons.
        shown: Tuple of ints, those of them that the series show, see `Seasons.of`.

    Example:
        >>> from kerastrans.data import read_panel
        >>> dates = pd.date_range("2024-01-01", periods=60)
        >>> Seasons.of(read_panel(pd.DataFrame({"sales": np.arange(60) % 7.0}, dates)), 7)
        Seasons(main=7, further=(365,), shown=(7,))
    """

    main: int = 1
    further: tuple = ()
    shown: tuple = ()

    @classmethod
    def of(cls, panel, prediction_length, held_out=0):
        """Return the seasons of the clock of a panel, and those that its training rows show.

        The median series has to hold a season four times. All series together then hold twenty
        contexts of two seasons, or the values show the season:

        - The main season, if values one season ago are at least 5 % nearer than the last values are
          at the steps of a forecast, less the drift of each series.
        - A further season given the next shorter one: means over a shorter season change as they
          did one season ago, with a correlation of at least 0.3 and two standard errors. The
          lag is a multiple of the shorter season: 364 days, which are weeks, for a year of days.

        Args:
            panel: `Panel`.
            prediction_length: int, number of steps of a forecast.
            held_out: int, number of last steps of each series that are not training rows.
        """
        (main, *further), shown = seasons_of(panel.clock.freq), []
        ends = panel.cuts_without_last(held_out)
        series = [panel.values[a:b] for a, b in zip(panel.begins, ends, strict=True)]
        rows = int(np.median(panel.lengths)) - held_out
        for season in held_seasons(panel.clock.freq, rows, times=4):
            is_bearable = MIN_CONTEXTS * 2 * season <= rows * len(panel)
            is_shown, shorter = (_is_repeated, shown[-1:]) if shown else (_is_nearer, [])
            if is_bearable or is_shown(series, prediction_length, season, *shorter):
                shown.append(season)
        return cls(main, tuple(further), tuple(shown))

    @classmethod
    def from_dict(cls, stored):
        """Return the seasons that `to_dict` converted."""
        return cls(stored["main"], *(tuple(map(int, stored[x])) for x in ("further", "shown")))

    to_dict = asdict


def held_seasons(freq, rows, times=1):
    """Return the seasons of a frequency that a number of rows hold so many times.

    Args:
        freq: str, pandas frequency.
        rows: int, number of rows of a series.
        times: int, how often they hold a season.

    Returns:
        Tuple of increasing ints above 1.

    Example:
        >>> held_seasons("D", 400), held_seasons("D", 400, times=2), held_seasons("D", 5)
        ((7, 365), (7,), ())
    """
    return tuple(x for x in seasons_of(freq) if 1 < x <= rows // times)


def shortest_season(freq, rows):
    """Return the shortest season of a frequency that a number of rows holds twice, 1 for none.

    Naive and statistical models repeat it.

    Args:
        freq: str, pandas frequency.
        rows: int, number of rows of the longest series.

    Example:
        >>> shortest_season("D", 14), shortest_season("D", 13)
        (7, 1)
    """
    return min(held_seasons(freq, rows, times=2), default=1)


def choose_season(given, rows, default):
    """Return the given season, or the default if it is None.

    Raises:
        ValueError: If series of at most `rows` steps cannot show the given season.
    """
    if given is None:
        return default
    check_positive_integers(season=given)
    if given >= rows:
        raise ValueError(
            f"season must be below the {rows} steps of the longest series, got {given}."
        )
    return given


def seasons_of(freq):
    """Return the seasons of a frequency, in steps.

    The first is the main season, see `season_of`. The others are longer, for choosing the best of
    several seasonal-naive forecasts.

    Args:
        freq: str, pandas frequency: "15min", "h", "D", "W-SUN", "MS", "QE-NOV" ...

    Returns:
        Tuple of increasing ints; `(1,)` for a frequency without a season.

    Raises:
        ValueError: If `freq` is not a frequency.

    Example:
        >>> seasons_of("15min"), seasons_of("h"), seasons_of("D"), seasons_of("MS")
        ((96, 672), (24, 168), (7, 365), (12,))
    """
    step = step_of(freq)
    if step is None:
        offset = offset_of(freq)
        seasons = _SEASONS.get(offset.rule_code.split("-")[0], (1,))
        return tuple(s // offset.n for s in seasons if s % offset.n == 0 and s > offset.n) or (1,)
    if step < MICROSECOND:  # integers
        return (1,)
    # The main season is an hour for steps below a minute, and a day for longer steps.
    periods = (_HOUR, DAY) if step < _HOUR // 60 else (DAY, 7 * DAY)
    seasons = [period // step for period in periods if period % step == 0]
    if step >= DAY:
        seasons.append(round(_YEAR / step))
    return tuple(season for season in seasons if season > 1) or (1,)


def season_of(freq):
    """Return the number of steps in the main season of a frequency, the first of `seasons_of`.

    Args:
        freq: str, pandas frequency.

    Returns:
        int, the number of steps in an hour for seconds, in a day for minutes and hours, in a week
        for days and business days, in a year for weeks, months and quarters; 1 for a frequency
        without a season.

    Raises:
        ValueError: If `freq` is not a frequency.

    Example:
        >>> [season_of(freq) for freq in ("15min", "h", "D", "B", "W-SUN", "QE-NOV", "YS")]
        [96, 24, 7, 5, 52, 4, 1]
    """
    return seasons_of(freq)[0]


def mase_season(freq):
    """Return the season that scales errors by the convention of the M4 competition.

    It is the main season of the single step, but 1 for days and weeks, and if a multiple such as
    "5h" does not divide the season.

    Args:
        freq: str, pandas frequency.

    Raises:
        ValueError: If `freq` is not a frequency.

    Source: the table of GluonTS (`gluonts.time_feature.get_seasonality`), which GIFT-Eval uses,
    and the seasons of the M4 competition.

    Example:
        >>> [mase_season(freq) for freq in ("15min", "h", "2h", "D", "B", "W-SUN", "MS", "QE-NOV")]
        [96, 24, 12, 1, 5, 1, 12, 4]
    """
    offset = offset_of(freq)
    season = 1 if offset.rule_code.split("-")[0] in ("D", "W") else season_of(offset.base)
    return season // offset.n if season % offset.n == 0 else 1


def phase_season(freq):
    """Return the season whose phases kerastrans-zero 2 compares: a day or a year.

    It is a day for steps of five minutes to an hour that divide it, and a year for steps of whole
    months that divide it; 1 for whole years.

    Args:
        freq: str, pandas frequency.

    Returns:
        int, number of steps, or None for other steps.

    Raises:
        ValueError: If `freq` is not a frequency.

    Example:
        >>> [phase_season(freq) for freq in ("min", "15min", "h", "2h", "D", "2ME", "QS", "5MS")]
        [None, 96, 24, None, None, 6, 4, None]
    """
    step, offset = step_of(freq), offset_of(freq)
    if step is not None:
        return None if not _SHORTEST_STEP <= step <= _HOUR or DAY % step else DAY // step
    months = offset.n * _MONTHS.get(offset.rule_code.split("-")[0], 5)
    return max(12 // months, 1) if 0 in (12 % months, months % 12) else None


def _is_nearer(series, steps, season):
    """Return whether values one season ago are nearer than the last values of a forecast."""

    def difference(lag):
        changes = [y[lag:] - y[:-lag] for y in series if np.isfinite(y[lag:] - y[:-lag]).any()]
        changes = [np.abs(change - np.nanmedian(change)).ravel() for change in changes]
        return np.nanmean(np.concatenate(changes)) if changes else np.inf

    return difference(season) < NEARER * np.mean([difference(x) for x in range(1, steps + 1)])


def _is_repeated(series, steps, season, shorter):
    """Return whether the changes of the means over a shorter season repeat those a season ago."""
    steps, lag = max(steps, shorter), round(season / shorter) * shorter
    products = []
    for y in series:
        changes = pd.DataFrame(y).rolling(shorter, shorter // 2 + 1).mean().diff(steps)
        changes = ((changes - changes.mean()) / changes.std().replace(0, np.nan)).to_numpy()
        products.append((changes[lag:] * changes[:-lag]).ravel())
    products = np.concatenate(products)
    products = products[np.isfinite(products)]
    # Changes within `steps + shorter` rows share values.
    error = np.sqrt((steps + shorter) / max(len(products), 1))
    return products.sum() > max(REPEATED, 2 * error) * len(products)
