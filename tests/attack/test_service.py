"""Slow, malformed and foreign requests: each is refused in one line, and others are answered."""

import asyncio
import json
import logging

import numpy as np
import pytest

from kerastrans import Forecaster
from kerastrans.serving import create_app, serve
from kerastrans.serving.batcher import Batcher
from kerastrans.serving.requests import RequestError, json_rows

PREDICT = "/v1/models/m:predict"


@pytest.fixture(scope="module")
def app(forecaster):
    limits = {"max_bytes": 20_000, "body_timeout": 0.02}
    return create_app(forecaster, "m", hosts=["box.lan"], warm_up=False, **limits)


def ask(app, receive, path=PREDICT, headers=None):
    """The status and the answer of a request whose body is what `receive` gives."""
    headers = {"host": "localhost", "content-type": "application/json", **(headers or {})}
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in headers.items() if v is not None],
    }
    sent = []

    async def send(message):
        sent.append(message)

    async def run():
        async with app.router.lifespan_context(app):
            await app(scope, receive, send)

    asyncio.run(run())
    return sent[0]["status"], json.loads(sent[1]["body"])["error"], dict(sent[0]["headers"])


def whole(body):
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def never():
    await asyncio.Event().wait()


async def drip():
    await asyncio.sleep(0)
    return {"type": "http.request", "body": b"", "more_body": True}


async def flood():
    return {"type": "http.request", "body": b" " * 1000, "more_body": True}


async def leave():
    return {"type": "http.disconnect"}


@pytest.mark.parametrize("path", [PREDICT, "/v1/forecast"])
@pytest.mark.parametrize(
    ("receive", "status", "message"),
    [
        (never, 408, "the body must be complete within 0.02 seconds."),
        (drip, 408, "the body must be complete within 0.02 seconds."),
        (flood, 413, "the body must have at most 20000 bytes."),
        (leave, 400, "the client has disconnected."),
    ],
)
def test_unfinished_bodies_end_in_one_line(receive, status, message, path, app, caplog):
    kind = "application/json" if path == PREDICT else "text/csv"
    found = ask(app, receive, path, {"content-type": kind})
    assert found[:2] == (status, message)
    assert found[2][b"connection"] == b"close"  # what comes after is not read
    assert not [x for x in caplog.records if x.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    "kind", [None, "", "text/plain", "text/plain; application/json", "multipart/form-data"]
)
@pytest.mark.parametrize("path", [PREDICT, "/v1/forecast"])
def test_what_a_foreign_page_can_send_does_not_run_the_model(kind, path, app, body, monkeypatch):
    monkeypatch.setattr(Forecaster, "forecast_histories", None)
    monkeypatch.setattr(Forecaster, "predict", None)
    status, message, _ = ask(app, whole(body), path, {"content-type": kind})
    assert status == 415
    assert message.startswith("the content type must be ")


@pytest.mark.parametrize(
    ("host", "passes"),
    [
        ("localhost", True),
        ("localhost:8501", True),
        ("LocalHost:80", True),
        ("127.0.0.1:8501", True),
        ("192.168.0.7", True),
        ("[::1]:8501", True),
        ("[::1]", True),
        ("box.lan:8501", True),
        ("evil.example", False),
        ("evil.example:8501", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("127.0.0.1@evil.example", False),
        ("", False),
        (":8501", False),
        (None, False),
    ],
)
def test_other_hosts_are_refused(host, passes, app):
    status, message, _ = ask(app, whole(b""), headers={"host": host})
    assert status == 400
    refusal = "is not one of this server: see `hosts`."
    assert message.endswith(refusal) is not passes
    assert message == "the body must be JSON." or not passes


def test_an_error_of_the_model_is_one_line(app, body, monkeypatch, caplog):
    def fail(self, inputs):
        raise LookupError("indices[0] = 7 is not in [0, 3)\nTraceback ...")

    monkeypatch.setattr(Forecaster, "forecast_histories", fail)
    status, message, _ = ask(app, whole(body))
    assert (status, message) == (500, "the forecast failed: indices[0] = 7 is not in [0, 3).")
    assert [x.getMessage() for x in caplog.records if x.exc_info] == []


def test_one_request_at_fault_does_not_spoil_the_others():
    calls = []

    def root(inputs):
        calls.append(inputs["x"].tolist())
        if (inputs["x"] < 0).any():
            raise ValueError("negative")
        return {"y": np.sqrt(inputs["x"])}

    async def run():
        batcher = Batcher(root, 8, 64)
        requests = [batcher.submit({"x": np.array([x])}) for x in (4.0, -1.0, 9.0)]
        answers = asyncio.gather(*requests, return_exceptions=True)
        task = asyncio.create_task(batcher.run())
        answers = await answers
        task.cancel()
        return answers

    four, negative, nine = asyncio.run(run())
    assert (four["y"].tolist(), str(negative), nine["y"].tolist()) == ([2.0], "negative", [3.0])
    assert calls == [[4.0, -1.0, 9.0], [4.0], [-1.0], [9.0]]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_forecast_that_json_does_not_hold_is_refused(value):
    outputs = {"forecast": np.array([[[1.0]], [[value]]])}
    with pytest.raises(RequestError, match="the forecast of instance 1 is not finite"):
        json_rows(outputs, np.zeros((2, 1, 1)))


def test_the_last_steps_after_missing_values_are_null():
    history = np.array([[[1.0], [2.0], [np.nan]]])
    forecast = np.array([[[3.0], [4.0], [np.nan]]])
    assert json_rows({"forecast": forecast}, history) == [[[3.0], [4.0], [None]]]
    with pytest.raises(RequestError, match="the forecast of instance 0 is not finite"):
        json_rows({"forecast": forecast[:, [0, 2, 1]]}, history)


@pytest.mark.parametrize("port", [99999, 65536, -1, True, "80", 80.0])
def test_bad_ports_are_refused_in_one_line(port, forecaster):
    with pytest.raises(ValueError, match="port must be an integer from 0 to 65535, got"):
        serve(forecaster, "m", port=port)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"host": ""}, "host must be a name or an address, got ''"),
        ({"name": "a/b"}, "name must be usable in a route"),
        ({"name": "{x}"}, "name must be usable in a route"),
        ({"name": ""}, "name must be usable in a route"),
        ({"max_connections": 0}, "max_connections must be an integer of at least 1, got 0"),
        ({"max_batch": 0}, "max_batch must be an integer of at least 1, got 0"),
        ({"max_bytes": -1}, "max_bytes must be an integer of at least 1, got -1"),
        ({"body_timeout": 0}, "body_timeout must be above 0, got 0"),
        ({"hosts": "box.lan"}, "hosts must be a list of names, got 'box.lan'"),
        ({"csv_timeout": 0}, "csv_timeout must be above 0, got 0"),
        ({"csv_processes": 0}, "csv_processes must be an integer of at least 1, got 0"),
    ],
)
def test_bad_limits_are_refused_by_name(options, message, forecaster):
    with pytest.raises(ValueError, match=message):
        serve(forecaster, **{"name": "m", "port": 0, **options})


def test_a_forecaster_that_is_not_trained_is_refused():
    with pytest.raises(RuntimeError, match="not trained: call fit first"):
        create_app(Forecaster("nlinear", 24, 6), "m")
