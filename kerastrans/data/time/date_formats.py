"""Inference of the format of dates: which formats read a whole column, and which one is meant."""

import itertools
import re
import warnings
from datetime import datetime

import numpy as np
import pandas as pd
from pandas.tseries.api import guess_datetime_format

from kerastrans.data.time.dates import EXCEL, ISO, NAMES, QUARTER, WEEK, offsets_of, parse_dates

_YEAR_MONTH = "%y%m"  # of four digits, which are a year if this is about as regular
# Formats of numbers, by their number of digits. Numbers of five digits are serial dates of Excel.
_OF_DIGITS = {
    4: ("%Y", _YEAR_MONTH),
    5: (EXCEL,),
    6: ("%Y%m", "%y%m%d"),
    8: ("%Y%m%d",),
    10: ("s", "%Y%m%d%H"),
    12: ("%Y%m%d%H%M",),
    13: ("ms",),
    14: ("%Y%m%d%H%M%S",),
    16: ("us",),
    19: ("ns",),
}
# Formats that pandas does not guess.
_DAYS = [
    *(order.replace("-", sign) for sign in "./-" for order in ("%m-%d-%y", "%d-%m-%y")),
    *(order.replace("-", sign) for sign in "./-" for order in ("%m-%d-%Y", "%d-%m-%Y", "%m-%Y")),
    *(order.replace("-", sign) for sign in " -" for order in ("%d-%b-%y", "%b-%Y", "%B-%Y")),
    *("%y-%m-%d", "%d-%b-%Y", "%b-%y", "%d %B %Y"),
]
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_OTHERS = tuple(day + time for day, time in itertools.product(_DAYS, _TIMES))
_IS_QUARTER = re.compile(r"\d{4}[- ]?[Qq][1-4]|[Qq][1-4][- ]?\d{4}")
_IS_WEEK = re.compile(r"\d{4}-?W\d{2}")
NUM_EXAMPLES = 3  # cells whose formats are tried on the column


class AmbiguousDatesError(ValueError):
    """Raised if two formats read a column as different, equally regular time stamps.

    Attributes:
        formats: The two formats.
        fault: The message without the argument that decides.
    """

    def __init__(self, column, readings):
        described = [
            f"{describe_format(x)}: {times.iloc[0]} to {times.iloc[-1]}"
            for x, times in readings.items()
        ]
        self.formats = tuple(readings)
        self.fault = (
            f"column {column.name!r} can be read in two ways, {described[0]}, or {described[1]}"
        )
        super().__init__(f"{self.fault}: give {_deciding(*self.formats)}.")


def infer_dates(column, dayfirst=None, expected=None):
    """Parse a column of text by the format that reads all of it.

    Args:
        column: Series of str, None or NaN for missing cells.
        dayfirst: bool, whether 03/04/2024 is the third of April; None to infer it. Dots always
            separate dates whose day is first. If several formats read the column, it is the one
            with half the missing steps of the others, or fewer.
        expected: Format of related dates, which decides if it reads the column; or None.

    Returns:
        Format, see `parse_dates`, and a Series of time stamps, NaT for cells that it cannot read.
        The format is None if no format reads any cell.

    Raises:
        AmbiguousDatesError: If two formats read all cells as different, equally regular times.

    Example:
        >>> infer_dates(pd.Series(["01/02/2024", "13/02/2024"]))[0]
        '%d/%m/%Y'
    """
    cells = column[column.notna()]
    if cells.empty or cells.isin(["now", "today", "Now", "Today", "NOW", "TODAY"]).any():
        return None, pd.Series(pd.NaT, column.index)
    iso = None
    if not cells.iloc[0].isdigit():
        iso = parse_dates(column, ISO)  # before others, because it is fast and not ambiguous
        if len(cells) == iso.notna().sum():
            return ISO, iso
    readings = {} if iso is None else {ISO: iso}
    readings |= {x: parse_dates(column, x) for x in _candidates(cells, dayfirst)}
    counts = {x: int(times.notna().sum()) for x, times in readings.items()}
    complete = {x: readings[x] for x in readings if counts[x] == len(cells)}
    if not complete:
        best = max(counts, key=counts.get, default=None)
        if best is None or not counts[best]:
            return None, pd.Series(pd.NaT, column.index)
        return best, readings[best]
    if expected in complete:
        return expected, complete[expected]
    return _most_regular(column, complete)


def _candidates(cells, dayfirst):
    """Return the formats that read some example cells."""
    examples = [
        cells.iloc[i].strip() for i in np.linspace(0, len(cells) - 1, NUM_EXAMPLES, dtype=int)
    ]
    formats = []
    for text in dict.fromkeys(examples):
        number = re.fullmatch(r"(\d+)(\.\d+)?", text)
        if number:
            formats += _OF_DIGITS.get(len(number[1]), ())
        elif _IS_QUARTER.fullmatch(text):
            formats.append(QUARTER)
        elif _IS_WEEK.fullmatch(text):
            formats.append(WEEK)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # pandas advises dayfirst=True
                guesses = [guess_datetime_format(text), guess_datetime_format(text, dayfirst=True)]
            # With the day first, pandas reads 2024/01/02 as the first of February.
            formats += [x for x in guesses if x and not (x is guesses[1] and x[:2] == "%Y")]
            formats += [x for x in _OTHERS if _reads(x, text)]
    return [x for x in dict.fromkeys(formats) if _is_meant(x, dayfirst)]


def _reads(date_format, text):
    try:
        datetime.strptime(text, date_format)
    except ValueError:
        return False
    return True


