"""Conversion of text and numbers to time stamps."""

import warnings

import pandas as pd

UNITS = ("s", "ms", "us", "ns")


def parse_dates(column, date_format=None, dayfirst=False):
    """Parse a column of text, or of numbers with a format, as time stamps.

    Args:
        column: Series of text or numbers.
        date_format: str, format as for `datetime.strptime`, or one of `UNITS` for numbers that
            count these units since 1970; None to infer it from the text.
        dayfirst: bool, whether 03/04/2024 is the third of April.

    Returns:
        Series of time stamps, NaT for cells that cannot be parsed. It is in UTC if the stamps have
        different offsets from UTC.
    """

    def parse(**options):
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", "Could not infer format")
                warnings.filterwarnings("ignore", "Parsing dates")  # dayfirst=True, 13 first
                return pd.to_datetime(column, errors="coerce", **options)
        except UserWarning:  # otherwise pandas would guess the format of each date separately
            return pd.Series(pd.NaT, column.index)
        except (ValueError, OverflowError):
            return pd.to_datetime(column, errors="coerce", utc=True, **options)

    if date_format in UNITS:
        return parse(unit=date_format)
    if date_format is not None:
        column = column.astype("string").astype(object)
        return parse(format=date_format)
    iso = parse(format="ISO8601")  # tried first, because `dayfirst` would swap day and month
    if iso.notna().equals(column.notna()):
        return iso
    other = parse(dayfirst=dayfirst)
    return other if other.notna().sum() >= iso.notna().sum() else iso


def read_times(column):
    """Return a column of a frame as a DatetimeIndex `(rows,)`, NaT for missing time stamps.

    Raises:
        ValueError: If the column has numbers, or text that is not a time stamp.
    """
    name = column.name
    if not pd.api.types.is_datetime64_any_dtype(column):
        kind = pd.api.types.infer_dtype(column, skipna=True)
        if any(word in kind for word in ("integer", "floating", "decimal", "boolean", "complex")):
            raise ValueError(
                f"column {name!r} must be time stamps, got numbers, such as "
                f"{column.dropna().iloc[0]}: give pd.to_datetime(frame[{name!r}], format='%Y') for "
                "years, unit='s' for seconds since 1970."
            )
        if kind == "string":
            times = parse_dates(column)
            wrong = (times.isna() & column.notna()).to_numpy()
            if wrong.any():
                raise ValueError(
                    f"column {name!r} is not all time stamps, got {column[wrong].iloc[0]!r} in row "
                    f"{int(wrong.argmax())}: give pd.to_datetime(frame[{name!r}], format=...)."
                )
            column = times
    try:
        return pd.DatetimeIndex(column)
    except (ValueError, TypeError) as error:
        why = str(error).splitlines()[0]
        raise ValueError(f"column {name!r} is not all time stamps: {why}") from None
