import io
import re
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.data import read_csv, read_table
from kerastrans.data.panel import read_panel
from kerastrans.data.tables.reader import read_numbers, read_static, reading_of, size_of

DAYS = "2020-01-01", "2020-01-02", "2020-01-03"


def read(*rows, **options):
    return read_csv(io.StringIO("\n".join(rows) + "\n"), **options)


def table(*values, header="date,load", dates=DAYS, sep=","):
    """A CSV of these values, one a day."""
    return header, *(f"{date}{sep}{value}" for date, value in zip(dates, values, strict=True))


def test_valid_wide_file_gives_a_regular_frame(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("load,Date\n1,2020-01-01\n2,2020-01-02\n3,2020-01-03\n")
    frame = read_csv(path)
    expected = pd.DataFrame({"load": [1, 2, 3]}, pd.date_range("2020-01-01", periods=3))
    pd.testing.assert_frame_equal(frame, expected, check_names=False, check_index_type=False)
    assert frame.index.freqstr == "D"
    assert frame.index.name == "date"


@given(
    values=st.lists(
        st.one_of(st.none(), st.floats(-1e12, 1e12), st.integers(-(10**9), 10**9)),
        min_size=12,
        max_size=40,
    ),
    seed=st.integers(0, 99),
)
def test_values_do_not_depend_on_gaps_and_the_order_of_rows(values, seed):
    values = np.array([np.nan if v is None else v for v in values], float)
    dates = pd.date_range("2021-03-01", periods=len(values), freq="h")
    written = pd.DataFrame({"date": dates, "load": values}).drop(index=[2, 5])
    text = written.sample(frac=1, random_state=seed).to_csv(index=False)
    frame = read_csv(io.StringIO(text), freq="h")
    np.testing.assert_allclose(frame["load"], written["load"], rtol=1e-15)
    assert (frame.index == dates.delete([2, 5])).all()
    assert frame.index.freq is None


def test_gaps_and_empty_cells_reach_the_panel():
    dates = pd.date_range("2020-01-01", periods=30, freq="h").delete([7, 8])
    rows = [f"{date},{'' if i == 3 else i}" for i, date in enumerate(dates)]
    panel = read_panel(read("date,load", *rows))
    missing = np.flatnonzero(np.isnan(panel.values[1:, 0]))
    np.testing.assert_array_equal(missing, [3, 7, 8])


def test_long_files_keep_their_ids_as_text_and_their_covariates():
    frame = read(
        "unique_id,ds,y,holiday,price",
        "007,2020-01-01,1,no,3.5",
        "007,2020-01-02,,yes,",
        "7,2020-01-01,2,no,4.5",
    )
    assert frame.columns.tolist() == ["unique_id", "ds", "y", "holiday", "price"]
    assert frame["unique_id"].tolist() == ["007", "007", "7"]
    assert frame["ds"].dt.day.tolist() == [1, 2, 1]
    np.testing.assert_array_equal(frame["y"], [1.0, np.nan, 2.0])
    assert frame["holiday"].tolist() == ["no", "yes", "no"]
    named = read("unique_id,day,y", "a,2020-01-01,1", date_column="day")
    assert named.columns.tolist() == ["unique_id", "ds", "y"]


def test_columns_and_covariates_select_columns():
    rows = table("1,A,5", "2,B,6", "3,C,7", header="date,load,place,other")
    assert read(*rows, columns=["load"]).columns.tolist() == ["load"]
    kept = read(*rows, columns="load", covariates=["place"])
    assert kept["place"].tolist() == ["A", "B", "C"]
    long = "unique_id,ds,y,a,b", "s,2020-01-01,1,2,3"
    assert read(*long, columns=["b"]).columns.tolist() == ["unique_id", "ds", "y", "b"]


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (table("1,5", "2,5", "3,5", header="date;load", sep=";"), {"sep": ";", "decimal": ","}),
        (table(1.5, 2.5, 3.5, dates=("1/2/2020", "2/2/2020", "3/2/2020")), {"dayfirst": True}),
        (table(1.5, 2.5, 3.5), {"dayfirst": True}),  # which leaves ISO dates alone
        (table(1.5, 2.5, 3.5, dates=("2020", "2021", "2022")), {"date_format": "%Y"}),
        (
            table(1.5, 2.5, 3.5, dates=("20200101", "20200102", "20200103")),
            {"date_format": "%Y%m%d"},
        ),
        (table(1.5, 2.5, 3.5, dates=(1577836800, 1577836801, 1577836802)), {"date_format": "s"}),
        (table(1.5, 2.5, 3.5, dates=("2020-01-01", "2020-01-01 12:00", "2020-01-02")), {}),
        (table("1.5,", "2.5,", "3.5,", header="date,load,"), {}),
    ],
)
def test_options_describe_the_format(rows, options):
    frame = read(*rows, **options)
    assert frame["load"].tolist() == [1.5, 2.5, 3.5]
    assert frame.index.freq is not None
    assert frame.index[0].year == 2020


