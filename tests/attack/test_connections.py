"""Connections that are held open: they make room for others. Sockets of this machine's loopback."""

import asyncio
import contextlib
import io
import json
import socket
import threading

import httpx
import pytest

from kerastrans.serving import create_app, server

PREDICT = "/v1/models/m:predict"


@contextlib.contextmanager
def running(app, **options):
    """A server on this machine's loopback, in a thread, and its port."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(2048)
        made = server.create_server(app, **options)
        thread = threading.Thread(target=made.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield made, listening.getsockname()[1]
        finally:
            made.should_exit = made.force_exit = True
            thread.join()


STUCK = {
    "nothing": b"",
    "half a head": b"POST /v1/forecast HTTP/1.1\r\nHost: loc",
    "half a body": (
        b"POST /v1/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
        b"Content-Length: 1000\r\n\r\ndate"
    ),
    "an answer": b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.mark.parametrize("kind", STUCK)
def test_connections_that_wait_make_room_for_others(kind, forecaster):
    app = create_app(forecaster, "m", body_timeout=600, warm_up=False)
    with contextlib.ExitStack() as stack, running(app, max_connections=4) as (made, port):
        for _ in range(40):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(STUCK[kind])
            if kind == "an answer":
                assert client.recv(15) == b"HTTP/1.1 200 OK"
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as honest:
            for _ in range(3):
                assert honest.get("/health").json() == {"status": "ok"}
            assert len(made.server_state.connections) <= 4


def test_a_request_that_is_computed_keeps_its_connection(forecaster, body, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()
    forecast = forecaster.forecast_histories

    def slow(inputs):
        begun.set()
        go_on.wait()
        return forecast(inputs)

    monkeypatch.setattr(forecaster, "forecast_histories", slow)
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    with contextlib.ExitStack() as stack:
        app = create_app(forecaster, "m", warm_up=False)
        _, port = stack.enter_context(running(app, max_connections=1))
        stack.callback(go_on.set)
        first = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        first.sendall(head.encode() + body)
        assert begun.wait(60)
        second = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        with contextlib.suppress(ConnectionError):
            assert second.recv(1) == b""  # closed: there is no room
        go_on.set()
        assert first.recv(15) == b"HTTP/1.1 200 OK"


def read_answer(client):
    """Everything that the server sends until it closes the connection."""
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b"".join(parts)


def test_what_is_not_http_is_answered_in_the_form_of_all_errors(forecaster):
    app = create_app(forecaster, "m", warm_up=False)
    with running(app) as (_, port), socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"no HTTP\r\n\r\n")
        head, _, body = read_answer(client).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request")
    assert b"content-type: application/json" in head
    assert b"x-content-type-options: nosniff" in head
    assert json.loads(body) == {"error": "Invalid HTTP request received."}


def test_a_csv_in_work_is_answered_when_the_service_stops(forecaster, caplog):
    app = create_app(forecaster, "m", warm_up=False)
    begun = threading.Event()

    async def hang(*_):
        begun.set()
        await asyncio.Event().wait()

    head = b"POST /v1/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
    with running(app) as (made, port), socket.create_connection(("127.0.0.1", port)) as client:
        made.config.timeout_graceful_shutdown = 0.01
        assert (
            httpx.get(f"http://127.0.0.1:{port}/health", timeout=60).status_code == 200
        )  # it has started
        app.state.processes.call = hang
        client.sendall(head + b"Content-Length: 4\r\n\r\ndate")
        assert begun.wait(60)
        made.should_exit = True
        answer, _, body = read_answer(client).partition(b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert json.loads(body) == {"error": "the service is stopping."}
    assert [x for x in caplog.records if x.exc_info] == []


def test_requests_are_logged_if_asked_for(forecaster, monkeypatch):
    app = create_app(forecaster, "m", warm_up=False)
    for access_log in (True, False):
        log = io.StringIO()
        monkeypatch.setitem(server._LOGGING["handlers"]["access"], "stream", log)
        with running(app, access_log=access_log) as (_, port):
            httpx.get(f"http://127.0.0.1:{port}/he%0Aalth?x=1", timeout=60)
        lines = log.getvalue().splitlines()
        assert len(lines) == access_log
        assert all(x.endswith('"GET /he%0Aalth?x=1 HTTP/1.1" 404 Not Found') for x in lines)


def test_a_body_that_is_not_http_is_one_answer(forecaster, caplog):
    head = b"POST /v1/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: x/y\r\n"
    request = head + b"Transfer-Encoding: chunked\r\n\r\nZZZ\r\nabc"
    app = create_app(forecaster, "m", warm_up=False)
    with running(app) as (_, port), socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(request)
        answer = b"".join(iter(lambda: client.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 400")
        assert answer.count(b"HTTP/1.1") == 1
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as honest:
            assert honest.get("/health").json() == {"status": "ok"}
    assert not [record for record in caplog.records if record.exc_info]
