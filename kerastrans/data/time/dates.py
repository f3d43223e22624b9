"""Conversion of text and numbers to time stamps."""

import contextlib
import warnings

import pandas as pd

UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
ISO, EXCEL, QUARTER, WEEK, STEPS = "ISO8601", "excel", "quarter", "week", "steps"
NAMES = {ISO: "ISO dates", EXCEL: "Excel's serial dates", QUARTER: "quarters", WEEK: "ISO weeks"}
NAMES |= {STEPS: "numbers of steps"} | {x: f"{UNITS[x]} since 1970" for x in UNITS}


def parse_dates(column, date_format):
    """Parse a column of text or numbers as time stamps.

    Args:
        column: Series of text or numbers.
        date_format: str, format as for `datetime.strptime`; "ISO8601"; "s", "ms", "us" or "ns" for
            numbers that count these units since 1970; "excel" for days since the end of 1899;
            "quarter" for 2024Q1 or Q1 2024; "week" for 2024-W05, which begins on Monday; or "steps"
            for integers without dates, which become nanoseconds.

    Returns:
        Series of time stamps, NaT for cells that cannot be parsed. It is in UTC if the stamps have
        different offsets from UTC.

    Example:
        >>> str(parse_dates(pd.Series(["2024-W05"]), "week")[0])
        '2024-01-29 00:00:00'
    """
    if date_format in (*UNITS, EXCEL, STEPS):
        return _parse_numbers(column, "ns" if date_format == STEPS else date_format)
    if not (isinstance(column.dtype, pd.StringDtype) or column.dtype == object):
        column = column.astype("string").astype(object)
    if date_format == QUARTER:
        parts = column.str.extract(r"^\s*(?:(\d{4})[- ]?[Qq]([1-4])|[Qq]([1-4])[- ]?(\d{4}))\s*$")
        years, quarters = parts[0].fillna(parts[3]), parts[1].fillna(parts[2])
        months = (3 * quarters.astype("Int64") - 2).astype("string")
        column, date_format = years + "-" + months, "%Y-%m"
    elif date_format == WEEK:
        column = column.str.replace(r"^(\d{4})-?W", r"\1-W", regex=True) + "-1"
        date_format = "%G-W%V-%u"
    return _to_datetime(column, format=date_format)


def _parse_numbers(column, unit):
    numbers = pd.to_numeric(column, errors="coerce")
    if unit == EXCEL:  # its serial dates are fractions of days, with an error of microseconds
        numbers, unit = (numbers * 86_400_000).round() - 25_569 * 86_400_000, "ms"
    if numbers.isna().any() and not pd.api.types.is_float_dtype(numbers):
        numbers = numbers.astype("Float64")
    return _to_datetime(numbers, unit=unit)


def _to_datetime(column, **options):
    silent = warnings.catch_warnings(action="ignore", category=FutureWarning)  # of pandas 2
    with contextlib.suppress(ValueError, OverflowError), silent:
        times = pd.to_datetime(column, errors="coerce", **options)
        if times.dtype != object:  # what pandas 2 returns for several offsets
            return times
    return pd.to_datetime(column, errors="coerce", utc=True, **options)


def offsets_of(column):
    """Return the offset from UTC at the end of each cell, such as "+01:00"; NaN if none."""
    pattern = r"(?:\d\s*(?=Z$)|:\d\d(?:[.,]\d+)?\s*)(Z|[+-]\d\d(?::?\d\d)?)$"
    found = column.str.strip().str.extract(pattern, expand=False)
    digits = found.replace("Z", "+00").str.replace(":", "") + "00"
    return digits.str[:3] + ":" + digits.str[3:5]