def test_dayfirst_reads_the_day_first():
    rows = table(1, 2, 3, dates=("01/02/2020", "02/02/2020", "03/02/2020"))
    assert (read(*rows, dayfirst=True).index == pd.date_range("2020-02-01", periods=3)).all()


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (
            table(1, 2, 3, dates=(1, 2, 3)),
            {},
            "column 'date' must be dates, got '1': give date_format.",
        ),
        (table("1,5", 2, 3), {}, "line 2: 3 fields, but the header has 2. A decimal comma"),
        (["date,load", '"' + "a" * 200_000], {}, "line 2: field larger than field limit"),
        (
            table("1,5", 2, 3, header="date;load", sep=";"),
            {"sep": ";", "decimal": "."},
            "line 2: column 'load' must be numeric, got '1,5' (decimal sign '.').",
        ),
        (
            table(1, 2, 3, dates=("1/2/2020", "2/2/2020", "13/2/2020")),
            {"dayfirst": False},
            "line 4: column 'date' is not all dates, got '13/2/2020': expected the format",
        ),
        (
            table(1, 2, 3, dates=("2020-01-01", "soon", "2020-01-03")),
            {},
            "line 3: column 'date' is not all dates, got 'soon': expected the format 'ISO8601'",
        ),
        (
            table(1, 2, 3, dates=("2020-01-01", "2020-1-x", "2020-01-03")),
            {"date_format": "%Y-%m-%d"},
            "got '2020-1-x': expected the format '%Y-%m-%d'",
        ),
        (
            table(1, 2, 3, dates=("2020-01-01", "", "2020-01-03")),
            {},
            "line 3: column 'date' has no date.",
        ),
        (
            table(1, 2, 3, dates=("2020-01-01", "9999-12-31", "2020-01-03")),
            {},
            "line 3: 9999-12-31 00:00:00 is not in the years 1678 to 2261.",
        ),
        (
            table(1, 2, 3, dates=("2020-01-01", "2020-01-01", "2020-01-02")),
            {},
            "line 3: duplicate time stamp 2020-01-01",
        ),
        (
            table(1, 2, 3, dates=("2020-01-01", "2020-01-04", "2020-01-09")),
            {},
            "cannot infer the frequency of 3",
        ),
        (
            table(1, 2, 3, dates=("2020-01-01", "2020-01-02", "2020-01-03 05:00")),
            {"freq": "D"},
            "line 4: 2020-01-03 05:00:00 is not on the grid of frequency 'D'.",
        ),
        (
            table(1, "x", 3),
            {},
            "line 3: column 'load' must be numeric, got 'x' (decimal sign '.').",
        ),
        (
            table("1_0", "1_0", "\uff12"),
            {},
            "column 'load' must be numeric, got text, such as '1_0'",
        ),
        (table(1, "inf", 3), {}, "line 3: column 'load' has an infinite value."),
        (table(1, "1e400", 3), {}, "line 3: column 'load' has an infinite value."),
        (
            table("1+2j", "2+1j", "1j"),
            {},
            "column 'load' must be numeric, got text, such as '1+2j'",
        ),
        (table(1, 2, 3), {"columns": ["laod"]}, "has no column 'laod': did you mean 'load'?"),
        (table(1, 2, 3, header="day,load", dates="abc"), {}, "has no date column called date, ds"),
        (
            table(1, 2, 3, header="day,load"),
            {"date_column": "when"},
            "has no date column 'when'; its columns are",
        ),
        (("unique_id,ds,x", "a,2020-01-01,1"), {}, "has no column 'y'"),
        (
            ("unique_id,ds,y", "a,2020-01-01,1", ",2020-01-02,1"),
            {},
            "line 3: column 'unique_id' is empty.",
        ),
        (
            ("unique_id,ds,y", "a,2020-01-01,1", "a,2020-01-01,1"),
            {},
            "line 3: duplicate time stamp 2020-01-01 00:00:00 of 'a'.",
        ),
        (("date,load",), {}, "must have rows and columns, has no row"),
        (table(1, 2, 3), {"freq": "foo"}, "freq must be a pandas frequency such as"),
        (table(1, 2, 3), {"sep": "\u00e9"}, "sep must be a character such as ',', ';' or 'tab'"),
        (table(1, 2, 3), {"decimal": "e"}, "decimal must be '.' or ',', got 'e'."),
        (
            table(1, 2, 3),
            {"date_format": "%q"},
            "the CSV: date_format='%q': 'q' is a bad directive",
        ),
    ],
)
def test_single_fault_is_reported_in_one_line(rows, options, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read(*rows, **options)
    assert "\n" not in str(error.value)


def test_all_faults_are_reported_at_once():
    rows = "date,a,b", "2020-01-01,1,x", "soon,2,inf", "2020-01-03,x,3", "", "2020-01-04,7,7"
    with pytest.raises(ValueError, match="has 6 faults") as error:
        read(*rows, "2020-01-04,8,8", "2020-01-05,8,8,8")
    lines = str(error.value).splitlines()[1:]
    assert [line.split(": ")[0].strip() for line in lines] == [
        f"line {i}" for i in (2, 3, 3, 4, 7, 8)
    ]


def test_no_more_than_ten_faults_are_shown():
    rows = [f"2020-01-{day:02},{'x' if day > 15 else 1}" for day in range(1, 29)]
    with pytest.raises(ValueError, match="has 13 faults") as error:
        read("date,load", *rows)
    lines = str(error.value).splitlines()
    assert len(lines) == 12
    assert lines[-1] == "  and 3 more"


def test_missing_and_binary_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_csv(tmp_path / "absent.csv")


def test_ids_are_text_in_any_case():
    words = "NA", "None", "null", "nan", "007", "x "
    frame = read("unique_id,ds,y", *(f"{word},2020-01-01,1" for word in words))
    assert frame["unique_id"].tolist() == ["NA", "None", "null", "nan", "007", "x"]
    frame = read("unique_id,ds,y,place", "a,2020-01-01,NA,NA", "a,2020-01-02,1,DE")
    assert frame["place"].tolist() == [np.nan, "DE"]  # an id may be NA, a category may not
    assert np.isnan(frame["y"][0])


def test_the_attrs_say_how_a_file_was_read():
    rows = "day;load", *(f"{day}.01.2024;1.234,5" for day in range(10, 20))
    frame = read(*rows)
    assert frame.attrs["read_as"] == {
        "sep": ";",
        "decimal": ",",
        "encoding": "utf-8",
        "date_column": "day",
        "date_format": "%d.%m.%Y",
        "freq": "D",
    }
    assert str(reading_of(frame)) == (
        "read as: semicolons between columns, decimal comma, dates in 'day', day first, frequency D"
    )
    assert reading_of(pd.DataFrame()) is None


def test_parquet_is_read_as_csv_is(tmp_path):
    dates = pd.date_range("2024-01-01", periods=5)
    wide = pd.DataFrame({"a": [1.5, 2, 3, 4, 5]}, pd.DatetimeIndex(dates, name="when"))
    wide.to_parquet(tmp_path / "wide.parquet")
    frame = read_table(tmp_path / "wide.parquet")
    assert frame["a"].tolist() == wide["a"].tolist()
    assert frame.index.equals(dates)
    texts = pd.DataFrame({"unique_id": "007", "ds": [f"{x:%d.%m.%Y}" for x in dates], "y": "1,5"})
    texts.to_parquet(tmp_path / "long.parquet")
    long = read_table(tmp_path / "long.parquet")
    assert long["y"].tolist() == [1.5] * 5
    assert long["ds"].tolist() == dates.tolist()
    texts.loc[2, "ds"] = "soon"
    texts.to_parquet(tmp_path / "faulty.parquet")
    with pytest.raises(ValueError, match=r"faulty\.parquet: row 3: column 'ds' is not all dates"):
        read_table(tmp_path / "faulty.parquet")


def test_excel_is_read_as_csv_is(tmp_path):
    pytest.importorskip("openpyxl")
    dates = pd.date_range("2024-01-01", periods=5)
    frame = pd.DataFrame({"Tag": dates, "load": [1.5, None, 3, 4, 5]})
    frame.to_excel(tmp_path / "x.xlsx", index=False)
    read = read_table(tmp_path / "x.xlsx")
    np.testing.assert_array_equal(read["load"], frame["load"])
    assert read.index.equals(dates)
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        frame.to_excel(book, sheet_name="a", index=False)
        frame.assign(load=7).to_excel(book, sheet_name="b", index=False)
    with pytest.raises(ValueError, match="has the sheets 'a', 'b': give sheet='a'"):
        read_table(tmp_path / "two.xlsx")
    assert read_table(tmp_path / "two.xlsx", sheet="b")["load"].tolist() == [7] * 5
    text = {"unique_id": "007", "ds": dates, "y": ["1.234", "5", "6.000", "7", "8"]}
    pd.DataFrame(text).to_excel(tmp_path / "text.xlsx", index=False)
    with pytest.raises(ValueError, match=r"row 2: column 'y' can be read in two ways, '1\.234'"):
        read_table(tmp_path / "text.xlsx")
    read = read_table(tmp_path / "text.xlsx", decimal=",")
    assert read["unique_id"].tolist() == ["007"] * 5
    assert read["y"].tolist() == [1234, 5, 6000, 7, 8]
    twice = pd.DataFrame(zip(dates, range(5), range(5), strict=True), columns=["date", "x", "x"])
    twice.to_excel(tmp_path / "twice.xlsx", index=False)
    with pytest.raises(ValueError, match="has several columns named 'x'"):
        read_table(tmp_path / "twice.xlsx")
    twice.set_axis(["date", "x", "y"], axis=1).replace(3, "x").to_excel(
        tmp_path / "low.xlsx", index=False, startrow=2
    )
    with pytest.raises(ValueError, match=r"row 7: column 'x' must be numeric, got 'x'"):
        read_table(tmp_path / "low.xlsx")
    (tmp_path / "no.xlsx").write_text("date,x")
    with pytest.raises(ValueError, match=r"cannot read .*no\.xlsx: it is not an Excel file\."):
        read_table(tmp_path / "no.xlsx")


def test_folders_and_archives_that_are_not_tables_are_refused(tmp_path):
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(IsADirectoryError, match=r"x\.csv is a folder, expected a file"):
        read_table(tmp_path / "x.csv")
    text = "\n".join(table(1, 2, 3))
    with zipfile.ZipFile(tmp_path / "mac.zip", "w") as archive:
        archive.writestr("a/", "")
        archive.writestr("a/x.csv", text)
        archive.writestr("__MACOSX/a/._x.csv", "")
    assert read_table(tmp_path / "mac.zip")["load"].tolist() == [1, 2, 3]
    content = bytearray((tmp_path / "mac.zip").read_bytes())
    for i in range(len(content) - 4):
        if content[i : i + 4] in (b"PK\1\2", b"PK\3\4"):
            content[i + (8 if content[i + 2] == 1 else 6)] |= 1  # is encrypted
    (tmp_path / "secret.zip").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"secret\.zip is not a table: File 'a/x\.csv' is encrypted"
    ):
        read_table(tmp_path / "secret.zip")


