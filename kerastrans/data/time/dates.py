"""Time stamps out of text and numbers."""

import warnings

import pandas as pd

UNITS = ("s", "ms", "us", "ns")


def parse_dates(column, date_format=None, dayfirst=False):
    """Time stamps of a column of text, or of numbers with a format.

    Args:
        column: Series.
        date_format: str, as `datetime.strptime` takes it, or one of `UNITS` for numbers that count
            these units since 1970; None to tell it from the text.
        dayfirst: bool, whether 03/04/2024 is the third of April.

    Returns:
        Series of time stamps, NaT where there is none; in UTC if their offsets from it differ.
    """

    def parse(**options):
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", "Could not infer format")
                warnings.filterwarnings("ignore", "Parsing dates")  # dayfirst=True, 13 first
                return pd.to_datetime(column, errors="coerce", **options)
        except UserWarning:  # pandas would guess each date by itself
            return pd.Series(pd.NaT, column.index)
        except (ValueError, OverflowError):
            return pd.to_datetime(column, errors="coerce", utc=True, **options)

    if date_format in UNITS:
        return parse(unit=date_format)
    if date_format is not None:
        column = column.astype("string").astype(object)
        return parse(format=date_format)
    iso = parse(format="ISO8601")  # first: of these dayfirst would swap day and month
    if iso.notna().equals(column.notna()):
        return iso
    other = parse(dayfirst=dayfirst)
    return other if other.notna().sum() >= iso.notna().sum() else iso


def read_times(column):
    """The time stamps `(rows,)` of a frame's column, a DatetimeIndex; NaT where one is missing.

    Raises:
        ValueError: the column holds numbers, or text that is no time stamp.
    """
    name = column.name
    if not pd.api.types.is_datetime64_any_dtype(column):
        kind = pd.api.types.infer_dtype(column, skipna=True)
        if any(word in kind for word in ("integer", "floating", "decimal", "boolean", "complex")):
            raise ValueError(
                f"column {name!r} holds numbers, such as {column.dropna().iloc[0]}, where time "
                f"stamps are wanted: give pd.to_datetime(frame[{name!r}], format='%Y') for years, "
                "unit='s' for seconds since 1970."
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
