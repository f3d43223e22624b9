"""CSVs that the service forecasts: long and wide ones, with what is known of the steps to come."""

import inspect

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from kerastrans.cli.options import DOOR
from kerastrans.data import read_table
from kerastrans.serving import Settings
from kerastrans.serving.requests import RequestError
from kerastrans.serving.tables import READ, SIMULATE, read_query
from tests.helpers.csv_requests import forecast_csv

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
        part["kind"] = np.where(dates.day_of_week < 5, "work", "rest")
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
    message = (
        "left of 2: 'a' has no future covariates for 2024-03-01.* in rows after its last value."
    )
    with pytest.raises(RequestError, match=message):
        forecast_csv(forecaster, past.to_csv(index=False).encode())
    with pytest.raises(RequestError, match="no row has a value of 'y'"):
        forecast_csv(forecaster, past.assign(y=np.nan).to_csv(index=False).encode())


@pytest.mark.slow
def test_static_covariates_are_columns_of_a_long_csv(frame):
    past = halves(frame)[0].drop(columns=["price", "kind"])
    static = pd.DataFrame({"unique_id": ["a", "b"], "size": [1.5, 3.0], "region": ["x", "y"]})
    forecaster = Forecaster("nlinear", CONTEXT, HORIZON, seed=1)
    forecaster.fit(past, static=static, epochs=1, verbose=0)
    merged = past.merge(static, on="unique_id")
    answer = forecast_csv(forecaster, merged.to_csv(index=False).encode())
    check(answer, forecaster.predict(past, static=static))
    merged.loc[0, "region"] = "y"
    with pytest.raises(RequestError, match="'size', 'region' must have one value per series, 'a'"):
        forecast_csv(forecaster, merged.to_csv(index=False).encode())


def test_columns_cells_and_series_are_limited(frame):
    past = halves(frame)[0].drop(columns=["price", "kind"])
    forecaster = forecaster_of(past)
    header = ("date," + ",".join(f"x{i}" for i in range(40_000))).encode()
    message = "the CSV has 40001 columns, at most 1003 are read"
    others = (header.replace(b",", sep) for sep in (b"\t", b" "))
    for body in (header, b"sep=,\n" + header, b"\r\n" + header, *others):
        with pytest.raises(RequestError, match=message):
            forecast_csv(forecaster, body)
    with pytest.raises(RequestError, match=message):
        forecast_csv(forecaster, b"a\nb\nc\nd\n" + header, read={"skip_rows": 4})
    body = past.to_csv(index=False).encode()
    for settings, message in (
        (Settings(max_series=1), "the CSV has 2 series, at most 1 are read"),
        (Settings(max_cells=300), "the CSV has 336 cells, at most 300 are read"),
    ):
        with pytest.raises(RequestError, match=message) as error:
            forecast_csv(forecaster, body, settings=settings)
        assert error.value.status == 413
        options = {"settings": settings, "read": {"sep": "!"}}
        with pytest.raises(RequestError, match=message):
            forecast_csv(forecaster, body.replace(b",", b"!"), **options)
    exact = Settings(max_series=2, max_cells=336)
    assert forecast_csv(forecaster, body, settings=exact)["forecast"]["unique_id"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ([("dayfirst", "yes")], "dayfirst must be true or false, got 'yes'"),
        ([("seed", "x")], "seed must be an integer, got 'x'"),
        ([("seed", "1"), ("seed", "2")], "seed is given twice"),
        ([("exceeds", "5")], "the parameters are sep, .*, seed, prediction_length, got 'exceeds'"),
    ],
)
def test_parameters_are_checked(query, message):
    with pytest.raises(RequestError, match=message):
        read_query(query, READ, SIMULATE)


def test_every_parameter_is_an_argument_of_the_reader_and_an_option():
    assert READ.keys() <= inspect.signature(read_table).parameters.keys()
    assert {f"--{name.replace('_', '-')}" for name in READ} <= DOOR.keys()


def test_a_series_cannot_have_the_name_of_the_time_stamps(frame):
    past = halves(frame)[0].drop(columns=["price", "kind"])
    forecaster = forecaster_of(past)
    named = past.assign(unique_id=past["unique_id"].replace("b", "ds"))
    with pytest.raises(RequestError, match="no series can be called 'ds'"):
        forecast_csv(forecaster, named.to_csv(index=False).encode())


def test_the_history_has_the_last_time_stamps_and_all_series(frame):
    past = halves(frame)[0].drop(columns=["price", "kind"])
    forecaster = forecaster_of(past)
    early = past.assign(ds=past["ds"] - pd.Timedelta("100D"), unique_id="early")[:30]
    body = pd.concat([early, past]).to_csv(index=False).encode()
    history = forecast_csv(forecaster, body)["history"]
    assert list(history) == ["ds", "a", "b", "early"]
    assert history["early"] == [None] * 2 * HORIZON
    assert history["a"] == pytest.approx(
        past["y"][past["unique_id"] == "a"][-2 * HORIZON :].tolist()
    )


def test_messages_name_what_a_request_has(frame):
    past = halves(frame)[0].drop(columns=["price", "kind"])
    forecaster = forecaster_of(past)
    body = past.assign(note="x").rename(columns={"ds": "date", "unique_id": "id"})
    for content, words in (
        (b"date,y\n\xff\xfe\x00,1\n", "encoding"),
        (body.to_csv(index=False).encode(), "covariates"),
        (b"\x1f\x8b\x08", "name"),
    ):
        with pytest.raises(RequestError) as error:
            forecast_csv(forecaster, content)
        assert words not in str(error.value)


def test_a_request_may_be_as_large_as_what_waits():
    with pytest.raises(ValueError, match="max_waiting must be at least max_batch=64, got 32"):
        Settings(max_batch=64, max_waiting=32)
