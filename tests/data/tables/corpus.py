"""Small tables as people write them, each with its right reading or its refusal.

`python -m tests.data.tables.corpus FOLDER` writes the files, with a list of what each of them is.
"""

import gzip
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

VALUES = (1.5, 1234.25, 0.125, 1234567.5, 20.0)
DAYS = pd.date_range("2024-01-10", periods=25)
HOURS = pd.date_range("2024-03-05 00:00", periods=24, freq="h")
MONTHS = pd.date_range("2021-01-01", periods=12, freq="MS")


@dataclass
class Case:
    """A file; its right reading is `times` and `values`, its refusal a pattern of the message."""

    name: str
    data: bytes
    times: object = None
    values: list = None
    refusal: str = None
    options: dict = field(default_factory=dict)
    suffix: str = ".csv"

    def write(self, folder):
        path = Path(folder, self.name.replace("/", "_").replace(" ", "_") + self.suffix)
        if self.suffix == ".gz":
            path.write_bytes(gzip.compress(self.data))
        elif self.suffix == ".zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("x.csv", self.data)
        else:
            path.write_bytes(self.data)
        return path


def cases():
    """Return all cases."""
    parts = (
        *_separators_and_signs(),
        *_encodings(),
        *_date_formats(),
        *_orders(),
        *_ambiguous_numbers(),
        *_zones(),
        *_headers(),
        *_roles(),
        *_marks(),
        *_faulty(),
    )
    names = [case.name for case in parts]
    assert len(set(names)) == len(names)
    return parts


def _quoted(cell, sep):
    return f'"{cell}"' if sep in cell else cell


def _text(times, cells, sep=",", header="date{}load", end="\n"):
    rows = [f"{_quoted(a, sep)}{sep}{_quoted(b, sep)}" for a, b in zip(times, cells, strict=True)]
    return end.join([header.format(sep), *rows]) + end


def _cells(values, decimal=".", thousands=""):
    """Return numbers as text with these signs."""
    texts = [f"{value:,.3f}".rstrip("0").rstrip(".") for value in values]
    swap = {",": thousands, ".": decimal}
    return ["".join(swap.get(sign, sign) for sign in text) for text in texts]


def _separators_and_signs():
    values = [VALUES[i % len(VALUES)] for i in range(len(DAYS))]
    days = [f"{day:%Y-%m-%d}" for day in DAYS]
    signs = {
        "point": (".", ""),
        "comma": (",", ""),
        "point and commas": (".", ","),
        "comma and points": (",", "."),
        "comma and spaces": (",", " "),
        "comma and narrow spaces": (",", "\u202f"),
        "point and apostrophes": (".", "'"),
    }
    for sep, title in {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}.items():
        for name, pair in signs.items():
            text = _text(days, _cells(values, *pair), sep)
            yield Case(f"{title} with decimal {name}", text.encode(), DAYS, values)
    whole = [1000.0 * (i + 1) for i in range(25)]
    yield Case("whole numbers", _text(days, _cells(whole), ";").encode(), DAYS, whole)
    signed = [-1.5, 2.25e-7, 1e9, 5.0, 0.5] * 5
    text = _text(days, ["-1,5", "2,25e-7", "+1E9", "5,", ",5"] * 5, ";")
    yield Case("signs and exponents", text.encode(), DAYS, signed)
    text = _text(days, ["\u22121.5", "2.25e-7", "1E9", "5.", ".5"] * 5)
    yield Case("minus of typographers", text.encode(), DAYS, signed)
    for word in ("", "NA", "NaN", "null", "#N/A", "None"):
        cells = [word if i == 3 else text for i, text in enumerate(_cells(values, ",", "."))]
        known = [float("nan") if i == 3 else value for i, value in enumerate(values)]
        text = _text(days, cells, ";").encode()
        yield Case(f"missing value {word or 'empty'}", text, DAYS, known)


