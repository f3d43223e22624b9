import sys

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster, backtesting
from kerastrans.data.native_frames import takes_any_frame

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
    with pytest.raises(ImportError, match=r"pip install \"kerastrans\[polars\]\""):
        takes_any_frame(lambda frame: frame)(frame)


def test_other_objects_are_refused(forecaster):
    with pytest.raises(TypeError, match=r"expected a DataFrame of .*, got dict"):
        forecaster.predict({"y": [1.0]})
