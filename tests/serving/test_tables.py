"""CSVs that the service forecasts: long and wide ones, with what is known of the steps to come."""

import threading

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from kerastrans.serving import tables
from kerastrans.serving.requests import RequestError
from kerastrans.serving.tables import forecast_csv

ROWS, CONTEXT, HORIZON = 60, 24, 6


@pytest.fixture(scope="module")
def frame():
    """Two series, the second shorter, and the price and kind of each day."""
    rng = np.random.default_rng(0)
    parts = []
    for name, count in (("a", ROWS), ("b", ROWS - 9)):
        dates = pd.date_range("2024-01-01", periods=count + HORIZON, freq="D")
        part = pd.DataFrame({"unique_id": name, "ds": dates, "y": rng.normal(5, 1, len(dates))})
        part["price"] = rng.normal(size=len(dates))
        part["kind"] = np.where(dates.dayofweek < 5, "work", "rest")
        part.loc[part.index[count:], "y"] = np.nan
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def halves(frame):
    known = frame["y"].notna()
    return frame[known], frame[~known].drop(columns="y")


def forecaster_of(frame, **options):
    forecaster = Forecaster("nlinear", CONTEXT, HORIZON, seed=1, **options)
    return forecaster.fit(frame, epochs=1, verbose=0)


def check(answer, expected):
    found = pd.DataFrame(answer["forecast"])
    assert found["ds"].tolist() == expected["ds"].map(str).tolist()
    for column in expected.select_dtypes("number"):
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-6)


def test_a_long_csv_is_forecast_series_by_series(frame):
    past = halves(frame)[0].drop(columns=["price", "kind"])
    forecaster = forecaster_of(past)
    answer = forecast_csv(forecaster, past.to_csv(index=False).encode())
    check(answer, forecaster.predict(past))
    assert answer["history"]["a"][-1] == past["y"][past["unique_id"] == "a"].iloc[-1]
    assert answer["history"]["b"][-1] is None  # it ended nine days before


def test_the_last_rows_without_a_value_are_the_steps_to_come(frame):
    past, future = halves(frame)
    forecaster = forecaster_of(past, future=["price", "kind"])
    expected = forecaster.predict(past, future=future)
    shuffled = frame.sample(frac=1, random_state=0)
    check(forecast_csv(forecaster, shuffled.to_csv(index=False).encode()), expected)
    other = forecaster.predict(past, future=future.assign(kind="rest"))
    assert not np.allclose(other["nlinear"], expected["nlinear"])


def test_each_column_of_a_wide_csv_is_a_series_for_a_model_of_single_series(frame):
    past = halves(frame)[0].drop(columns=["price", "kind"])
    forecaster = forecaster_of(past)
    wide = past.pivot(index="ds", columns="unique_id", values="y")[: ROWS - 9]
    answer = forecast_csv(forecaster, wide.to_csv().encode())
    check(answer, forecaster.predict(past.groupby("unique_id").head(ROWS - 9)))
    assert answer["history"]["b"][-1] == wide["b"].iloc[-1]


@pytest.mark.slow
def test_a_wide_csv_too(frame):
    one = frame[frame["unique_id"] == "a"].set_index("ds")[["y", "price"]]
    one = one.rename(columns={"y": "load"})
    past, future = one[:ROWS], one[ROWS:][["price"]]
    forecaster = forecaster_of(past, future=["price"])
    csv = one.rename_axis("date").to_csv().encode()
    check(forecast_csv(forecaster, csv), forecaster.predict(past, future=future))


@pytest.mark.slow
def test_steps_to_come_that_are_not_there_are_named(frame):
    past, _ = halves(frame)
    forecaster = forecaster_of(past, future=["price"])
    with pytest.raises(RequestError, match="no future covariates for 2024-03-01"):
        forecast_csv(forecaster, past.to_csv(index=False).encode())


def test_a_csv_is_read_without_the_lock_of_the_model(frame, monkeypatch):
    past = halves(frame)[0].drop(columns=["price", "kind"])
    forecaster = forecaster_of(past)
    lock, seen, read = threading.Lock(), [], tables.read_table
    predict = forecaster.predict

    def observed(name, function):
        def call(*args, **kwargs):
            seen.append((name, lock.locked()))
            return function(*args, **kwargs)

        return call

    monkeypatch.setattr(tables, "read_table", observed("read", read))
    monkeypatch.setattr(forecaster, "predict", observed("predict", predict))
    forecast_csv(forecaster, past.to_csv(index=False).encode(), lock)
    assert seen == [("read", False), ("predict", True)]


def test_columns_and_series_are_limited(frame, monkeypatch):
    past = halves(frame)[0].drop(columns=["price", "kind"])
    forecaster = forecaster_of(past)
    header = ("date," + ",".join(f"x{i}" for i in range(40_000))).encode()
    with pytest.raises(RequestError, match="the CSV has 40001 columns, at most 1000 are read"):
        forecast_csv(forecaster, header)
    monkeypatch.setattr(tables, "MAX_SERIES", 1)
    with pytest.raises(RequestError, match="the CSV can have at most 1 series") as error:
        forecast_csv(forecaster, past.to_csv(index=False).encode())
    assert error.value.status == 413
