"""Seasons: the number of steps of a frequency in an hour, a day, a week or a year."""

import pandas as pd

from kerastrans.data.time.frequency import DAY, offset_of, step_of

_HOUR, _YEAR = (pd.Timedelta(period).value for period in ("1h", "365.25D"))
_SHORTEST_STEP = _HOUR // 12  # five minutes
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


def daily_season(freq):
    """Return the number of steps in a day, for steps of five minutes to an hour.

    Args:
        freq: str, pandas frequency.

    Returns:
        int, or None for shorter and longer steps, and for steps that do not divide a day.

    Raises:
        ValueError: If `freq` is not a frequency.

    Example:
        >>> [daily_season(freq) for freq in ("min", "15min", "h", "2h", "D")]
        [None, 96, 24, None, None]
    """
    step = step_of(freq)
    if step is None or not _SHORTEST_STEP <= step <= _HOUR or DAY % step:
        return None
    return DAY // step


def yearly_season(freq):
    """Return the number of steps in a year, for steps of whole months; 1 for whole years.

    Args:
        freq: str, pandas frequency.

    Returns:
        int, or None for other steps, such as weeks, and for steps that do not divide a year.

    Raises:
        ValueError: If `freq` is not a frequency.

    Example:
        >>> [yearly_season(freq) for freq in ("MS", "2ME", "QS", "2YE-MAR", "5MS", "W", "365D")]
        [12, 6, 4, 1, None, None, None]
    """
    offset = offset_of(freq)
    months = offset.n * _MONTHS.get(offset.rule_code.split("-")[0], 0)
    if not months:
        return None
    if months % 12 == 0:
        return 1
    return None if 12 % months else 12 // months
