import io
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerastrans.data import read_csv
from kerastrans.data.panel import read_panel

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


@pytest.mark.parametrize("freq", ["h", "D"])
def test_ambiguous_days_and_months_are_refused(freq):
    times = pd.date_range("2024-01-01", "2024-01-12 23:00", freq=freq)
    rows = [f"{time:%d/%m/%Y %H:%M},1.5" for time in times]
    text = "date,load\n" + "\n".join(rows)
    if freq == "h":
        with pytest.raises(ValueError, match="most steps missing: give dayfirst=True"):
            read_csv(io.StringIO(text))
    assert read_csv(io.StringIO(text), dayfirst=True).index[-1] == times[-1]
    months = pd.date_range("2020-01-01", periods=40, freq="MS")
    text = "date,load\n" + "\n".join(f"{time:%m/%d/%Y},1.5" for time in months)
    assert (read_csv(io.StringIO(text)).index == months).all()
    with pytest.raises(ValueError, match="give no dayfirst"):
        read_csv(io.StringIO(text), dayfirst=True)


def test_hours_of_a_single_day_are_read_without_a_warning(recwarn):
    rows = [f"01/02/2024 {hour:02}:00,1.5" for hour in range(24)]
    assert read_csv(io.StringIO("\n".join(["date,load", *rows]))).index.freqstr == "h"
    assert not recwarn.list


def test_dayfirst_reads_the_day_first():
    rows = table(1, 2, 3, dates=("01/02/2020", "02/02/2020", "03/02/2020"))
    assert (read(*rows, dayfirst=True).index == pd.date_range("2020-02-01", periods=3)).all()


def test_changing_utc_offsets_are_converted_to_utc():
    dates = "2020-03-29 01:00+01:00", "2020-03-29 03:00+02:00", "2020-03-29 04:00+02:00"
    frame = read(*table(1, 2, 3, dates=dates))
    assert (frame.index == pd.date_range("2020-03-29", periods=3, freq="h", tz="UTC")).all()


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (
            table(1, 2, 3, dates=(2020, 2021, 2022)),
            {},
            "column 'date' must be dates, got numbers, such as 2020: ",
        ),
        (table(1, 2, 3, dates=(1577836800, 1577840400, 1577844000)), {}, "or 's' for seconds"),
        (table("1,5", 2, 3), {}, "line 2: 3 fields, but the header has 2. A decimal comma"),
        (
            table("1,5", 2, 3, header="date;load", sep=";"),
            {},
            "the header is one column, 'date;load': give sep=';'.",
        ),
        (
            table("1,5", 2, 3, header="date;load", sep=";"),
            {"sep": ";"},
            "line 2: column 'load' must be numeric, got '1,5': give decimal=','.",
        ),
        (
            table(1, 2, 3, dates=("1/2/2020", "2/2/2020", "13/2/2020")),
            {},
            "line 4: column 'date' is not all dates, got '13/2/2020': give dayfirst=True.",
        ),
        (
            table(1, 2, 3, dates=("2020-01-01", "soon", "2020-01-03")),
            {},
            "line 3: column 'date' is not all dates, got 'soon': give date_format.",
        ),
        (
            table(1, 2, 3, dates=("2020-01-01", "2020-1-x", "2020-01-03")),
            {"date_format": "%Y-%m-%d"},
            "got '2020-1-x' of the format '%Y-%m-%d'",
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
        (table(1, "x", 3), {}, "line 3: column 'load' must be numeric, got 'x'."),
        (table(1, "1_0", "\uff12"), {}, "column 'load' must be numeric, got text, such as '1_0'"),
        (table(1, "inf", 3), {}, "line 3: column 'load' has an infinite value."),
        (table(1, "1e400", 3), {}, "line 3: column 'load' has an infinite value."),
        (
            table("1+2j", "2+1j", "1j"),
            {},
            "column 'load' must be numeric, got text, such as '1+2j'",
        ),
        (table(1, 2, 3), {"columns": ["laod"]}, "has no column 'laod': did you mean 'load'?"),
        (table(1, 2, 3, header="day,load"), {}, "has no date column called date, ds"),
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
        (
            table(1, 2, 3),
            {"decimal": ","},
            "sep and decimal must be two different characters, got ',' and ','",
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
    with pytest.raises(FileNotFoundError, match="no such CSV file"):
        read_csv(tmp_path / "absent.csv")
    path = tmp_path / "x.csv"
    path.write_bytes(b"date,load\n2020-01-01,\xff\xfe\n")
    with pytest.raises(ValueError, match=r"x\.csv is not a table: it is not text in UTF-8"):
        read_csv(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="is not a table: No columns"):
        read_csv(path)


def test_reading_a_file_does_not_import_keras(tmp_path):
    (tmp_path / "x.csv").write_text("\n".join(table(1, 2, 3)) + "\n")
    program = (
        "import sys; from kerastrans.data import read_csv, read_panel\n"
        "panel = read_panel(read_csv(sys.argv[1]))\n"
        "print(len(panel), sorted({'keras', 'tensorflow', 'jax', 'torch'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program, tmp_path / "x.csv"]
    assert subprocess.check_output(command, text=True).split() == ["1", "[]"]
