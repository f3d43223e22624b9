"""Time stamps in requests: the calendar is computed from them, or they are refused."""

import numpy as np
import pandas as pd
import pytest

from kerastrans import Forecaster
from kerastrans.decoding.graph import inputs_of
from kerastrans.serving.requests import RequestError
from kerastrans.serving.time_stamps import TimeStamps

CONTEXT, HORIZON = 14, 3


@pytest.fixture(scope="module")
def frame():
    times = pd.date_range("2024-01-01", periods=60, tz="Europe/Berlin")
    price = np.arange(60.0)
    return pd.DataFrame({"unique_id": "a", "ds": times, "y": 10 + price % 7, "price": price})


@pytest.fixture(scope="module")
def forecaster(frame):
    forecaster = Forecaster("dlinear", CONTEXT, HORIZON, calendar=True, future=["price"])
    return forecaster.fit(frame, epochs=1, verbose=0)


@pytest.fixture(scope="module")
def stamps(forecaster):
    return TimeStamps.of(forecaster, {x.name: x for x in inputs_of(forecaster.model)})


def test_the_last_time_completes_the_covariates(frame, forecaster, stamps):
    past, future = frame[:-HORIZON], frame[-HORIZON:].drop(columns="y")
    encoded = forecaster.fitted.covariates.encode(frame, "future")[-CONTEXT - HORIZON :].tolist()
    history = past[["y"]].to_numpy()[-CONTEXT:]
    last = past["ds"].iloc[-1]
    for text in (last.isoformat(), last.tz_convert("UTC").isoformat()):
        instance = {"history": history, "last_time": text, "future_covariates": encoded}
        given = stamps.fill_in(instance, 0)
        inputs = {name: np.array(x)[None] for name, x in given.items()}
        found = forecaster.forecast_histories(inputs)["forecast"].ravel()
        wanted = forecaster.predict(past, future=future)["dlinear"]
        np.testing.assert_allclose(found, wanted, rtol=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"last_time": 1700000000}, "must be an ISO 8601 time stamp"),
        ({"last_time": "tomorrow"}, "must be an ISO 8601 time stamp"),
        ({"last_time": "2024-02-10"}, "no time zone do not fit"),
        ({"last_time": "2024-02-10T05:00+01:00"}, "not on the clock .* 'D'; '2024-02-10 00:00:00"),
        ({"last_time": "9999-01-01T00:00+01:00"}, "years 1678 to 2261"),
        ({"future_covariates": [[0.0]]}, r"must have shape \(17, 1\)"),
        ({"future_covariates": None}, r"must have shape \(17, 1\)"),
    ],
)
def test_what_does_not_fit_is_one_line(change, message, stamps):
    instance = {
        "last_time": "2024-02-10T00:00+01:00",
        "future_covariates": [[0.0]] * (CONTEXT + HORIZON),
    }
    with pytest.raises(RequestError, match=f"instance 2.*{message}") as caught:
        stamps.fill_in({**instance, **change}, 2)
    assert "\n" not in str(caught.value)


def test_a_time_stamp_that_is_missing_is_named(stamps):
    with pytest.raises(RequestError, match="instance 2 has no 'last_time', the time stamp of its"):
        stamps.fill_in({"history": []}, 2)
    instance = {"history": [], "future_covariates": []}
    assert stamps.fill_in(instance, 2) == instance


def test_a_model_without_a_calendar_reads_no_time_stamps(frame):
    forecaster = Forecaster("nlinear", CONTEXT, HORIZON)
    forecaster.fit(frame[["unique_id", "ds", "y"]], epochs=1, verbose=0)
    assert TimeStamps.of(forecaster, {"history": None}) is None