def test_a_related_file_is_checked():
    with pytest.raises(ValueError, match="timezone must be a name such as"):
        read(*table(1, 2, 3), like={"timezone": "Mars"})
    frame = read(*table(1, 2, 3), like={"timezone": "UTC+05:30"})
    assert str(frame.index.tz) == "UTC+05:30"


@pytest.mark.parametrize("rows", [1, 2])
def test_a_short_file_has_the_frequency_of_a_related_one(rows):
    short = table(*range(rows), dates=DAYS[:rows])
    assert reading_of(read(*short, like={"freq": "D"})).freq == "D"
    with pytest.raises(ValueError, match=f"cannot infer the frequency of {rows}"):
        read(*short)
    assert reading_of(read(*table(1, 2, 3), like={"freq": "h"})).freq == "D"  # as the rows say


def test_no_column_and_ids_of_blanks_are_refused():
    with pytest.raises(ValueError, match="has no column of values"):
        read(*table(1, 2, 3), columns=[])
    with pytest.raises(ValueError, match="line 2: column 'unique_id' is empty"):
        read("unique_id,ds,y", *(f"  ,{day},1" for day in DAYS))


def test_static_covariates_keep_their_ids():
    frame = read_static(io.StringIO("UNIQUE_ID;size;place\n001;1,5;NA\n NA;2,5;x\n"))
    assert frame["unique_id"].tolist() == ["001", "NA"]
    assert frame["size"].tolist() == [1.5, 2.5]
    assert frame["place"].tolist() == [np.nan, "x"]
    for text, message in {
        "unique_id,a\n1,2,3\n": "line 2: 3 fields, but the header has 2",
        "id,a\n1,2\n": "has no column 'unique_id'; its columns are 'id', 'a'",
        "unique_id,a\n1,2\n1,3\n": "line 3: second row of '1'",
    }.items():
        with pytest.raises(ValueError, match=message):
            read_static(io.StringIO(text))