def _order(date_format):
    """Return True if the day is before the month, False if it is after it, otherwise None."""
    if date_format[:2] not in ("%d", "%m") or not {"%d", "%m"} <= {*_directives(date_format)}:
        return None
    return date_format[:2] == "%d"


def _directives(date_format):
    return re.findall("%.", date_format)


def _is_meant(date_format, dayfirst):
    """Return whether a format has the given order; with dots, the day is first by default."""
    order = _order(date_format)
    if order is None:
        return True
    if dayfirst is None:
        return order or "." not in date_format
    return order == dayfirst


def _most_regular(column, readings):
    """Return the format and times of the reading with the fewest missing steps."""
    different = {}
    for date_format, times in readings.items():
        if not any(times.equals(other) for other in different.values()):
            different[date_format] = times
    density = {x: _density(times) for x, times in different.items()}
    best = max(density, key=density.get)
    similar = [x for x in density if 2 * density[x] > density[best]]
    if "%Y" in similar and _YEAR_MONTH in similar:
        return "%Y", different["%Y"]
    if len(similar) > 1:
        raise AmbiguousDatesError(column, {x: different[x] for x in similar[:2]})
    return best, different[best]


def _density(times):
    """Return the share of the steps between the first and the last time stamp that exist.

    The step is the most common one, in seconds or, for stamps on one day of the month, in months.
    """
    times = pd.DatetimeIndex(times.dropna().unique()).sort_values().tz_localize(None)
    if len(times) < 3:
        return 1.0
    places = [times.as_unit("s").asi8]
    months = 12 * times.year.to_numpy() + times.month.to_numpy()
    if times.day.nunique() == 1 and months[0] < months[-1]:
        places.append(months)
    # Number of existing steps, in units of the most common step, over the whole range.
    steps = [np.diff(place) for place in places]
    common = [np.unique(x, return_counts=True) for x in steps]
    return max(
        values[counts.argmax()] * len(x) / x.sum()
        for x, (values, counts) in zip(steps, common, strict=True)
        if x.sum()
    )


def describe_format(date_format):
    """Return a phrase for a format, such as "day first"."""
    order = _order(date_format)
    if order is not None:
        return "day first" if order else "month first"
    return NAMES.get(date_format) or f"dates {date_format}"


def _deciding(*formats):
    """Return the argument that decides between two formats, with its values."""
    orders = [_order(x) for x in formats]
    if set(orders) == {True, False}:
        return "dayfirst=True or dayfirst=False"
    return " or ".join(f"date_format={x!r}" for x in formats)


def is_text(column):
    """Return whether all cells of a column that are not missing are text."""
    return pd.api.types.infer_dtype(column, skipna=True) == "string"


def read_text(column, expected=None):
    """Return the format of time stamps in text, and a Series of them.

    Args:
        column: Series of str, of a frame.
        expected: Format of related frames, see `infer_dates`.

    Raises:
        ValueError: If text can be read with the day or the month first, is not a time stamp, or
            only some of it has an offset from UTC.
    """
    name = column.name
    try:
        date_format, times = infer_dates(column, expected=expected)
    except AmbiguousDatesError as error:
        formats = " or ".join(f"format={x!r}" for x in error.formats)
        raise ValueError(
            f"{error.fault}: give pd.to_datetime(frame[{name!r}], {formats})."
        ) from None
    _check_offsets(column, times)
    wrong = (times.isna() & column.notna()).to_numpy()
    if wrong.any():
        raise ValueError(
            f"column {name!r} is not all time stamps, got {column[wrong].iloc[0]!r} in row "
            f"{int(wrong.argmax())}: give pd.to_datetime(frame[{name!r}], format=...)."
        )
    return date_format, times


def read_counts(column):
    """Return integers that count steps as nanoseconds since 1970, and those of dates as they are.

    Eight and more digits are a date or seconds since 1970, as six digits such as 202401 are a
    month: they are refused as time stamps later, with what to do.

    Args:
        column: Series of integers.

    Example:
        >>> read_counts(pd.Series([3, 4])).dt.nanosecond.tolist()
        [3, 4]
    """
    known = column.dropna()
    is_month = known.between(190_001, 210_012) & (known % 100).between(1, 12)
    if known.empty or known.abs().max() >= 10**7 or is_month.all():
        return column
    return pd.to_datetime(column, unit="ns")


def read_times(column):
    """Return a column of a frame as a DatetimeIndex `(rows,)`, NaT for missing time stamps.

    Raises:
        ValueError: If the column has numbers, or text that `read_text` refuses.
    """
    name = column.name
    if not pd.api.types.is_datetime64_any_dtype(column):
        kind = pd.api.types.infer_dtype(column, skipna=True)
        if any(word in kind for word in ("integer", "floating", "decimal", "boolean", "complex")):
            raise ValueError(
                f"column {name!r} must be time stamps, got numbers, such as "
                f"{column.dropna().iloc[0]}: give pd.to_datetime(frame[{name!r}], format='%Y%m%d') "
                "for dates, unit='s' for seconds since 1970."
            )
        if kind == "string":
            column = read_text(column)[1]
    try:
        return pd.DatetimeIndex(column)
    except (ValueError, TypeError) as error:
        why = str(error).splitlines()[0]
        raise ValueError(f"column {name!r} is not all time stamps: {why}") from None


def _check_offsets(column, times):
    """Raise ValueError if only some cells have an offset from UTC."""
    if times.dt.tz is None:
        return
    lacking = offsets_of(column).isna() & column.notna()
    if lacking.any():
        row = int(lacking.to_numpy().argmax())
        raise ValueError(
            f"column {column.name!r} has an offset from UTC in some rows, but not in row {row}: "
            f"{column.iloc[row]!r}."
        )