def _encodings():
    values = [float(i) for i in range(25)]
    days = [f"{day:%Y-%m-%d}" for day in DAYS]
    text = _text(days, _cells(values), header="date{}Höhe")
    for encoding in ("utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        yield Case(f"encoding {encoding}", text.encode(encoding), DAYS, values)
    options = {"encoding": "cp1250"}
    yield Case("encoding cp1250 given", text.encode("cp1250"), DAYS, values, options=options)
    for name, end in {"windows": "\r\n", "old mac": "\r"}.items():
        text = _text(days, _cells(values), end=end)
        yield Case(f"lines of {name}", text.encode(), DAYS, values)
    yield Case("binary", b"\x89PNG\r\n\0\0\0\rIHDR", refusal="is not a table: it is not text")
    yield Case("empty", b"", refusal="is not a table")
    yield Case("header only", b"date,load\n", refusal="has no row")
    text = _text(days, _cells(values))
    yield Case("gzip", text.encode(), DAYS, values, suffix=".gz")
    yield Case("zip", text.encode(), DAYS, values, suffix=".zip")
    yield Case("no gzip", b"x", refusal="is not a table: Not a gzipped", suffix=".csv.gz")
    yield Case("no zip", b"x", refusal="is not a table: File is not a zip", suffix=".csv.zip")
    refusal = "is not text: the name of such a file must end in .gz"
    yield Case("gzip without suffix", gzip.compress(text.encode()), refusal=refusal)
    refusal = "is not text: the name of such a file must end in .zip or .xlsx"
    yield Case("zip without suffix", b"PK\3\4" + bytes(30), refusal=refusal)
    yield Case("zstandard", b"x", refusal="decompress it first", suffix=".csv.zst")
    yield Case("blank lines first", b"\r\n \t\r\n" + text.encode(), DAYS, values)
    yield Case("blank lines and sep", b"\nsep=,\n" + text.encode(), DAYS, values)
    yield Case("sep of Excel", b"sep=;\r\n" + text.replace(",", ";").encode(), DAYS, values)
    text = text.replace("\n", ",,\n")
    yield Case("empty columns", text.encode(), DAYS, values)
    yield Case("empty rows", (text + ",,,\n\n").encode(), DAYS, values)


def _date_formats():
    long = pd.date_range("2019-01-10", periods=30)
    shapes = {
        "%Y-%m-%d": long,
        "%Y/%m/%d": long,
        "%Y.%m.%d": long,
        "%Y%m%d": long,
        "%d/%m/%Y": long,
        "%m/%d/%Y": long,
        "%d-%m-%Y": long,
        "%m-%d-%Y": long,
        "%d.%m.%Y": long,
        "%d.%m.%y": long,
        "%d/%m/%y": long,
        "%m/%d/%y": long,
        "%d-%b-%y": long,
        "%d-%b-%Y": long,
        "%d %b %Y": long,
        "%B %d, %Y": long,
        "%a %d %b %Y": long,
        "%Y-%m-%dT%H:%M:%S": HOURS,
        "%Y-%m-%d %H:%M": HOURS,
        "%d.%m.%Y %H:%M": HOURS,
        "%d.%m.%Y %H:%M:%S": HOURS,
        "%Y%m%d%H%M": HOURS,
        "%Y%m%d%H%M%S": HOURS,
        "%Y-%m": MONTHS,
        "%m/%Y": MONTHS,
        "%b %Y": MONTHS,
        "%B %Y": MONTHS,
        "%b-%y": pd.date_range("2021-01-01", periods=36, freq="MS"),
        "%Y": pd.date_range("1990-01-01", periods=30, freq="YS"),
        "%Y-W%V": pd.date_range("2020-01-06", periods=30, freq="W-MON"),
    }
    for shape, times in shapes.items():
        values = [float(i) for i in range(len(times))]
        text = _text(
            [f"{time:{shape.replace('%Y-W%V', '%G-W%V')}}" for time in times], _cells(values)
        )
        yield Case(f"dates {shape}".replace("%", "").replace(":", ""), text.encode(), times, values)
    afternoon = pd.date_range("2024-03-25 00:00", periods=48, freq="h")
    text = _text([f"{x:%m/%d/%Y %I:%M %p}" for x in afternoon], ["2"] * 48)
    yield Case("twelve-hour clock", text.encode(), afternoon, [2.0] * 48)
    quarters = pd.date_range("2015-01-01", periods=20, freq="QS")
    for name in ("{}Q{}", "{}-Q{}", "Q{1} {0}"):
        text = _text([name.format(x.year, x.quarter) for x in quarters], ["2"] * 20)
        yield Case(f"quarters {name.format(2015, 1)}", text.encode(), quarters, [2.0] * 20)
    for unit, size in {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}.items():
        text = _text([str(x.value // size) for x in HOURS], ["2"] * 24)
        yield Case(f"numbers {unit} since 1970", text.encode(), HOURS, [2.0] * 24)
    serial = [str((day - pd.Timestamp("1899-12-30")).days) for day in DAYS]
    yield Case("serial dates of Excel", _text(serial, ["2"] * 25).encode(), DAYS, [2.0] * 25)
    serial = [f"{(x - pd.Timestamp('1899-12-30')) / pd.Timedelta('1D'):.9f}" for x in HOURS]
    yield Case("serial hours of Excel", _text(serial, ["2"] * 24).encode(), HOURS, [2.0] * 24)
    halves = [f"{1_577_836_800 + i / 2:.1f}" for i in range(9)]
    times = pd.date_range("2020-01-01", periods=9, freq="500ms")
    yield Case("fractions of seconds", _text(halves, ["2"] * 9).encode(), times, [2.0] * 9)


def _orders():
    """Days and months that are both at most 12, in files that are regular in either order."""
    hours = pd.date_range("2024-02-01", periods=24, freq="h")
    pairs = {
        "twelve days": ("{:%d/%m/%Y}", pd.date_range("2024-01-01", periods=12)),
        "twelve months": ("{:%d/%m/%Y}", pd.date_range("2024-01-01", periods=12, freq="MS")),
        "hours of a day": ("{:%d/%m/%Y %H:%M}", hours),
        "years": ("{:%d/%m/%Y}", pd.DatetimeIndex([f"20{i}-02-01" for i in range(10, 22)])),
        "days with hyphens": ("{:%d-%m-%Y}", pd.date_range("2024-03-01", periods=12)),
        "two-digit years": ("{:%d/%m/%y}", pd.date_range("2024-01-01", periods=12)),
    }
    for name, (shape, times) in pairs.items():
        text = _text([shape.format(time) for time in times], ["2"] * len(times)).encode()
        values = [2.0] * len(times)
        yield Case(f"{name} in either order", text, refusal="give dayfirst=True or dayfirst=False")
        yield Case(f"{name} day first", text, times, values, options={"dayfirst": True})
        swapped = pd.DatetimeIndex([x.replace(day=x.month, month=x.day) for x in times])
        options = {"dayfirst": False}
        yield Case(f"{name} month first", text, swapped.sort_values(), values, options=options)
        learnt = {"like": {"date_format": shape[2:-1]}}
        yield Case(f"{name} like its training file", text, times, values, options=learnt)
        dots = text.replace(b"/", b".").replace(b"-", b".")
        yield Case(f"{name} with dots", dots, times, values)
    dense = pd.date_range("2024-01-01", "2024-01-12 23:00", freq="h")
    text = _text([f"{x:%d/%m/%Y %H:%M}" for x in dense], ["2"] * len(dense)).encode()
    yield Case("dense with the day first", text, dense, [2.0] * len(dense))
    dense = pd.date_range("2020-01-01", periods=40, freq="MS")
    text = _text([f"{x:%m/%d/%Y}" for x in dense], ["2"] * len(dense)).encode()
    yield Case("dense with the month first", text, dense, [2.0] * len(dense))
    codes = [f"{x:%y%m}" for x in pd.date_range("2020-01-01", periods=30, freq="MS")]
    months = pd.date_range("2020-01-01", periods=30, freq="MS")
    yield Case("four digits year and month", _text(codes, ["2"] * 30).encode(), months, [2.0] * 30)
    years = pd.date_range("2001-01-01", periods=12, freq="YS")
    text = _text([f"{x:%Y}" for x in years], ["2"] * 12).encode()
    yield Case("four digits that are years", text, years, [2.0] * 12)
    options = {"date_format": "%y%m"}
    yield Case("four digits that are months", text, months[:12], [2.0] * 12, options=options)
    codes = [f"20{i:02}12" for i in range(1, 13)]
    text = _text(codes, ["2"] * 12).encode()
    yearly = pd.DatetimeIndex([f"20{i:02}-12-01" for i in range(1, 13)])
    yield Case("six digits in either order", text, refusal="give date_format='%Y%m' or")
    options = {"date_format": "%Y%m"}
    yield Case("six digits year and month", text, yearly, [2.0] * 12, options=options)
    options = {"date_format": "%y%m%d"}
    days = pd.date_range("2020-01-01", periods=12, freq="MS") + pd.Timedelta("11D")
    yield Case("six digits year, month and day", text, days, [2.0] * 12, options=options)


def _ambiguous_numbers():
    days = [f"{day:%Y-%m-%d}" for day in DAYS[:3]]
    for sign, sep in ((".", ";"), (",", ";"), (".", "\t"), (",", "\t"), (",", ",")):
        text = _text(days, [f"1{sign}000", f"1{sign}250", "7"], sep).encode()
        name = f"thousand with {sign} between {sep}".replace("\t", "tabs")
        yield Case(name, text, refusal="line 2: .* can be read in two ways, '1.000' as 1.000 or as")
        for decimal in ".,":
            values = [1.0, 1.25, 7.0] if decimal == sign else [1000.0, 1250.0, 7.0]
            yield Case(
                f"{name} read with {decimal}", text, DAYS[:3], values, None, {"decimal": decimal}
            )
            like = {"like": {"decimal": decimal}}
            yield Case(f"{name} like a file with {decimal}", text, DAYS[:3], values, None, like)
    text = _text(days, ["1.000", "1.250", "7"]).encode()
    yield Case("point in a file of commas", text, DAYS[:3], [1.0, 1.25, 7.0])
    text = _text(days, ["1.000", "0.250", "7"], ";").encode()
    yield Case("zero before the point", text, DAYS[:3], [1.0, 0.25, 7.0])
    text = _text(days, ["1.002", "999,5", "7"], ";").encode()
    yield Case("points and a comma", text, DAYS[:3], [1002.0, 999.5, 7.0])
    text = _text(days, ["1.5", "2,5", "3.5"], ";").encode()
    yield Case("both decimal signs", text, refusal="line 3: .* must be numeric, got '2,5'")
    text = "\n".join(["date,a,b", *(f'{day},"1,5",2.5' for day in days)]).encode()
    refusal = (
        "'a' must be numeric, got text, such as '1,5', whereas the decimal sign of the file is '.'"
    )
    yield Case("a decimal sign for each column", text, refusal=refusal)
    text = _text(days, ["1.5", "2.50", "3.5"], ";").encode()
    options = {"decimal": ","}
    yield Case("point against the flag", text, refusal="must be numeric", options=options)
    text = b"day;a,b\n2024-01-10;1,5\n2024-01-11;2,5\n2024-01-12;3,5\n"
    yield Case("two separators", text, refusal="can be read with two separators: give sep=','")
    options = {"sep": ","}
    yield Case("two separators read with commas", text, refusal="has no date col", options=options)
    options = {"sep": ";"}
    yield Case(
        "two separators read with semicolons", text, DAYS[:3], [1.5, 2.5, 3.5], options=options
    )


def _zones():
    def text(times, shape="{}"):
        return _text([shape.format(time) for time in times], ["2"] * len(times)).encode()

    zone = "Europe/Berlin"
    options = {"timezone": zone}
    hours = pd.date_range("2024-10-26 22:00", periods=30, freq="h", tz="UTC")
    local = hours.tz_convert(zone)
    offsets = [time.isoformat() for time in local]
    twos = [2.0] * 30
    yield Case("offsets over a clock change", text(offsets), hours, twos)
    yield Case("offsets with a zone", text(offsets), local, twos, options=options)
    yield Case("hours in UTC", text([f"{x:%Y-%m-%dT%H:%M:%SZ}" for x in hours]), hours, twos)
    naive = [f"{x:%Y-%m-%d %H:%M}" for x in local]
    yield Case(
        "local hours that occur twice", text(naive), refusal="If clocks went back, give timez"
    )
    yield Case("local hours with a zone", text(naive), local, twos, options=options)
    yield Case("local hours from last to first", text(naive[::-1]), local, twos, options=options)
    like = {"like": {"timezone": zone}}
    yield Case("local hours like their training file", text(naive), local, twos, options=like)
    spring = pd.date_range("2024-03-30 23:00", periods=30, freq="h", tz="UTC").tz_convert(zone)
    yield Case("spring", text([f"{x:%d.%m.%Y %H:%M}" for x in spring]), spring, twos, None, options)
    absent = pd.date_range("2024-03-31", periods=30, freq="h")
    refusal = "line 4: 2024-03-31 02:00:00 does not exist in Europe/Berlin"
    yield Case("hour that does not exist", text(absent), None, None, refusal, options)
    days = pd.date_range("2024-03-20", periods=30, tz=zone)
    refusal = r"the days begin at the offsets \+01:00 and \+02:00 from UTC: give timezone"
    yield Case("local days", text([x.isoformat() for x in days]), refusal=refusal)
    yield Case(
        "local days with a zone", text([x.isoformat() for x in days]), days, twos, None, options
    )
    months = pd.date_range("2024-01-01", periods=30, freq="MS", tz=zone)
    stamps = text([x.isoformat() for x in months])
    yield Case("local months", stamps, refusal="give timezone")
    yield Case("local months with a zone", stamps, months, twos, None, options)
    mixed = [*offsets[:4], naive[4], *offsets[5:]]
    refusal = "line 6: '2024-10-27 03:00' has no offset from UTC"
    yield Case("one stamp without an offset", text(mixed), refusal=refusal)
    constant = [
        f"{x:%Y-%m-%dT%H:%M}+05:30" for x in pd.date_range("2024-01-01", periods=30, freq="h")
    ]
    known = pd.date_range("2024-01-01", periods=30, freq="h", tz="UTC+05:30")
    yield Case("one offset", text(constant), known, twos)
    yield Case(
        "unknown zone", text(naive), None, None, "timezone must be a name", {"timezone": "Mars"}
    )


def _headers():
    days = [f"{day:%Y-%m-%d}" for day in DAYS]
    values = [float(i) for i in range(25)]
    for name in ("Date", "DATE", " date ", "ds", "DateTime", "Timestamp", "Tag", "Day", "when", ""):
        text = _text(days, _cells(values), header=name + "{}load").encode()
        yield Case(f"date column {name or 'without name'!r}", text, DAYS, values)
    for header in ("unique_id,ds,y", "Unique_ID,DS,Y", "UNIQUE_ID,date,y", "unique_id, Day ,Y"):
        rows = [f"a,{a},{b}" for a, b in zip(days, values, strict=True)]
        text = "\n".join([header, *rows]).encode()
        yield Case(f"long {header}", text, DAYS, values)
    text = "\n".join(["date,start,load", *(f"{a},{a},1" for a in days)]).encode()
    yield Case(
        "two columns of dates, one by name", text, refusal="'start' must be numeric, got text"
    )
    text = "\n".join(["day,start,load", *(f"{a},{a},1" for a in days)]).encode()
    refusal = (
        "has dates in the columns 'day', 'start': give date_column='day' or date_column='start'"
    )
    yield Case("two columns of dates", text, refusal=refusal)
    options = {"date_column": "day", "columns": ["load"]}
    yield Case("two columns of dates, one given", text, DAYS, [1.0] * 25, options=options)
    text = "\n".join(["date,load,load", *(f"{a},1,2" for a in days)]).encode()
    twice = "\n".join(["date,date,load", *(f"{a},{a},1" for a in days)]).encode()
    yield Case("two columns of dates of one name", twice, refusal="several columns named 'date'")
    yield Case("two columns of one name", text, refusal="has several columns named 'load'")
    text = "\n".join(["date,time,load", *(f"{a},00:00,1" for a in days)]).encode()
    options = {"columns": ["load"]}
    yield Case("a column of times of day", text, DAYS, [1.0] * 25, options=options)
    refusal = "'00:00': .* if it is the time of day, give date_column='date,time'"
    yield Case("a column of times of day left in", text, refusal=refusal)
    rows = [f"{i},{days[i]},{values[i]}" for i in range(25)]
    text = "\n".join([",date,load", *rows])
    yield Case("index of pandas", text.encode(), DAYS, values)
    yield Case("index of pandas, read again", ("Unnamed: 0" + text).encode(), DAYS, values)
    text = "\n".join(["date,load,", *(f"{a},{b},1" for a, b in zip(days, values, strict=True))])
    refusal = "has a column without a name, which begins with '1': give it a name, or leave it out"
    yield Case("a column without a name", text.encode(), refusal=refusal)
    options = {"columns": ["load"]}
    yield Case("a column without a name left out", text.encode(), DAYS, values, options=options)
    text = f"date,load,{'x' * 200_000}\n2024-01-10,1,2\n".encode()
    refusal = "is not a table: a cell of its first line has more than 131,072 characters"
    yield Case("a name of 200,000 characters", text, refusal=refusal)
    text = _text(days, ["1"] * 25, sep=" ").encode()
    yield Case("blanks between columns", text, DAYS, [1.0] * 25)
    options = {"sep": " "}
    yield Case("blanks between columns given", text, DAYS, [1.0] * 25, options=options)
    names = ",".join(f"x{i}" for i in range(9))
    text = f"{names}\n{','.join('123456789')}\n".encode()
    yield Case("no dates", text, refusal="'x0', 'x1', 'x2', 'x3', 'x4' and 4 more")


def _roles():
    """Tables whose columns must be named, or were named by another program."""
    values = [float(i) for i in range(24)]
    parts = [f"{h.year},{h.month},{h.day},{h.hour}" for h in HOURS]
    rows = [f"{a},{b}" for a, b in zip(parts, range(24), strict=True)]
    text = "\n".join(["year,month,day,hour,load", *rows]).encode()
    refusal = "has its dates in several columns: give date_column='year,month,day,hour'"
    yield Case("year to hour", text, refusal=refusal)
    options = {"date_column": "year,month,day,hour"}
    yield Case("year to hour given", text, HOURS, values, options=options)
    options = {"date_column": ["hour", "day", "month", "year"]}
    yield Case("hour to year given", text, HOURS, values, options=options)
    times = {
        "hour": [str(h.hour) for h in HOURS],
        "end of an hour": [str(h.hour + 1) for h in HOURS],
        "clock": [f"{h:%H:%M}" for h in HOURS],
        "dots": [f"{h:%H.%M.%S}" for h in HOURS],
        "four digits": [f"{h:%H%M}".lstrip("0") or "0" for h in HOURS],
    }
    for name, cells in times.items():
        rows = [f"{h:%d/%m/%Y};{a};{i}" for i, (h, a) in enumerate(zip(HOURS, cells, strict=True))]
        text = "\n".join(["Date;Time;load", *rows]).encode()
        shift = pd.Timedelta(hours=int(name == "end of an hour"))
        options = {"date_column": "Date,Time", "dayfirst": True}
        yield Case(f"date and {name}", text, HOURS + shift, values, options=options)
        if ":" in cells[5]:  # a column of numbers may be a channel
            options = {"dayfirst": True, "covariates": ["Time"]}
            refusal = "column 'Time' is a part of the date: give date_column='Date,Time'"
            yield Case(f"date and {name} apart", text, refusal=refusal, options=options)
    months = [f"{m.year},{m:%B},{i}" for i, m in enumerate(MONTHS)]
    text = "\n".join(["year,month,load", *months]).encode()
    options = {"date_column": "year,month"}
    yield Case("year and month in words", text, MONTHS, values[:12], options=options)
    rows = [f"{h:%Y-%m-%d %H:%M},{h.hour},1" for h in HOURS]
    text = "\n".join(["date,hour,load", *rows]).encode()
    refusal = "column 'date' already has the time of day, such as '2024-03-05 01:00'"
    options = {"date_column": "date,hour"}
    yield Case("two hours", text, refusal=refusal, options=options)
    text = "\n".join(
        ["date,load", *(f"2024-03-{5 + (i == 23):02}T{(i + 1) % 24:02}:00,{i}" for i in range(24))]
    )
    text = text.replace("2024-03-06T00:00", "2024-03-05T24:00").encode()
    yield Case("24:00", text, HOURS + pd.Timedelta(hours=1), values)
    # Stores.
    days = [f"{day:%Y-%m-%d}" for day in DAYS[:10]]
    times, values = DAYS[:10].append(DAYS[:10]), [float(i) for i in range(20)]
    rows = [f"{s},{day},{i}" for i, (s, day) in enumerate((s, d) for s in (7, 9) for d in days)]
    text = "\n".join(["Store,Date,Sales", *rows]).encode()
    refusal = "column 'Store' repeats the dates: give id_column='Store'"
    yield Case("stores", text, refusal=refusal)
    options = {"id_column": "Store", "target": "Sales"}
    yield Case("stores given", text, times, values, options=options)
    yield Case(
        "stores without target", text, refusal="no column 'y'", options={"id_column": "Store"}
    )
    options = {"id_column": "Sales", "target": "Store"}
    refusal = "column 'Sales' is different in each row"
    yield Case("an id of each row", text, refusal=refusal, options=options)
    options = {"id_column": "Shop", "target": "Sales"}
    refusal = "has no column 'Shop'; its columns are 'Store', 'Date', 'Sales'"
    yield Case("an id of no column", text, refusal=refusal, options=options)
    pairs = [(s, item, day) for s in "ab" for item in "xy" for day in days[:5]]
    rows = [f"{day},{s},{item},{i}" for i, (s, item, day) in enumerate(pairs)]
    text = "\n".join(["Date,Store,Item,Sales", *rows]).encode()
    refusal = "columns 'Store', 'Item' repeat the dates: give id_column='Store,Item'"
    yield Case("stores and items", text, refusal=refusal)
    options = {"id_column": "Store,Item", "target": "Sales"}
    times = DAYS[:5].append([DAYS[:5]] * 3)
    yield Case("stores and items given", text, times, values, options=options)
    rows = [f'"{i + 1}" "{day}" {i}' for i, day in enumerate(days)]
    text = "\n".join(['"Date" "Close"', *rows]).encode()
    yield Case("row names of R", text, DAYS[:10], values[:10])
    text = "\n".join(["Date,Comment,Sales", *(f"{day},x,{i}" for i, day in enumerate(days))])
    yield Case("one target", text.encode(), DAYS[:10], values[:10], options={"target": "Sales"})
    options = {"exclude": "Comment"}
    yield Case("a comment left out", text.encode(), DAYS[:10], values[:10], options=options)
    text = f"Sales of a shop\n(in pieces), 2024\n{text}".encode()
    yield Case(
        "lines before the header", text, DAYS[:10], values[:10], options={"skip_rows": 2} | options
    )


def _marks():
    """Tables with marks, units and codes."""
    days = [f"{day:%Y-%m-%d}" for day in DAYS[:10]]
    for mark in ("?", "-", ".", "n/a", "NA", "null", ""):
        cells = ["1.5", mark, *(f"{i}.5" for i in range(2, 10))]
        values = [1.5, float("nan"), *(i + 0.5 for i in range(2, 10))]
        yield Case(f"missing {mark!r}", _text(days, cells).encode(), DAYS[:10], values)
    values = [float("nan") if i in (3, 5, 8) else i + 0.5 for i in range(10)]
    cells = ["-200" if x != x else str(x) for x in values]
    options = {"missing": ["-200"]}
    yield Case("code given", _text(days, cells).encode(), DAYS[:10], values, options=options)
    cells = [x.replace("-200", "closed") for x in cells]
    options = {"missing": "closed,-1"}
    yield Case("word given", _text(days, cells).encode(), DAYS[:10], values, options=options)
    refusal = "missing=3 is also a value of column 'load', which has 0 to 9"
    text = _text(days, map(str, range(10))).encode()
    yield Case("code among values", text, refusal=refusal, options={"missing": "3"})
    values = [1000.5 + i for i in range(10)]
    for name, form in (("dollars", "${:,.2f}"), ("euros", "{:,.2f} €"), ("percent", "{:.1f} %")):
        text = _text(days, [form.format(x) for x in values], sep=";").encode()
        yield Case(name, text, DAYS[:10], values)


def _faulty():
    text = _text(["2024-01-10", "2024-01-11", "2024-01-12"], ["1", "2", "3"])
    yield Case(
        "one field too many", (text + "2024-01-13,4,5\n").encode(), refusal="line 5: 3 fields"
    )
    open_quote = "line 3: a quote in this line is not closed"
    yield Case(
        "open quote", text.replace(",2", ',"2').encode() + b"2024-01-13,4\n", refusal=open_quote
    )
    many = text.replace("3\n", "x" * 1000 + "\n")
    yield Case("long word in numbers", many.encode(), refusal=r"line 4: .*got 'x{59}\.\.\.' \(dec")
    yield Case("word in numbers", (text + "2024-01-13,x\n").encode(), refusal="line 5: .*got 'x'")
    yield Case("word in dates", (text + "soon,4\n").encode(), refusal="line 5: .*got 'soon'")
    yield Case("today", _text(["today", "now"], ["1", "2"]).encode(), refusal="must be dates, got")
    yield Case(
        "duplicate day", (text + "2024-01-12,4\n").encode(), refusal="line 5: duplicate time"
    )
    yield Case("far future", (text + "9999-12-31,4\n").encode(), refusal="line 5: 9999-12-31")
    yield Case("infinite", (text + "2024-01-13,inf\n").encode(), refusal="line 5: .*infinite value")
    yield Case(
        "no text of a series",
        _text(list("abc"), list("123")).encode(),
        refusal="no date col|be dates",
    )
    yield Case(
        "no header",
        text[10:].encode(),
        refusal="has no header: its first line has the date '2024-01-10'",
    )


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    for case in cases():
        what = case.refusal or f"{len(case.times)} rows from {case.times[0]}"
        print(f"{case.write(folder).name}\t{case.options or ''}\t{what}")