def test_numbers_are_read_without_dates():
    assert read_numbers(io.StringIO("a;b\n1,5;2\n"))["a"].tolist() == [1.5]
    assert read_numbers(io.StringIO("a\n1\n2\n"))["a"].tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="line 3: column 'a' has no value"):
        read_numbers(io.StringIO("a,b\n1,2\n,3\n"))


def test_reading_a_file_does_not_import_keras(tmp_path):
    (tmp_path / "x.csv").write_text("\n".join(table(1, 2, 3)) + "\n")
    program = (
        "import sys; from kerastrans.data import read_csv, read_panel\n"
        "panel = read_panel(read_csv(sys.argv[1]))\n"
        "print(len(panel), sorted({'keras', 'tensorflow', 'jax', 'torch'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program, tmp_path / "x.csv"]
    assert subprocess.check_output(command, text=True).split() == ["1", "[]"]


def test_a_part_of_many_rows_with_digits_does_not_change_ids():
    # pandas converts parts of 2,048 rows of 300 columns: all ids of the second one are digits.
    ids = [f"b{i}" for i in range(2100)] + [f"{i:05}" for i in range(2100)]
    header = "unique_id,ds,y," + ",".join(f"x{i}" for i in range(297))
    frame = read(header, *(f"{x},2000-01-01{',1' * 298}" for x in ids))
    assert frame["unique_id"].tolist() == ids


def test_a_wide_table_of_numbers_keeps_its_columns_and_types():
    rows = "b,date,a,text", "1,2020-01-01,,x", "2,2020-01-02,5,y", "3,2020-01-03,7,z"
    frame = read(*(row.rsplit(",", 1)[0] for row in rows))
    assert frame.columns.tolist() == ["b", "a"]
    np.testing.assert_array_equal(frame, [[1, np.nan], [2, 5], [3, 7]])
    assert frame.index[0] == pd.Timestamp("2020-01-01")
    assert read(*rows, columns=["a", "b"]).columns.tolist() == ["a", "b"]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_a_duplicate_is_found_in_any_order_of_rows(order):
    rows = ["a,2020-01-01,1", "a,2020-01-02,1", "b,2020-01-01,1", "b,2020-01-02,1"]
    assert len(read("unique_id,ds,y", *(rows[i] for i in order))) == 4
    with pytest.raises(ValueError, match="duplicate time stamp 2020-01-02 00:00:00 of 'b'"):
        read("unique_id,ds,y", *(rows[i] for i in order), "b,2020-01-02,2")


@pytest.mark.parametrize("rows", [(), ("a,2024-01-05,2,x,y,z",)])  # or with a row that is too long
@pytest.mark.parametrize("cell", ['"oops', '"oops ""'])
def test_a_quote_that_is_not_closed_loses_no_rows(rows, cell):
    lines = ["unique_id,ds,y,note", "a,2024-01-01,1,x", *rows, f"a,2024-01-02,2,{cell}"]
    line = len(lines)
    lines += ["a,2024-01-03,3,z", "a,2024-01-04,4,z"]
    with pytest.raises(ValueError, match=f"line {line}: a quote in this line is not closed"):
        read(*lines, covariates=["note"])


def test_text_that_is_open_has_been_decoded():
    rows = ["date,größe", *(f"2024-01-0{i},{i}" for i in range(1, 4))]
    assert list(read_table(io.StringIO("\n".join(rows)), encoding="latin-1")) == ["größe"]
    marked = io.BytesIO("\n".join(rows).encode("utf-8-sig"))
    assert list(read_table(marked, encoding="utf-8")) == ["größe"]


def test_lines_of_blanks_are_left_out():
    rows = ["date,y", "2024-01-01,1", " \t", "2024-01-02,2", "2024-01-03,3", "  "]
    for end in ("\n", "\r\n"):
        frame = read_table(io.StringIO(end.join(rows)))
        assert frame["y"].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="line 5: column 'y' must be numeric, got 'x'"):
        read(*rows[:4], "2024-01-03,x", "2024-01-04,1")


