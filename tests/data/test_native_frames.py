import io
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, backtesting
from kerastrans.data import read_table
from kerastrans.data.native_frames import takes_any_frame
from kerastrans.data.time.seasons import seasons_of
from kerastrans.evaluation.baselines.naive import naive_backtests
from kerastrans.evaluation.significance.comparison import skill

pyarrow = pytest.importorskip("pyarrow")

TIMES = pd.date_range("2024-01-01", periods=20)
LONG = pd.DataFrame(
    {"unique_id": np.repeat(["a", "b"], 20), "ds": [*TIMES, *TIMES], "y": np.arange(40.0)}
)
WIDE = pd.DataFrame({"ds": TIMES, "load": np.arange(20.0), "wind": np.arange(20.0)[::-1]})


def to_kind(kind, frame):
    if kind == "polars":
        return pytest.importorskip("polars").from_pandas(frame)
    return pyarrow.Table.from_pandas(frame)


def to_pandas(frame):
    return frame.to_pandas().astype({"unique_id": "str", "ds": "datetime64[ns]"})


@pytest.fixture(scope="module")
def forecaster():
    return Forecaster("last_value", 4, 2).fit(LONG)


@pytest.mark.parametrize("kind", ["pyarrow", "polars"])
@pytest.mark.parametrize("method", ["predict", "backtest"])
def test_forecasts_are_frames_of_the_given_kind(forecaster, kind, method):
    given = to_kind(kind, LONG)
    fitted = Forecaster("last_value", 4, 2).fit(given)
    rows = getattr(fitted, method)(given)
    assert type(rows) is type(given)
    expected = getattr(forecaster, method)(LONG).astype({"ds": "datetime64[ns]"})
    pd.testing.assert_frame_equal(to_pandas(rows), expected, check_dtype=False)


@pytest.mark.parametrize("kind", ["pyarrow", "polars"])
def test_a_frame_without_unique_id_is_wide(forecaster, kind):
    rows = forecaster.predict(to_kind(kind, WIDE))
    expected = forecaster.predict(WIDE.set_index("ds"))
    pd.testing.assert_frame_equal(
        to_pandas(rows), expected.astype({"ds": "datetime64[ns]"}), check_dtype=False
    )


def test_dates_of_wide_frames_may_be_text_or_dates(forecaster):
    text = WIDE.assign(ds=WIDE["ds"].dt.strftime("%Y-%m-%d"))
    days = WIDE.assign(ds=WIDE["ds"].dt.date)
    expected = to_pandas(forecaster.predict(pyarrow.Table.from_pandas(WIDE)))
    for frame in (text, days):
        rows = forecaster.predict(pyarrow.Table.from_pandas(frame))
        pd.testing.assert_frame_equal(to_pandas(rows), expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "is_long"), [("pandas", True), ("polars", True), ("polars", False), ("pyarrow", False)]
)
def test_text_of_a_small_frame_is_read_as_that_of_the_training_frame(kind, is_long, tmp_path):
    def frame(begin, rows):
        times = pd.date_range(begin, periods=rows)
        text = pd.DataFrame({"ds": times.strftime("%d/%m/%Y"), "y": np.arange(float(rows))})
        text = text.assign(unique_id="a") if is_long else text
        return text if kind == "pandas" else to_kind(kind, text)

    small = frame("2024-03-01", 12)  # or the first of twelve months
    fitted = Forecaster("last_value", 4, 2)
    fitted.fit(frame("2023-01-01", 400))
    assert fitted.read_as == {"date_column": "ds", "date_format": "%d/%m/%Y"}
    fitted.save(tmp_path / "run")
    for forecaster in (fitted, Forecaster.load(tmp_path / "run")):
        rows = forecaster.predict(small)
        assert str(rows["ds"][0])[:10] == "2024-03-13"
    file = io.StringIO("day,y\n" + "".join(f"{x:02}/03/2024,{x}\n" for x in range(1, 13)))
    assert str(read_table(file, like=fitted.read_as).index[-1].date()) == "2024-03-12"
    with pytest.raises(ValueError, match=r"two ways.*give pd.to_datetime\(frame\['ds'\], format="):
        Forecaster("last_value", 4, 2).fit(small)


def test_the_zone_of_a_polars_frame_is_stored(tmp_path):
    polars = pytest.importorskip("polars")
    hours = pd.date_range("2024-10-25", periods=72, freq="h", tz="Europe/Berlin")
    frame = polars.from_pandas(pd.DataFrame({"ds": hours, "load": np.arange(72.0)}))
    fitted = Forecaster("last_value", 4, 2).fit(frame)
    assert fitted.read_as == {"timezone": "Europe/Berlin"}
    frame.write_csv(tmp_path / "load.csv")  # with offsets that change
    read = read_table(tmp_path / "load.csv", like=fitted.read_as)
    assert read.index.equals(pd.DatetimeIndex(hours, name="date"))
    assert fitted.predict(read)["ds"][0] == fitted.predict(frame)["ds"][0]


