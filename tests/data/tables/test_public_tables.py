"""Excerpts, made by hand, of the kinds of tables that people have, read by one set of options.

Each is refused without them by a message that names the option, at most twice.
"""

import io
import re

import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans.data import read_table
from kerastrans.data.native_frames import takes_any_frame
from kerastrans.data.tables.reader import reading_of, size_of

DAYS = pd.date_range("2020-03-01", periods=60)
HALF_HOURS = pd.date_range("2024-10-20", periods=48 * 14, freq="30min", tz="Europe/London")


def lines(header, rows, sep=","):
    return "\n".join([header, *(sep.join(map(str, row)) for row in rows)]) + "\n"


def covid_of_our_world_in_data():
    places = [("DEU", "Europe", "Germany"), ("KOR", "Asia", "South Korea"), ("OWID", "", "World")]
    rows = [
        (*place, f"{day:%Y-%m-%d}", 10.0 * i, "" if i < 2 else 7 * i)
        for place in places
        for i, day in enumerate(DAYS)
    ]
    return lines("iso_code,continent,location,date,total_cases,new_cases", rows)


def covid_of_johns_hopkins():
    days = ",".join(f"{day.month}/{day.day}/{day:%y}" for day in DAYS)
    places = [
        ("", "Germany", 51.1, 10.4),
        ("Hubei", "China", 31, 112),
        ("Guangdong", "China", 23, 113),
    ]
    rows = [(*place, *range(i, 60 + i)) for i, place in enumerate(places)]
    return lines(f"Province/State,Country/Region,Lat,Long,{days}", rows)


def web_traffic():
    pages = ("2NE1_zh.wikipedia.org_all-access_spider", "3C_zh.wikipedia.org_all-access_spider")
    rows = [(page, "", *(f"{x}.0" for x in range(59))) for page in pages]
    return lines("Page," + ",".join(f"{day:%Y-%m-%d}" for day in DAYS), rows)


def indicators_of_countries():
    header = "Country Name,Country Code,Indicator Name," + ",".join(map(str, range(1960, 2024)))
    rows = [
        (name, code, "GDP growth", *([""] * 10), *range(54), "")
        for name, code in (("Aruba", "ABW"), ("Chad", "TCD"))
    ]
    return "\n\nData Source,World Development Indicators,\n\n" + lines(f"{header},", rows)


def competition_of_numbered_steps():
    return lines("unique_id,ds,y", [(f"D{k}", i, i % 7 + k) for k in (1, 2) for i in range(1, 61)])


def sales_with_events():
    rows = [
        (
            f"{item}_{store}",
            item,
            store,
            f"{day:%Y-%m-%d}",
            i % 5,
            "Easter" if i == 42 else "",
            8.26,
        )
        for item in ("HOBBIES_1_001", "FOODS_3_090")
        for store in ("CA_1", "TX_2")
        for i, day in enumerate(DAYS)
    ]
    return lines("id,item_id,store_id,date,sales,event_name_1,sell_price", rows)


def load_by_half_hours():
    rows = [(f"{t.tz_localize(None):%Y-%m-%d %H:%M}", 20_000 + t.hour) for t in HALF_HOURS]
    return lines("time;MW", rows, ";")


def items_of_stores():
    pairs = [(store, item) for store in (1, 2) for item in (1, 2, 3)]
    rows = [(f"{day:%Y-%m-%d}", *pair, day.day) for pair in pairs for day in DAYS]
    return lines("date,store,item,sales", rows)


def book_of_two_sheets():
    book = io.BytesIO()
    months = pd.date_range("2018-01-01", periods=60, freq="MS")
    with pd.ExcelWriter(book) as writer:
        pd.DataFrame({"note": ["made by hand"]}).to_excel(writer, sheet_name="Read me", index=False)
        sheet = pd.DataFrame({"Monat": months, "Umsatz": np.arange(60) + 0.5})
        sheet.to_excel(writer, sheet_name="Umsatz", index=False)
    book.name = "book.xlsx"
    book.seek(0)
    return book


def european():
    rows = [(f"{day:%d.%m.%Y}", f"1.{500 + i},50", 40) for i, day in enumerate(DAYS)]
    return lines("Datum;Umsatz (€);Kunden", [*rows, ("Summe", "91.800,00", 2400)], ";")


def sensor_with_codes():
    times = pd.date_range("2024-01-01", periods=300, freq="10min")
    rows = [
        (t, -9999 if i % 50 == 3 else round(5 + np.sin(i), 2), "NAN" if i % 70 == 4 else 80)
        for i, t in enumerate(times)
    ]
    return lines("# station 7\n# units: degC, %\nTIMESTAMP,AirTemp,RH", rows)


def date_and_time():
    times = pd.date_range("2004-03-10 18:00", periods=300, freq="h")
    rows = [(f"{t:%d/%m/%Y}", f"{t:%H.%M.%S}", 2.5, 100) for t in times]
    return lines("Date,Time,CO,NO2", rows)


def written_by_r():
    rows = [(f'"{i}"', f'"{day:%Y-%m-%d}"', i, '"yes"') for i, day in enumerate(DAYS, 1)]
    return lines('"date" "sales" "promo"', rows, " ")


