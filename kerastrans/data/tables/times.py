"""Time stamps of a table: the date column, its format, its order and its time zone."""

import calendar
import itertools
import re
import zoneinfo

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.data.tables.cells import unique_texts
from kerastrans.data.time.clock import Clock
from kerastrans.data.time.date_formats import AmbiguousDatesError, infer_dates
from kerastrans.data.time.dates import STEPS, offsets_of, parse_dates
from kerastrans.data.time.frequency import is_countable
from kerastrans.utils.validation import list_names, quote

MIN_ROWS = 3  # number of rows that a frequency is inferred from
DATE_COLUMNS = ("date", "ds", "datetime", "timestamp", "time")
# Places of the columns of a date in several, by their names.
PARTS = {"year": 0, "yr": 0, "month": 1, "mo": 1, "mnth": 1, "day": 2, "hour": 3, "hr": 3}
PARTS |= {"minute": 4, "min": 4, "second": 5}
_MIDNIGHT = r"(?<=[ T])24:00(?::00(?:\.0+)?)?(?!\d)"  # the end of a day
# Words in the place of the date in a last row.
SUMMARIES = ("total", "totals", "grand total", "sum", "average", "mean", "subtotal", "summe")
SUMMARIES += ("gesamt", "somme", "moyenne", "totale", "totaal", "suma", "합계", "总计", "合計")
MIN_REPEATED = 0.1  # share of rows with the date of another one that makes a column one of ids
MAX_KEYS = 12  # number of columns that are tried as one of ids


def check_timezone(timezone):
    """Raise ValueError unless a time zone is known, or None."""
    try:
        if timezone is not None and not _is_offset(timezone):
            zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise ValueError(
            f"timezone must be a name such as 'Europe/Berlin' or 'UTC', got {timezone!r}."
        ) from None


def _is_offset(timezone):
    """Return whether a time zone is a fixed offset from UTC, as pandas writes it."""
    return isinstance(timezone, str) and re.fullmatch(r"UTC[+-]\d\d:\d\d", timezone) is not None


def find_date_column(names, examples, is_long, faults):
    """Return the name of the column with the dates: by its name, or as the only one with dates.

    Args:
        names: Names of the columns.
        examples: Function from a name to a Series of the first cells of the column.
        is_long: bool, whether the table has several series; then "ds" comes first.
        faults: `Faults`.
    """
    named = [name for name in names if str(name).lower() in DATE_COLUMNS]
    if is_long:
        named = [name for name in named if str(name).lower() == TIME] or named
    found = named
    if len(named) != 1:
        found = [name for name in named or names if _has_dates(examples(name))] or named[:1]
    if len(found) > len(set(found)):
        faults.stop(f"has several columns named {found[0]!r}: give each its own name.")
    if len(found) > 1:
        faults.stop(
            f"has dates in the columns {list_names(found)}: give date_column={found[0]!r} or "
            f"date_column={found[1]!r}."
        )
    if not found:
        parts = sorted((x for x in names if x.lower() in PARTS), key=lambda x: PARTS[x.lower()])
        if len(parts) > 1 and PARTS[parts[0].lower()] == 0:
            faults.stop(f"has its dates in several columns: give date_column={','.join(parts)!r}.")
        listed = f"its columns are {list_names(names)}."
        if len(names) == 1:
            listed = f"its only column is {list_names(names)}: give sep, or skip_rows before it."
        faults.stop(
            f"has no date column called {', '.join(DATE_COLUMNS)}, and no other one with dates, "
            f"or its header is not the first line (give skip_rows); {listed}"
        )
    if _has_dates(pd.Series([found[0]], dtype=object)):
        faults.stop(f"has no header: its first line has the date {quote(found[0])}.")
    return found[0]


def num_before_dates(names):
    """Return the number of columns before those that are named by dates; 0 in other tables."""
    names = pd.Series(names, dtype=object).astype(str)
    if not names.str.lower().isin(DATE_COLUMNS).any():  # years may be channels
        names = names.str.replace(r"^((?:1[6-9]|2[01])\d\d)$", r"\1-01-01", regex=True)
    first = next((i for i in names.index if _has_dates(names[[i]])), 0)
    dates = names[first:]
    return first if len(dates) >= MIN_ROWS and _has_dates(dates) else 0