def test_frames_in_dicts_are_converted_and_tables_of_scores_stay_pandas(forecaster):
    backtest = forecaster.backtest(pyarrow.Table.from_pandas(LONG))
    scores = backtesting.score_all({"last value": backtest})
    assert isinstance(scores, pd.DataFrame)
    expected = backtesting.score_all({"last value": forecaster.backtest(LONG)})
    pd.testing.assert_frame_equal(scores, expected)


def test_the_kind_of_the_first_frame_is_returned():
    arrow = pyarrow.table({"y": [1]})
    first = takes_any_frame(lambda *frames: frames[0])
    assert isinstance(first(arrow, pd.DataFrame({"y": [1]})), pyarrow.Table)
    assert isinstance(first(pd.DataFrame({"y": [1]})), pd.DataFrame)


def test_polars_without_pyarrow_names_the_extra(monkeypatch):
    frame = pytest.importorskip("polars").DataFrame({"unique_id": ["a"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install \"\.\[polars\]\""):
        takes_any_frame(lambda frame: frame)(frame)


def test_other_objects_are_refused(forecaster):
    with pytest.raises(TypeError, match=r"expected a DataFrame of .*, got dict"):
        forecaster.predict({"y": [1.0]})


def polars_types():
    pl = pytest.importorskip("polars")
    yield "ds", pl.Datetime("us")
    yield "ds", pl.Datetime("ms")
    yield "ds", pl.Date
    yield "unique_id", pl.Categorical
    yield "unique_id", pl.Enum(["a", "b"])


@pytest.mark.parametrize("number", range(5))
def test_polars_forecasts_join_with_their_frame(forecaster, number):
    pl = pytest.importorskip("polars")
    name, dtype = list(polars_types())[number]
    frame = pl.from_pandas(LONG).with_columns(pl.col(name).cast(dtype))
    rows = forecaster.backtest(frame, windows=1)
    assert rows.schema[name] == frame.schema[name]
    assert rows.schema["cutoff"] == rows.schema["ds"] == frame.schema["ds"]
    assert len(frame.join(rows, on=["unique_id", "ds"])) == 4


def test_types_of_numbers_and_of_other_libraries_come_back(forecaster):
    pl = pytest.importorskip("polars")
    numbered = LONG.assign(unique_id=np.repeat([7, 8], 20))
    rows = forecaster.predict(pl.from_pandas(numbered).cast({"unique_id": pl.Int32}))
    assert rows.schema["unique_id"] == pl.Int32
    schema = pyarrow.schema(
        {
            "unique_id": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
            "ds": pyarrow.date32(),
            "y": pyarrow.float64(),
        }
    )
    rows = forecaster.predict(pyarrow.Table.from_pandas(LONG, schema))
    assert pyarrow.types.is_dictionary(rows.schema.field("unique_id").type)
    assert rows.schema.field("ds").type == pyarrow.date32()
    given = LONG.astype({"unique_id": "category", "ds": "datetime64[s]"})
    rows = forecaster.predict(given)
    assert rows.dtypes[["unique_id", "ds"]].tolist() == ["category", "datetime64[s]"]
    assert forecaster.predict(numbered)["unique_id"].dtype == "int64"
    assert "contamination" in forecaster.backtest(given, windows=1).attrs


def test_ids_that_a_function_makes_need_not_be_of_the_type():
    sums = takes_any_frame(lambda frame: pd.DataFrame({"unique_id": ["all"], "y": [3.0]}))
    pl = pytest.importorskip("polars")
    for ids, dtype in (([1, 2], pl.Int32), (["a", "b"], pl.Enum(["a", "b"]))):
        frame = pl.DataFrame({"unique_id": ids, "y": [1.0, 2.0]}).cast({"unique_id": dtype})
        assert sums(frame)["unique_id"].to_list() == ["all"]
    assert sums(pd.DataFrame({"unique_id": [1, 2]}))["unique_id"].tolist() == ["all"]


def test_decimals_and_none_are_numbers(forecaster):
    expected = forecaster.predict(LONG)
    decimals = LONG.assign(y=[Decimal(str(x)) for x in LONG["y"]])
    missing = LONG.assign(y=pd.Series([None, *LONG["y"][1:]], dtype=object))
    for frame in (decimals, missing):
        assert frame["y"].dtype == object
        pd.testing.assert_frame_equal(forecaster.predict(frame), expected)
    table = pyarrow.Table.from_pandas(decimals)
    assert pyarrow.types.is_decimal(table.schema.field("y").type)
    found = forecaster.predict(table).column("last_value").to_pylist()
    assert found == pytest.approx([19, 19, 39, 39])
    texts = LONG.assign(y=LONG["y"].astype("str").astype(object))
    with pytest.raises(ValueError, match="column 'y' must be numeric"):
        forecaster.predict(texts)


@pytest.mark.parametrize("freq", ["M", "15min", "W", "Q-NOV"])
def test_periods_are_read_and_come_back(freq):
    periods = pd.period_range("2021-01-01", periods=60, freq=freq)
    long = pd.DataFrame({"unique_id": "a", "ds": periods, "y": np.arange(60.0)})
    wide = pd.DataFrame({"a": np.arange(60.0)}, periods)
    for frame in (long, wide):
        rows = Forecaster("last_value", 4, 2).fit(frame).predict(frame)
        expected = pd.period_range(periods[-1] + 1, periods=2, freq=freq)
        assert rows["ds"].tolist() == list(expected)
        assert rows["last_value"].tolist() == pytest.approx([59, 59])


@pytest.mark.parametrize("kind", ["int64", "int16", "Int64", "UInt32"])
@pytest.mark.parametrize(("start", "step"), [(0, 1), (3, 1), (1960, 1), (500, 25)])
def test_integers_count_steps_and_come_back(kind, start, step):
    steps = pd.array(np.arange(start, start + 60 * step, step), dtype=kind)
    long = pd.DataFrame({"unique_id": "a", "ds": steps, "y": np.arange(60.0)})
    forecaster = Forecaster("seasonal_naive", 6, 2, season=2).fit(long[:-2], freq=None)
    expected = [58 * step + start, 59 * step + start]
    rows = forecaster.predict(long[:-2])
    assert rows["ds"].tolist() == expected
    assert rows.merge(long, on=["unique_id", "ds"])["y"].tolist() == [58, 59]
    polars = pytest.importorskip("polars")
    other = forecaster.predict(polars.from_pandas(long[:-2]))
    assert other.schema["ds"] == polars.from_pandas(long).schema["ds"]
    back = forecaster.backtest(long, windows=1)
    assert back["ds"].tolist() == expected
    assert set(back["cutoff"]) == {expected[0] - step}
    rival = naive_backtests(back, long)["last value"]
    assert rival["cutoff"].tolist() == back["cutoff"].tolist()
    assert np.isfinite(skill({"it": back, "last value": rival}, "last value").loc["it", "skill"])


def test_integers_beyond_a_short_type_keep_their_values():
    steps = pd.array(np.arange(196, 256), dtype="uint8")
    frame = pd.DataFrame({"unique_id": "a", "ds": steps, "y": np.arange(60.0)})
    assert Forecaster("last_value", 4, 2).fit(frame).predict(frame)["ds"].tolist() == [256, 257]


def test_integers_have_neither_a_season_nor_a_calendar():
    frame = pd.DataFrame({"unique_id": "a", "ds": np.arange(60), "y": np.arange(60.0)})
    clock = Forecaster("last_value", 4, 2).fit(frame).fitted.clock
    assert seasons_of(clock.freq) == (1,)
    assert clock.calendar_names == []


@pytest.mark.parametrize("steps", [[202411, 202412, 202501], [20240101, 20240102], [1_700_000_000]])
def test_integers_that_are_dates_are_refused(steps):
    frame = pd.DataFrame({"unique_id": "a", "ds": steps, "y": 1.0})
    with pytest.raises(ValueError, match=rf"must be time stamps, got numbers, such as {steps[0]}"):
        Forecaster("last_value", 1, 1).fit(frame)


def test_periods_of_several_frequencies_are_refused_in_one_line():
    mixed = [pd.Period("2021-01", "M"), pd.Period("2021-02-01", "D")]
    frame = pd.DataFrame({"unique_id": "a", "ds": mixed, "y": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"^column 'ds' is not all time stamps: .*") as caught:
        Forecaster("last_value", 1, 1).fit(frame)
    assert "\n" not in str(caught.value)


def test_text_of_the_future_is_read_like_that_of_the_frame():
    times = pd.date_range("2024-03-01", periods=37)
    frame = pd.DataFrame({"unique_id": "a", "ds": times.strftime("%d/%m/%Y"), "y": 1.0, "x": 2.0})
    past, future = frame[:31], frame[31:].drop(columns="y")  # April 1st to 6th, or months' 4th
    read = takes_any_frame(lambda frame, future: future["ds"].tolist())
    assert read(past, future) == times[31:].tolist()
    with pytest.raises(ValueError, match="two ways"):
        takes_any_frame(lambda frame: frame)(future)