# Table -> options, size and frequency, and what the messages name without the options.
TABLES = {
    covid_of_our_world_in_data: (
        {"id_column": "location", "target": "new_cases", "columns": ["total_cases"]},
        ("long, 3 series, 180 rows, 6 values missing", "D"),
        ["id_column="],
    ),
    covid_of_johns_hopkins: ({}, ("long, 3 series, 180 rows", "D"), []),
    web_traffic: ({}, ("long, 2 series, 120 rows, 2 values missing", "D"), []),
    indicators_of_countries: (
        {"skip_rows": 3},
        ("long, 2 series, 128 rows, 20 values missing", "YS-JAN"),
        ["skip_rows"],
    ),
    competition_of_numbered_steps: ({}, ("long, 2 series, 120 rows", "ns"), []),
    sales_with_events: (
        {"id_column": "id", "target": "sales", "exclude": "item_id,store_id"},
        ("long, 4 series, 240 rows, event_name_1: 1 categories Easter", "D"),
        ["id_column='id'"],
    ),
    load_by_half_hours: (
        {"timezone": "Europe/London"},
        ("wide, 1 series, 672 rows", "30min"),
        ["clocks went back, give timezone"],
    ),
    items_of_stores: (
        {"id_column": "store,item", "target": "sales"},
        ("long, 6 series, 360 rows", "D"),
        ["id_column='store,item'"],
    ),
    book_of_two_sheets: ({"sheet": "Umsatz"}, ("wide, 1 series, 60 rows", "MS"), ["give sheet="]),
    european: ({}, ("wide, 2 series, 60 rows", "D"), []),
    sensor_with_codes: (
        {"skip_rows": 2, "missing": "-9999"},
        ("wide, 2 series, 300 rows, 11 values missing", "10min"),
        ["skip_rows"],
    ),
    date_and_time: (
        {"date_column": "Date,Time"},
        ("wide, 2 series, 300 rows", "h"),
        ["date_column='Date,Time'"],
    ),
    written_by_r: (
        {"target": "sales", "covariates": ["promo"]},
        ("wide, 1 series, 60 rows, promo: 1 categories yes", "D"),
        ["covariates="],
    ),
}


def opened(make):
    made = make()
    return io.StringIO(made) if isinstance(made, str) else made


@pytest.mark.filterwarnings("ignore:.*(its columns are dates|the last row)")
@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_a_table_is_read_by_the_options_that_its_messages_name(make):
    options, expected, named = TABLES[make]
    for words in named:
        with pytest.raises(ValueError, match=re.escape(words)):
            read_table(opened(make))
    frame = read_table(opened(make), **options)
    found = size_of(frame, options.get("covariates", ())), frame.attrs["read_as"]["freq"]
    assert found == expected


@pytest.mark.parametrize("suffix", ["csv", "xlsx", "parquet"])
def test_rows_of_series_are_read_as_those_of_dates(tmp_path, suffix):
    path, days = tmp_path / f"table.{suffix}", DAYS[:5].strftime("%Y-%m-%d")
    table = pd.DataFrame(np.arange(10.0).reshape(2, 5), columns=days)
    table.insert(0, "shop", ["b", "a"])
    table.insert(1, "town", ["x", "x"])
    {"csv": table.to_csv, "xlsx": table.to_excel, "parquet": table.to_parquet}[suffix](
        path, index=False
    )
    with pytest.warns(UserWarning, match="its columns are dates, its rows series by 'shop'"):
        frame = read_table(path)
    assert frame["unique_id"].tolist() == ["b"] * 5 + ["a"] * 5
    assert frame["ds"].tolist() == [*DAYS[:5]] * 2
    assert frame["y"].tolist() == list(range(10))
    with pytest.raises(ValueError, match="has no column 'store'; its columns are 'shop', 'town'"):
        read_table(path, id_column="store")
    with pytest.warns(UserWarning, match="series by 'town', 'shop'"):
        given = read_table(path, id_column="town,shop", exclude="town")
    assert set(given["unique_id"]) == {"x/a", "x/b"}
    assert given.attrs["read_as"]["id_column"] == "town,shop"
    with pytest.warns(UserWarning, match="series by 'town', 'shop'"):
        later = read_table(path, like=given.attrs["read_as"])  # as a trained folder reads it
    pd.testing.assert_frame_equal(later, given)


def test_numbers_of_periods_are_not_read_as_times():
    rows = [("2024-10-20", i, 1.0) for i in range(1, 49)]
    table = lines("SETTLEMENT_DATE,SETTLEMENT_PERIOD,ND", rows)
    with pytest.raises(ValueError, match="'SETTLEMENT_PERIOD' has numbers up to 48: neither hours"):
        read_table(io.StringIO(table), date_column="SETTLEMENT_DATE,SETTLEMENT_PERIOD")


def test_numbers_of_steps_come_back_in_forecasts():
    frame = read_table(io.StringIO(lines("time,load", [(i, i % 5) for i in range(995, 1010)])))
    assert "numbers of steps;" in f"{reading_of(frame)};"
    later = io.StringIO(lines("time,load", [(i, 0) for i in range(1010, 1013)]))  # or years
    assert str(read_table(later, like=frame.attrs["read_as"]).index[0])[-4:] == "1010"
    found = takes_any_frame(
        lambda table: pd.DataFrame({"unique_id": "load", "ds": table.index[-2:], "nhits": 1.0})
    )(frame)
    assert found["ds"].tolist() == [1008, 1009]
    figure = kerastrans.plotting.plot_forecast(frame, found.assign(ds=frame.index[-2:]))
    figure.draw_without_rendering()
    axis = figure.axes[-1].xaxis
    assert axis.get_label_text() == "step"
    assert {int(x.get_text()) for x in axis.get_ticklabels()} >= {1000, 1004}


def test_hours_are_not_numbers_of_steps():
    table = lines("time,load", [(i % 24, i) for i in range(72)])
    with pytest.raises(ValueError, match="'time' has numbers that repeat, neither dates nor steps"):
        read_table(io.StringIO(table))


def test_years_are_channels_beside_a_date_column():
    table = lines("date,2022,2023,2024", [(f"{day:%Y-%m-%d}", 1, 2, 3) for day in DAYS])
    assert list(read_table(io.StringIO(table))) == ["2022", "2023", "2024"]