def test_zones_of_utc_may_be_written_in_several_ways():
    rows = [
        "date,y",
        *(f"2024-01-0{i}T00:00{x},1" for i, x in enumerate(("Z", "+00:00", "+00"), 1)),
    ]
    assert len(read(*rows)) == 3


def test_the_hour_that_occurs_twice_is_read_for_each_series():
    first = pd.date_range("2024-10-27", periods=6, freq="h", tz="Europe/Berlin")
    second = pd.date_range("2023-06-01", periods=6, freq="h", tz="Europe/Berlin")
    texts = [("a", first), ("b", second), ("c", first[::-1])]
    rows = [
        f"{name},{time:%Y-%m-%d %H:%M},{time.timestamp():.0f}"
        for name, times in texts
        for time in times
    ]
    frame = read("unique_id,ds,y", *rows, timezone="Europe/Berlin")
    assert [time.timestamp() for time in frame["ds"]] == frame["y"].tolist()


def test_days_without_a_midnight_are_read_in_their_zone():
    days = pd.date_range("2024-09-01", periods=14, freq="D")
    rows = ["ds,y", *(f"{day:%Y-%m-%d},{i}" for i, day in enumerate(days))]
    frame = read(*rows, timezone="America/Santiago")
    assert len(frame) == 14
    assert str(frame.index[7]) == "2024-09-08 01:00:00-03:00"