def _has_dates(column):
    """Return whether all cells of a column are dates, and not numbers."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    cells = column.dropna().astype(str)
    cells = cells[~cells.str.strip().str.lower().isin(SUMMARIES)]
    if cells.empty or not re.search(r"\d", cells.iloc[0]):
        return False
    if re.fullmatch(r"[-+\d.,\s]+", cells.iloc[0]) and not _has_signs(cells.iloc[0]):
        return False
    try:
        return bool(infer_dates(cells)[1].notna().all())
    except AmbiguousDatesError:
        return True


def _has_signs(text):
    """Return whether a text of digits has the signs of a date."""
    return re.fullmatch(r"\d{1,2}\.\d{1,2}\.\d{2,4}|\d{4}-\d\d?(-\d\d?)?", text) is not None


def join_dates(columns, faults):
    """Return a column of dates in several: a date and its hour or time, or year, month, day ...

    Args:
        columns: List of Series of numbers or text, in the order of their places in a date, or with
            names that say these.
        faults: `Faults`.

    Returns:
        Series of str, missing if a part is missing.
    """
    if all(str(x.name).lower() in PARTS for x in columns):
        columns = sorted(columns, key=lambda x: PARTS[x.name.lower()])
    texts = []
    for column in columns:
        text = column.astype("str").str.strip().str.replace(r"(?<=\d)\.0$", "", regex=True)
        texts.append(text.where(column.notna()))
    first, *others = texts
    if first.dropna().str.fullmatch(r"\d{4}").all():  # a year
        months = {name.lower(): str(i) for i, name in enumerate(calendar.month_abbr) if i}
        others[0] = others[0].str[:3].str.lower().replace(months)
        others = [x.str.zfill(2) for x in others]
        signs = ("-", "-", " ", ":", ":")
        hour = ":00" if len(others) == 3 else ""  # of the day
        if len(others) > len(signs):
            faults.stop(f"a date has a year and at most {len(signs)} other parts.")
        for sign, text in zip(signs, others, strict=False):
            first = first + sign + text
        return first + hour
    if len(others) > 1:
        names = ",".join(x.name for x in columns)
        faults.stop(
            f"date_column={names!r} must be a date and its hour or time, or year, month, day ..., "
            f"got {quote(first.iloc[0])} and {quote(others[0].iloc[0])}."
        )
    first = first.str.replace(r"[ T]00:00(:00)?$", "", regex=True)  # as Excel writes days
    twice = first.str.contains(":", na=False)
    if twice.any():
        faults.stop(
            f"column {first.name!r} already has the time of day, such as "
            f"{quote(first[twice].iloc[0])}: give date_column={first.name!r}."
        )
    time = others[0].str.replace(".", ":", regex=False)
    numbers = pd.to_numeric(time, errors="coerce")
    if 24 < numbers.max() < 100:
        name, most = quote(others[0].name), f"{numbers.max():g}"
        faults.stop(f"column {name} has numbers up to {most}: neither hours nor times like 0130.")
    padded = time.str.zfill(4 if numbers.max() > 24 else 2)  # 0130, or an hour
    time = time.where(numbers.isna(), padded.str[:2] + ":" + padded.str[2:].str.zfill(2))
    return first + " " + time.str.replace(r"^(\d):", r"0\1:", regex=True)


def read_dates(column, date_format, dayfirst, expected, timezone, faults):
    """Return the format and the time stamps of a column, and add faults for its cells.

    Args:
        column: Series of text or time stamps.
        date_format: Format; None to infer it.
        dayfirst: bool, whether the day is before the month; None to infer it.
        expected: Format in related files, which decides if several read the column; or None.
        timezone: Name of a time zone, or None.
        faults: `Faults`.
    """
    name, lines = column.name, column.index
    empty = column.isna().to_numpy()
    faults.add_lines(lines[empty], lambda _: f"column {name!r} has no date.")
    if pd.api.types.is_datetime64_any_dtype(column):
        return None, column
    codes, texts = unique_texts(column)
    texts = texts.rename(name)
    is_end = texts.str.contains(_MIDNIGHT, na=False)
    if is_end.any():
        texts = texts.str.replace(_MIDNIGHT, "00:00:00", regex=True)
        if not is_end.all() and texts[~is_end].str.fullmatch(r".*[ T]\d\d:\d\d").all():
            texts = texts.str.replace(r"(?<=[ T]00:00):00$", "", regex=True)
    try:
        if date_format is None:
            date_format, times = infer_dates(texts, dayfirst, expected)
            is_steps = expected == STEPS or (times.isna().any() and "date" not in name.lower())
            if is_steps and texts.str.fullmatch(r"\d{1,7}").all():
                date_format, times = STEPS, parse_dates(texts, STEPS)
        else:
            times = parse_dates(texts, date_format)
    except AmbiguousDatesError as error:
        faults.stop(str(error))
    except ValueError as error:
        faults.stop(f"date_format={date_format!r}: {str(error).splitlines()[0]}.")
    if is_end.any():
        times = times.where(~is_end, times + pd.Timedelta(days=1))
    wrong = times.isna().to_numpy()
    if wrong.sum() > len(texts) / 2:
        example = texts[wrong].iloc[0]
        hint = f" of the format {date_format!r}" if date_format else ": give date_format"
        faults.stop(f"column {name!r} must be dates, got {quote(example)}{hint}.")
    faults.add_lines(
        lines[wrong[codes] & ~empty],
        lambda line: (
            f"column {name!r} is not all dates, got {quote(str(column[line]))}: expected the "
            f"format {date_format!r}, or give date_format."
        ),
    )
    if times.dt.tz is not None and str(times.dt.tz) == "UTC":  # or all have the same offset
        _check_offsets(texts, codes, lines, timezone, faults)
    return date_format, pd.Series(times.array.take(codes, allow_fill=True), lines, name=name)


def _check_offsets(texts, codes, lines, timezone, faults):
    """Raise ValueError for time stamps whose offsets from UTC do not fit together.

    Some lack one, or all are midnights of a zone whose clocks change, which are not regular in UTC.
    """
    offsets = offsets_of(texts)
    lacking = offsets.isna().to_numpy()
    faults.add_lines(
        lines[lacking[codes] & (codes >= 0)],
        lambda line: (
            f"{quote(texts[codes[lines.get_loc(line)]])} has no offset from UTC, which other time "
            f"stamps of the column {texts.name!r} have."
        ),
    )
    faults.check()
    known = sorted(offsets.unique())
    if timezone is None and len(known) > 1:
        clock_times = texts.str.extract(r"[T ]([0-9]{2}:[0-9]{2})", expand=False)
        if (clock_times == "00:00").all():
            faults.stop(
                f"the days begin at the offsets {' and '.join(known[:2])} from UTC: give timezone, "
                "such as timezone='Europe/Berlin'."
            )


def to_timezone(times, codes, timezone, faults):
    """Return time stamps in a time zone; without one, as they are.

    Args:
        times: Series of time stamps.
        codes: Codes of the series `(rows,)`, or 0.
        timezone: Name of a time zone, or None.
        faults: `Faults`.
    """
    if timezone is None:
        return times
    if times.dt.tz is not None:
        return times.dt.tz_convert(timezone)
    # An hour that occurs twice, because clocks go back, is first read in summer time.
    series = times.groupby(np.broadcast_to(codes, len(times)))
    descends = series.transform("first") > series.transform("last")
    is_first = ~np.where(descends, _duplicated(times, codes, "last"), _duplicated(times, codes))
    # A day can begin at 01:00, where clocks go forward at midnight.
    has_days = (times.dropna() == times.dropna().dt.normalize()).all()
    nonexistent = "shift_forward" if has_days else "NaT"
    local = times.dt.tz_localize(timezone, ambiguous=is_first, nonexistent=nonexistent)
    faults.add_lines(
        times.index[local.isna() & times.notna()],
        lambda line: f"{times[line]} does not exist in {timezone}: clocks go forward.",
    )
    return local


def _duplicated(times, codes, keep="first"):
    """Return which rows repeat the time stamp and the series of another one, bool `(rows,)`."""
    codes, places = np.broadcast_to(codes, len(times)), pd.DatetimeIndex(times).asi8
    is_later = (codes[1:] == codes[:-1]) & (places[1:] > places[:-1])
    if (is_later | (codes[1:] > codes[:-1])).all():  # sorted
        return np.zeros(len(times), bool)
    places, unique = pd.factorize(times)
    return pd.Series(codes.astype("int64") * len(unique) + places).duplicated(keep).to_numpy()


def check_stamps(times, ids, codes, table, date_format):
    """Add faults for rows whose time stamp is outside the range of the clock or duplicated.

    Args:
        times: Series of time stamps.
        ids: Series of the ids, or None.
        codes: Codes of the series `(rows,)`, or 0.
        table: `Table`, in whose faults they are, and which may have a column of ids or of times.
        date_format: Format of the time stamps.
    """
    faults = table.faults
    lines, is_date = times.index, times.notna()
    faults.add_lines(
        lines[is_date & ~is_countable(pd.DatetimeIndex(times))],
        lambda line: f"{times[line]} is not in the years 1678 to 2261.",
    )
    twice = is_date & _duplicated(times, codes)
    if twice.sum() >= MIN_REPEATED * len(times):
        _name_key(times, codes, table)
    if twice.any() and date_format == STEPS:
        faults.stop(
            f"column {table.date_column!r} has numbers that repeat, neither dates nor steps: give "
            f"date_column, such as 'date,{table.date_column}' if they are hours."
        )
    # Clocks go back at night: at most four quarters of an hour a year.
    is_night = twice.any() and times.dt.tz is None and times[twice].dt.hour.between(0, 3).all()
    hint = ""
    if is_night and times.dt.hour.nunique() > 1:
        hint = " If clocks went back, give timezone."
    faults.add_lines(
        lines[twice],
        lambda line: (
            f"duplicate time stamp {times[line]}"
            + (f" of {quote(ids[line])}." if ids is not None else ".")
            + hint
        ),
    )


def _name_key(times, codes, table):
    """Raise ValueError if a column, or two, distinguish the rows of one date and series.

    The error has no other fault, since these may follow from it.
    """
    columns, cells, roles = {}, table.cells, table.roles
    others = cells.columns.difference([ID, TARGET, table.date_column], sort=False)
    for name in others[:MAX_KEYS]:
        column, unique = pd.factorize(cells[name])
        is_coarse = 1 < len(unique) <= len(times) / 2 and cells[name].dtype.kind != "f"
        if (is_coarse or _is_time(cells[name])) and (column >= 0).all():
            columns[name] = column
    pairs = [(x,) for x in columns] + list(itertools.combinations(columns, 2))
    keys = pd.DataFrame({"time": times.to_numpy(), "series": codes}, index=times.index)
    for names in pairs:
        if keys.assign(**{f"key{i}": columns[x] for i, x in enumerate(names)}).duplicated().any():
            continue
        named = ",".join(names)
        if len(names) == 1 and _is_time(cells[named]):
            both = ",".join([*roles.dates, named])
            message = f"column {named!r} is a part of the date: give date_column={both!r}."
            raise ValueError(f"{table.faults.name}: {message}")
        given = ",".join([*roles.ids, *names])
        verb = "repeats" if len(names) == 1 else "repeat"
        listed = f"column{'s' * (len(names) > 1)} {list_names(names)}"
        message = f"{listed} {verb} the dates: give id_column={given!r}."
        raise ValueError(f"{table.faults.name}: {message}")


def _is_time(column):
    """Return whether the cells of a column are hours or times of day."""
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().all():
        is_named = str(column.name).lower() in PARTS
        return (is_named or numbers.nunique() in (24, 25)) and numbers.between(0, 24).all()
    return bool(column.astype("str").str.fullmatch(r"\s*\d?\d[:.]\d\d([:.]\d\d)?\s*").all())


def check_grid(times, freq, expected, faults):
    """Add faults for rows whose time stamp is not on the regular grid; return its frequency.

    Args:
        times: Series of time stamps.
        freq: Frequency; None to infer it.
        expected: Frequency of related files, for a file too short to infer it; or None.
        faults: `Faults`.
    """
    if freq is None and len(times) < MIN_ROWS:
        freq = expected
    try:
        clock = Clock.of(pd.DatetimeIndex(times).sort_values(), freq)
    except ValueError as error:
        faults.add(str(error))
        return None
    _, on_grid = clock.numbers(pd.DatetimeIndex(times))
    faults.add_lines(
        times.index[~np.asarray(on_grid)],
        lambda line: f"{times[line]} is not on the grid of frequency {clock.freq!r}.",
    )
    return clock.freq


def frequency_of(times, codes, freq):
    """Return the frequency of the longest series of a long table, None if it cannot be inferred."""
    if freq is not None:
        return freq
    one = times[codes == np.bincount(codes).argmax()]
    try:
        return Clock.of(pd.DatetimeIndex(one).sort_values()).freq
    except ValueError:
        return None