def test_classes_of_numbers_and_words_are_text():
    rows = [f"a,2024-01-0{i},{i},{x}" for i, x in enumerate("123AB1", 1)]
    frame = read("unique_id,ds,y,grade", *rows, covariates=["grade"])
    assert frame["grade"].tolist() == list("123AB1")
    # One word among many numbers, many words, and the other decimal sign are faults.
    days = pd.date_range("2024-01-01", periods=60)
    rows = [f"a,{day:%Y-%m-%d},1,{day.day}" for day in days[:-1]]
    with pytest.raises(ValueError, match="line 61: column 'grade' must be numeric, got 'A'"):
        read("unique_id,ds,y,grade", *rows, f"a,{days[-1]:%Y-%m-%d},1,A", covariates=["grade"])
    rows = [f"a,{day:%Y-%m-%d},1,no {i}" for i, day in enumerate(days)]
    with pytest.raises(ValueError, match="'grade' has 60 different texts, such as 'no 0'; at most"):
        read("unique_id,ds,y,grade", *rows)
    assert read("unique_id,ds,y,grade", *rows, exclude=["grade"]).columns.tolist()[-1] == "y"
    rows = [f"a;2024-01-0{i};{i},5;{x}" for i, x in enumerate(["1", "2", "3", "1.5"], 1)]
    with pytest.raises(ValueError, match="must be numeric"):
        read("unique_id;ds;y;grade", *rows, covariates=["grade"])


def test_named_columns_are_those_of_related_files():
    days = [f"2024-01-{i:02}" for i in range(1, 11)]
    rows = [f"{s};{day};{i};{'b' if i % 3 else 0}" for s in (7, 9) for i, day in enumerate(days)]
    named = {"id_column": "Store", "target": "Sales", "missing": "9"}
    frame = read("Store;Date;Sales;Holiday", *rows, **named, dayfirst=False)
    assert frame.columns.tolist() == ["unique_id", "ds", "y", "Holiday"]
    assert frame["unique_id"].tolist()[::10] == ["7", "9"]
    assert frame["y"].isna().sum() == 2
    read_as = frame.attrs["read_as"]
    assert {x: read_as[x] for x in named} == named | {"missing": ["9"]}
    assert size_of(frame) == (
        "long, 2 series, 20 rows, 2 values missing, Holiday: 2 categories 0, b"
    )
    again = read("Store;Date;Sales;Holiday", *rows, like=read_as)
    pd.testing.assert_frame_equal(again, frame)
    static = read_static(
        io.StringIO("Store;Size;Name\n7;1;a\n9;-1;b\n"), like=read_as, exclude="Name"
    )
    assert static.to_dict("list") == {"unique_id": ["7", "9"], "Size": [1, -1]}
    ahead = read("Date;Store;Holiday", "2024-01-11;7;b", like=read_as, with_values=False)
    assert ahead.columns.tolist() == ["unique_id", "ds", "Holiday"]


def test_totals_and_codes_are_named():
    days = [f"2024-01-{i:02}" for i in range(1, 11)]
    rows = [f"{day},{i}" for i, day in enumerate(days)]
    with pytest.warns(UserWarning, match="the last row, 'Total', is left out"):
        frame = read("Date,load", *rows, "Total,45")
    assert len(frame) == 10
    codes = [f"{day},{-200 if i in (2, 5, 6) else i},{i % 2}" for i, day in enumerate(days)]
    with pytest.warns(UserWarning, match="3 cells of column 'co' are -200, far from"):
        frame = read("Date,co,load", *codes)
    assert (frame["co"] == -200).sum() == 3
    with pytest.warns(UserWarning, match="are 9999, far .* give missing='9999'"):
        read("Date,level", *(f"{day},{9999 if i > 6 else i}" for i, day in enumerate(days)))


@pytest.mark.parametrize(
    "values", [[0, 0, 0, 0, 900, 0, 0, 950, 0, 0], [99, 99, 99, 98, 60, 99, 97, 10, 80, 70]]
)
def test_zeros_of_demand_and_percentages_are_no_codes(values, recwarn):
    read("Date,y", *(f"2024-01-{i:02},{x}" for i, x in enumerate(values, 1)))
    assert not recwarn.list


def test_steps_without_a_row_are_counted():
    days = pd.date_range("2024-01-01", periods=20).delete([3, 4, 9])
    frame = read("Date,y", *(f"{day:%Y-%m-%d},1" for day in days))
    assert size_of(frame) == "wide, 1 series, 17 rows, 3 steps without a row"


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (
            ("d,h,y", "2024-01-01,0,1", "2024-01-01,,2"),
            {"date_column": "d,h"},
            "line 3: column 'd,h'",
        ),
        (
            ("d,h,y", "2024-01-01,0,1", "2024-01-01,x,2"),
            {"date_column": "d,h"},
            "got '2024-01-01 x'",
        ),
        (
            ("s,d,v", "1,2024-01-01,x"),
            {"id_column": "s", "target": "v"},
            "'v' must be numeric, got",
        ),
        (("s,d,v,y", "1,2024-01-01,1,2"), {"id_column": "s", "target": "v"}, "give exclude='y'"),
        (
            ("d,y", "2024-01-01,1"),
            {"skip_rows": "x"},
            "skip_rows must be a number of lines, got 'x'",
        ),
        (
            ("s,d,y", "1,2024-01-01,1"),
            {"id_column": "s", "exclude": "s"},
            "cannot be two of ids, date",
        ),
        (("d,y", "2024-01-01,1"), {"target": "y", "columns": ["y"]}, "give target or columns"),
    ],
)
def test_options_that_do_not_fit_end_in_one_line(rows, options, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read(*rows, **options)
    assert "\n" not in str(error.value)


def test_columns_that_were_left_out_stay_out_of_related_files():
    days = [f"2024-01-{i:02}" for i in range(1, 11)]
    rows = [f"{day},{i},{-i},{i}" for i, day in enumerate(days)]
    read_as = read("Date,load,debug,wind", *rows, exclude="debug").attrs["read_as"]
    assert read_as["exclude"] == ["debug"]
    assert read("Date,load,debug,wind", *rows, like=read_as).columns.tolist() == ["load", "wind"]
    few = [row.rpartition(",")[0] for row in rows]
    assert read("Date,load,other", *few, like=read_as).columns.tolist() == ["load", "other"]
    # A target of a related file does not contradict the columns that are given.
    read_as = read("Date,load,debug,wind", *rows, target="load").attrs["read_as"]
    assert read("Date,load,debug,wind", *rows, like=read_as).columns.tolist() == ["load"]
    ahead = {"columns": ["wind"], "covariates": ["wind"], "with_values": False}
    frame = read("Date,load,debug,wind", *rows, like=read_as, **ahead)
    assert frame.columns.tolist() == ["wind"]


def test_nullable_columns_without_a_value_are_read(tmp_path):
    frame = pd.DataFrame({"unique_id": "a", "ds": pd.date_range("2024-01-01", periods=5)})
    frame = frame.assign(y=range(5), empty=pd.array([pd.NA] * 5, "Int64"))
    frame.to_parquet(tmp_path / "x.parquet")
    assert read_table(tmp_path / "x.parquet")["empty"].isna().all()


def test_tables_of_numbers_and_ids_have_the_options_of_files():
    text = "a;note;b\n1,5;x;2\n?;y;3\n"
    static = read_static(io.StringIO("unique_id;a\nu;1,5\nv;?\n"))
    assert static["a"].isna().tolist() == [False, True]
    with pytest.raises(ValueError, match="line 3: column 'a' has no value"):
        read_numbers(io.StringIO(text), exclude="note")
    found = read_numbers(io.StringIO(text.replace("?", "4")), exclude="note")
    assert found.to_dict("list") == {"a": [1.5, 4], "b": [2, 3]}
