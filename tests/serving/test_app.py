"""The service, called in this process: its shapes are TensorFlow Serving's, its refusals 4xx."""

import asyncio
import base64
import contextlib
import hashlib
import io
import json
import random
import threading
from dataclasses import asdict

import httpx
import keras
import numpy as np
import pandas as pd
import pytest

import kerastrans
from kerastrans import Forecaster, datasets
from kerastrans.serving import Settings, create_app
from kerastrans.serving import app as service
from kerastrans.serving import kserve as kserve_types
from kerastrans.serving.requests import RequestError, read_instances
from kerastrans.utils import compilation

CONTEXT, HORIZON = 24, 6
LIMITS = {"max_batch": 8, "max_bytes": 20_000, "max_levels": 10}
LIMITS |= {"csv_timeout": 60, "csv_processes": 1}


@pytest.fixture(scope="module")
def flights():
    return datasets.load("nyc_departures")[:600]


@pytest.fixture(scope="module")
def forecaster(flights):
    return Forecaster("nlinear", CONTEXT, HORIZON, seed=1).fit(flights, epochs=1, verbose=0)


@pytest.fixture(scope="module")
def app(forecaster):
    given = {"hosts": ["box.lan"], "allow_origin": ["https://shop.example"]}
    return create_app(forecaster, "flights", warm_up=False, **given, **LIMITS)


@pytest.fixture(scope="module")
def ask(app):
    """A function from the arguments of `httpx.Client.request` to its answer."""
    with asking(app) as ask:
        yield ask


@contextlib.contextmanager
def asking(app):
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    async def send(requests):
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(*(client.request(*x, **kw) for x, kw in requests))

    def ask(*args, **kwargs):
        return ask.all([(args, kwargs)])[0]

    with asyncio.Runner() as runner:  # all requests share the processes for CSV files
        lifespan = app.router.lifespan_context(app)
        runner.run(lifespan.__aenter__())
        ask.run = runner.run
        ask.all = lambda requests: runner.run(send(requests))
        yield ask
        runner.run(lifespan.__aexit__(None, None, None))


JSON = {"content-type": "application/json"}
CSV = {"content-type": "text/csv"}


def predict(ask, instances):
    return ask("POST", "/v1/models/flights:predict", json={"instances": instances})


@pytest.fixture(scope="module")
def histories(flights):
    values = flights.to_numpy("float64")
    return np.stack([values[i : i + CONTEXT] for i in range(0, 500, 7)])


def test_predictions_are_those_of_the_forecaster(ask, forecaster, histories):
    expected = forecaster.forecast_histories({"history": histories[:3]})
    for instances in (histories[:3].tolist(), [{"history": x.tolist()} for x in histories[:3]]):
        answer = predict(ask, instances)
        assert answer.status_code == 200
        rows = answer.json()["predictions"]
        for key, values in expected.items():
            found = np.array([row[key] for row in rows])
            np.testing.assert_allclose(found, values, rtol=1e-6)


def test_a_channel_without_a_value_has_no_forecast(ask, histories):
    history = histories[0].tolist()
    row = predict(ask, [[[None, *step[1:]] for step in history]]).json()["predictions"][0]
    forecast, wanted = np.array(row["forecast"]), predict(ask, [history]).json()["predictions"][0]
    assert (forecast[:, 0] == None).all()  # noqa: E711
    np.testing.assert_allclose(forecast[:, 1:].astype(float), np.array(wanted["forecast"])[:, 1:])


def test_null_is_a_missing_value(ask, forecaster, histories):
    history = histories[0].copy()
    history[:5, 1] = np.nan
    sent = np.where(np.isnan(history), None, history).tolist()
    found = predict(ask, [sent]).json()["predictions"][0]["forecast"]
    expected = forecaster.forecast_histories({"history": history[None]})["forecast"][0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("steps", [1, 10, 60])
def test_a_history_may_have_any_number_of_steps(steps, ask, forecaster, flights):
    history = flights[:steps].to_numpy("float64")
    padded = np.full((1, CONTEXT, 3), np.nan)
    padded[0, -min(steps, CONTEXT) :] = history[-CONTEXT:]
    expected = forecaster.forecast_histories({"history": padded})["forecast"][0]
    found = predict(ask, [history.tolist()]).json()["predictions"][0]["forecast"]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_only_histories_may_have_another_number_of_steps():
    shapes = {"history": (4, 1), "future_covariates": (6, 2)}
    symbols = {name: keras.KerasTensor((None, *shape)) for name, shape in shapes.items()}
    symbols["position"] = keras.KerasTensor((None,), "int32")
    given = {"history": [[1.0]] * 4, "future_covariates": [[0.0, 0.0]] * 6, "position": 7}
    missing = set(shapes)

    def read(**changes):
        body = json.dumps({"instances": [{**given, **changes}]}).encode()
        return read_instances(body, symbols, 8, missing, pads=True)

    assert read()["position"] == [7]
    with pytest.raises(RequestError, match=r"must have 4 steps next to 'position'.* got 3"):
        read(history=[[1.0]] * 3)  # of which step it would be the number is not known
    with pytest.raises(RequestError, match=r"'future_covariates' .* shape \(6, 2\), got \(4, 2\)"):
        read(future_covariates=[[0.0, 0.0]] * 4)  # without the steps to forecast


def test_steps_csv_and_other_origins_are_what_a_request_asks_for(ask, forecaster, flights):
    csv = flights[:100].to_csv()
    headers = CSV | {"accept": "text/csv", "origin": "https://shop.example"}
    answer = ask("POST", "/v1/forecast?prediction_length=9", content=csv, headers=headers)
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["access-control-allow-origin"] == "https://shop.example"
    found = pd.read_csv(io.StringIO(answer.text), parse_dates=["ds"])
    expected = forecaster.predict(flights[:100], prediction_length=9)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-5)
    answer = ask("POST", "/v1/forecast", content=csv, headers=CSV | {"origin": "https://a.org"})
    assert "access-control-allow-origin" not in answer.headers
    asked = {"origin": "https://shop.example", "access-control-request-method": "POST"}
    asked["access-control-request-headers"] = "content-type"
    assert ask("OPTIONS", "/v1/forecast", headers=asked).status_code == 200
    for steps, message in [(0, "prediction_length"), (2000, "at most 1024, got 2000")]:
        answer = ask("POST", f"/v1/forecast?prediction_length={steps}", content=csv, headers=CSV)
        assert (answer.status_code, message in answer.json()["error"]) == (400, True)


def kserve(ask, options=(), **changes):
    """Ask KServe's route for the forecast of one series."""
    series = {"type": "univariate_time_series", "name": "a", "frequency": "hour", **changes}
    asked = {"model": "flights", "inputs": [series], "options": {"horizon": 9, **dict(options)}}
    return ask("POST", "/v1/timeseries/forecast", json=asked)


def test_kserves_route_forecasts_as_predict(ask, forecaster, flights):
    assert ask("GET", "/v1/timeseries/models").json() == ["flights"]
    start = {"start_timestamp": flights.index[0].isoformat()}
    levels = {"quantiles": [0.1, 0.5, 0.9]}
    expected = forecaster.predict(flights[:100], prediction_length=9, levels=[80])
    kind = {"type": "multivariate_time_series", **start}
    answer = kserve(ask, levels, series=flights[:100].to_numpy().tolist(), **kind)
    assert answer.status_code == 200
    (output,) = answer.json()["outputs"]
    (found,) = output["content"]
    assert output["status"] == answer.json()["status"] == "completed"
    assert pd.Timestamp(found["start_timestamp"]) == flights.index[100]
    columns = {"0.1": "nlinear-lo-80", "0.5": "nlinear", "0.9": "nlinear-hi-80"}
    for level, column in columns.items():
        values = expected[column].to_numpy().reshape(3, 9).T
        np.testing.assert_allclose(found["quantiles"][level], values, rtol=1e-5)
    np.testing.assert_allclose(found["mean_forecast"], found["quantiles"]["0.5"])
    one = flights[["EWR"]][:100]
    history = [None if i == 50 else x for i, x in enumerate(one["EWR"].tolist())]
    (output,) = kserve(ask, levels, series=history, **start).json()["outputs"]
    long = one.set_axis(["y"], axis=1).rename_axis("ds").reset_index().assign(unique_id="a")
    long.loc[50, "y"] = np.nan
    expected = forecaster.predict(long, prediction_length=9, levels=[80])
    found = output["content"][0]
    np.testing.assert_allclose(found["mean_forecast"], expected["nlinear"], rtol=1e-5)
    np.testing.assert_allclose(found["quantiles"]["0.9"], expected["nlinear-hi-80"], rtol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"series": [1.0, 2.0], "frequency": "decade"}, "inputs.0.frequency: Input should be"),
        ({"series": [[1.0], [2.0]]}, "the steps of series 'a' must be numbers."),
        ({"series": [1.0], "type": "multivariate_time_series"}, "must be lists of one length."),
        ({"series": []}, "inputs.0.series"),
        ({"series": [None, None]}, "no value"),
        ({"series": [1.0] * 40, "frequency": "D"}, "frequency"),
        ({"series": [1e39] * 40}, "beyond the range of float32"),
    ],
)
def test_kserves_route_refuses_in_its_own_form(ask, changes, message):
    answer = kserve(ask, **changes)
    error = answer.json()["error"]
    assert answer.status_code == 400
    assert message in error["message"]
    assert error["type"] == "bad_request"


@pytest.mark.parametrize(
    ("frequency", "start", "following"),
    [
        ("T", "2024-01-31T00:00", "2024-01-31T00:05"),
        ("week", "2024-01-31", "2024-03-06"),
        ("month", "2024-01-31", "2024-06-30"),
        ("Q", "2020-02-29", "2021-05-31"),
        ("Y", "2020-03-01", "2025-03-01"),
    ],
)
def test_kserves_frequencies(frequency, start, following):
    series = kserve_types.TimeSeries(
        type="univariate_time_series",
        name="a",
        series=[1.0],
        frequency=frequency,
        start_timestamp=start,
    )
    assert series.times(5, 1)[0] == pd.Timestamp(following)


def test_kserves_route_has_limits(ask):
    series = {"series": [1.0] * 40}
    answer = kserve(ask, {"horizon": 2000}, **series)
    assert answer.status_code == 413
    assert "max_steps=1024" in answer.json()["error"]["message"]
    other = {"model": "other", "inputs": [], "options": {"horizon": 1}}
    assert ask("POST", "/v1/timeseries/forecast", json=other).status_code == 400
    assert ask("POST", "/v1/timeseries/forecast", content="{").status_code == 415


def test_the_routes_are_described(ask):
    paths = ask("GET", "/openapi.json").json()["paths"]
    names = [x["name"] for x in paths["/v1/forecast"]["post"]["parameters"]]
    assert {"levels", "prediction_length", "id_column", "dayfirst"} <= set(names)
    answer = paths["/v1/simulate"]["post"]["responses"]["200"]["content"]
    assert {"paths", "faults"} <= answer["application/json"]["schema"]["properties"].keys()
    assert "history" not in answer["application/json"]["schema"]["properties"]
    assert "/v1/models/flights:predict" in paths


def test_concurrent_requests_get_their_own_answers(ask, forecaster, histories):
    random.seed(0)
    parts = [histories[i : i + random.randint(1, 8)] for i in range(0, len(histories) - 8, 3)]
    url = "/v1/models/flights:predict"
    answers = ask.all([(("POST", url), {"json": {"instances": x.tolist()}}) for x in parts])
    for part, answer in zip(parts, answers, strict=True):
        found = [row["forecast"] for row in answer.json()["predictions"]]
        expected = forecaster.forecast_histories({"history": part})["forecast"]
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_status_metadata_and_health_are_there(ask):
    assert ask("GET", "/health").json() == {"status": "ok"}
    status = ask("GET", "/v1/models/flights").json()
    assert (status["name"], status["ready"]) == ("flights", True)  # as KServe asks
    version = status["model_version_status"][0]
    assert version["state"] == "AVAILABLE"
    found = ask("GET", "/v1/models/flights/metadata").json()["metadata"]
    assert found["channels"] == ["EWR", "JFK", "LGA"]
    assert (found["frequency"], found["context_length"], found["prediction_length"]) == ("h", 24, 6)
    assert found["quantiles"][0] == 0.025
    assert found["inputs"] == {"history": ["float32", None, CONTEXT, 3]}


def test_the_settings_are_in_the_metadata(ask):
    found = ask("GET", "/v1/models/flights/metadata").json()["metadata"]["settings"]
    given = {"hosts": ["box.lan"], "allow_origin": ["https://shop.example"]}
    expected = Settings(warm_up=False, **given, **LIMITS)
    assert found == asdict(expected) | given


def test_every_error_has_one_form(ask, app, monkeypatch, caplog):
    @app.get("/typed")
    async def typed(number: int):
        return number

    def fail():
        raise LookupError("in /a/folder")

    monkeypatch.setattr("kerastrans.serving.metrics.Metrics.text", lambda self: fail())
    predict = "/v1/models/flights:predict"
    gzip = {"content-encoding": "gzip"}
    for method, path, status, headers in (
        ("GET", "/v1/models/other", 404, {}),
        ("PUT", predict, 405, {}),
        ("POST", "/health", 405, {}),
        ("POST", predict, 415, {}),
        ("POST", predict, 415, JSON | gzip),
        ("POST", predict, 415, {"content-type": "application/json; charset=latin-1"}),
        ("POST", "/v1/forecast", 415, CSV | gzip),
        ("POST", "/v1/forecast?nosuch=1", 400, CSV),
        ("POST", "/v1/forecast", 413, CSV),
        ("GET", "/typed?number=x", 422, {}),
        ("GET", "/metrics", 500, {}),
        ("GET", "/health", 400, {"host": "evil.example"}),
    ):
        answer = ask(method, path, headers=headers, content=b" " * 20_001)
        assert answer.status_code == status, path
        assert list(answer.json()) == ["error"]
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "folder" not in answer.text
    assert "LookupError: in /a/folder" in caplog.text
    long = ask("POST", predict, json={"instances": [{"x" * 9000: 1}]})
    assert len(long.json()["error"]) < 1100


def test_answers_cannot_be_framed_and_the_page_runs_its_own_script_only(ask):
    for method, path in (("GET", "/"), ("HEAD", "/"), ("GET", "/health"), ("GET", "/nosuch")):
        headers = ask(method, path).headers
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'none'; script-src 'sha256-" in policy
        assert "unsafe" not in policy
    script = ask("GET", "/").text.partition("<script>")[2].partition("</script>")[0]
    code = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{code}';" in policy


def test_a_host_is_reached_by_a_name_of_its_own(ask):
    assert ask("GET", "/health", headers={"host": "box.lan:80"}).status_code == 200
    assert ask("GET", "/health", headers={"host": "box.evil"}).status_code == 400


def test_metrics_count_requests_by_route(ask):
    def metrics():
        text = ask("GET", "/metrics").text
        lines = (line.rpartition(" ") for line in text.splitlines() if line[0] != "#")
        return {name: float(value) for name, _, value in lines}

    name = 'kerastrans_requests_total{route="other",status="404"}'
    before = metrics()
    ask("GET", "/nosuch/1")
    ask("GET", "/nosuch/2")
    after = metrics()
    assert after[name] - before.get(name, 0) == 2
    assert after["kerastrans_ready"] == 1
    assert after["kerastrans_waiting_windows"] == 0
    assert after['kerastrans_request_seconds_count{route="/metrics"}'] >= 1


def test_it_is_ready_once_the_model_is_compiled(forecaster, monkeypatch):
    sizes, often, waiting, go_on = [], [], threading.Event(), threading.Event()

    def compile_at(state, inputs):
        often.append(compilation.comes_often())
        sizes.append((len(inputs["history"]), inputs["history"].shape[-1]))
        waiting.set()
        go_on.wait()

    monkeypatch.setattr(service, "forecast_outputs", compile_at)
    app = create_app(forecaster, "m", csv_timeout=60)

    async def run():
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            await asyncio.to_thread(waiting.wait)
            answers = [await client.get("/ready"), await client.get("/health")]
            go_on.set()
            while (answer := await client.get("/ready")).status_code != 200:
                await asyncio.sleep(0)
            return [*answers, answer]

    answers = asyncio.run(run())
    assert [x.status_code for x in answers] == [503, 200, 200]
    text = "the model is being compiled: 0 programs are compiled."
    assert answers[0].json() == {"error": text}
    assert app.state.progress == "8 of 8 programs are compiled"
    # With its three channels, and for CSV files with other columns with one.
    assert sizes == [(size, channels) for channels in (3, 1) for size in (1, 8, 64, 256)]
    assert all(often)


def test_a_forecast_does_not_wait_for_a_csv(ask, app, histories, monkeypatch):
    arrived, go_on = asyncio.Event(), asyncio.Event()
    call = app.state.processes.call

    async def wait(*arguments):
        arrived.set()
        await go_on.wait()
        return await call(*arguments)

    monkeypatch.setattr(app.state.processes, "call", wait)

    async def run():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            csv = client.post("/v1/forecast", content=wide_csv(1), headers=CSV)
            csv = asyncio.create_task(csv)
            await arrived.wait()
            body = {"instances": histories[:1].tolist()}
            answer = await client.post("/v1/models/flights:predict", json=body)
            is_done = csv.done()
            go_on.set()
            return answer.status_code, is_done, (await csv).status_code

    assert ask.run(run()) == (200, False, 200)


def test_csvs_that_wait_for_the_model_leave_threads_to_others(
    ask, app, forecaster, flights, monkeypatch
):
    begun, go_on, read = threading.Event(), threading.Event(), []
    call = app.state.processes.call

    def predict(*_, **__):
        begun.set()
        go_on.wait()
        raise ValueError("enough")

    async def count(*arguments):
        read.append(await call(*arguments))
        return read[-1]

    monkeypatch.setattr(forecaster, "predict", predict)
    monkeypatch.setattr(app.state.processes, "call", count)
    number = 40  # more than an event loop has threads

    async def run():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            post = client.post
            csvs = [post("/v1/forecast", content=wide_csv(1), headers=CSV) for _ in range(number)]
            csvs = asyncio.gather(*csvs)
            while len(read) < number:
                await asyncio.sleep(0)
            try:
                async with asyncio.timeout(60):
                    await asyncio.to_thread(begun.wait)
            finally:
                go_on.set()
            return [answer.status_code for answer in await csvs]

    assert ask.run(run()) == [400] * number


def test_a_csv_is_read_as_its_parameters_say(ask, forecaster):
    hours = pd.date_range("2024-03-01", periods=30, freq="h")
    frame = pd.DataFrame(1.5, hours, ["EWR", "JFK", "LGA"]).rename_axis("date")
    frame["JFK"] = np.arange(30) / 4
    csv = frame.to_csv(sep=";", decimal=",", date_format="%d/%m/%Y %H:%M").encode("utf-16")
    headers = {"content-type": "text/csv; charset=UTF-16"}
    url = "/v1/forecast?dayfirst=true&levels=50&exceeds=1,2.5"
    answer = ask("POST", url, content=csv, headers=headers).json()
    expected = forecaster.predict(frame, levels=[50], exceeds=[1, 2.5])
    found = pd.DataFrame(answer["forecast"])
    assert list(found) == list(expected)
    for column in expected.select_dtypes("number"):
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-6)
    assert "decimal comma" in answer["read_as"]
    assert "day first" in answer["read_as"]
    other = ask("POST", url.replace("true", "false"), content=csv, headers=headers).json()
    assert other["forecast"]["ds"][0] == "2024-02-03 06:00:00"


def test_a_csv_in_another_charset_than_it_says_is_refused(ask):
    csv = wide_csv(1).replace("EWR", "Gr\u00fcn").encode("latin-1")
    headers = {"content-type": "text/csv; charset=utf-8"}
    answer = ask("POST", "/v1/forecast", content=csv, headers=headers)
    assert answer.status_code == 400
    assert "is not text in utf-8-sig" in answer.json()["error"]


@pytest.mark.filterwarnings("ignore:1 series left out")
def test_series_that_are_left_out_are_named(ask):
    hours = pd.date_range("2020", periods=40, freq="h")
    rows = [f"{name},{hour},{3 if name == 'a' else ''}\n" for name in "ab" for hour in hours]
    csv = "".join(["unique_id,ds,y\n", *rows, f"b,{hours[0] - pd.Timedelta('1h')},4\n"])
    answer = ask("POST", "/v1/forecast", content=csv, headers=CSV).json()
    assert set(answer["forecast"]["unique_id"]) == {"a"}
    assert "no value in its last 24 steps" in answer["faults"]["b"]


@pytest.mark.filterwarnings("ignore:1 channels have no value")
def test_a_channel_without_a_forecast_is_named(ask, flights):
    answer = ask(
        "POST", "/v1/forecast", content=flights[:50].assign(JFK=np.nan).to_csv(), headers=CSV
    )
    assert answer.json()["faults"] == {"JFK": "no value in its last 24 steps"}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("freq=D", "the model forecasts the frequency 'h', got 'D'."),
        ("freq=x", "freq must be a pandas frequency such as 'h', 'D' or 'MS', got 'x'."),
        (
            f"levels={','.join(map(str, range(1, 12)))}",
            "levels has 11 numbers, at most 10 are read.",
        ),
        (
            f"exceeds={','.join(map(str, range(5000)))}",
            "exceeds has 5000 numbers, at most 10 are r",
        ),
    ],
)
def test_what_the_model_does_not_answer_is_refused(query, message, ask, flights):
    answer = ask("POST", f"/v1/forecast?{query}", content=flights[:50].to_csv(), headers=CSV)
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    assert ask(
        "POST", "/v1/forecast?freq=60min", content=flights[:50].to_csv(), headers=CSV
    ).is_success


@pytest.mark.slow
def test_weights_of_any_frequency_read_the_one_that_is_given():
    weights = kerastrans.from_pretrained("kerastrans_zero_2", prediction_length=3)
    app = create_app(weights, "zero", warm_up=False, **LIMITS)
    months = pd.date_range("2020-01-01", periods=24, freq="MS")
    frame = pd.DataFrame({"v": np.arange(24.0)}, months.rename("date"))

    def times(part, query=""):
        answer = ask("POST", f"/v1/forecast{query}", content=part.to_csv(), headers=CSV).json()
        return [x[:10] for x in answer["forecast"]["ds"]] if "forecast" in answer else answer

    with asking(app) as ask:
        two = ["2020-03-01", "2020-04-01", "2020-05-01"]
        assert times(frame[:2], "?freq=MS") == two
        assert "cannot infer the frequency" in times(frame[:2])["error"]
        assert "50% of the steps would be missing" in times(frame[::2], "?freq=MS")["error"]
        assert times(frame[::2]) == ["2022-01-01", "2022-03-01", "2022-05-01"]


def test_a_csv_is_forecast_after_its_last_row(ask, forecaster, flights):
    csv = flights[:100].to_csv()
    answer = ask("POST", "/v1/forecast", content=csv, headers=CSV)
    expected = forecaster.predict(flights[:100])
    found = pd.DataFrame(answer.json()["forecast"])
    assert found["ds"].tolist() == expected["ds"].map(str).tolist()
    assert list(found) == list(expected)
    for column in expected.select_dtypes("number"):
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-6)
    assert answer.json()["history"]["EWR"][-1] == flights["EWR"].iloc[99]


def test_sample_paths_of_a_csv(ask, forecaster, flights):
    csv = flights[:100].to_csv()
    answer = ask("POST", "/v1/simulate?num_paths=4&seed=2", content=csv, headers=CSV)
    expected = forecaster.simulate(flights[:100], num_paths=4, seed=2)
    found = pd.DataFrame(answer.json()["paths"])
    assert found["ds"].tolist() == expected["ds"].map(str).tolist()
    assert found["path"].tolist() == expected["path"].tolist()
    np.testing.assert_allclose(found.iloc[:, -1], expected.iloc[:, -1], rtol=1e-6)


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("num_paths=0", 400, "num_paths must be at least 1"),
        ("num_paths=x", 400, "num_paths must be an integer, got 'x'"),
        ("paths=3", 400, "num_paths, seed, prediction_length, got 'paths'"),
        ("num_paths=999999", 413, "num_paths=999999 of 3 series is too large, at most"),
    ],
)
def test_invalid_parameters_of_paths_are_refused(query, status, message, ask, flights):
    csv = flights[:100].to_csv()
    answer = ask("POST", f"/v1/simulate?{query}", content=csv, headers=CSV)
    assert answer.status_code == status
    assert message in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "must be JSON"),
        (b"{", 400, "must be JSON"),
        (b"[" * 15_000, 400, "must be JSON"),
        (b"\xff\xfe", 400, "must be JSON"),
        (b"[1, 2]", 400, 'must be {"instances"'),
        (b"{}", 400, 'must be {"instances"'),
        (b'{"instances": []}', 400, "with at least one"),
        (b'{"instances": 3}', 400, "with at least one"),
        (b'{"instances": [[1, 2, 3]]}', 400, "must have shape (24, 3), got (3,)"),
        (b'{"instances": [[[1, 2], [3]]]}', 400, "must be an array of numbers (24, 3)"),
        (b'{"instances": [{}]}', 400, "instance 0 has no 'history'"),
        (b'{"instances": [{"x": 1}]}', 400, "instance 0 has 'x', the inputs are 'history'"),
        (b'{"instances": ["text"]}', 400, "must be an array of numbers"),
        (b" " * 20_001, 413, "at most 20000 bytes"),
    ],
)
def test_bad_bodies_are_refused_in_one_line(body, status, message, ask):
    answer = ask("POST", "/v1/models/flights:predict", content=body, headers=JSON)
    assert answer.status_code == status
    assert message in answer.json()["error"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("Infinity", "must be finite"),
        ("1e39", "numbers beyond the range of float32"),
        ("1" + "0" * 200, "numbers beyond the range of float32"),
        ('"seven"', "must be an array of numbers"),
        ('"5"', "must be an array of numbers"),
        ('"1_0"', "must be an array of numbers"),
        ('"\uff15"', "must be an array of numbers"),
        ("true", "must be an array of numbers"),
        ("false", "must be an array of numbers"),
        ("null", "has no value"),
    ],
)
def test_bad_values_are_refused(value, message, ask):
    rows = ",".join([f"[{value},{value},{value}]"] * CONTEXT)
    body = f'{{"instances": [[{rows}]]}}'.encode()
    answer = ask("POST", "/v1/models/flights:predict", content=body, headers=JSON)
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def test_too_many_instances_are_refused(ask, histories):
    answer = predict(ask, np.round(histories[:9], 0).tolist())
    assert answer.status_code == 413
    assert answer.json()["error"] == "a request can have at most 8 instances, got 9."


def wide_csv(value):
    """40 hours in which everything is 1 but the last value."""
    hours = pd.date_range("2020", periods=40, freq="h")
    rows = [f"{hour},1,1,1\n" for hour in hours[:-1]]
    return "".join(["date,EWR,JFK,LGA\n", *rows, f"{hours[-1]},1,1,{value}\n"])


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        ("", "the CSV is not a table"),
        ("a,b\n1,2\n", "has no date column"),
        ("date,EWR\n2020-01-01,x\n2020-01-02,1\n2020-01-03,2\n", "must be numeric"),
        ("date,EWR\n2020-01-01,1\n2020-01-02,1\n2020-01-03,2\n", "are missing"),
        ("date\n", "must have rows and columns"),
        *[(wide_csv(value), "") for value in ("1e200", "1e307", "1.7e308", "-1e300", "1e39")],
    ],
)
def test_bad_csv_is_refused_in_one_line(csv, message, ask):
    answer = ask("POST", "/v1/forecast", content=csv, headers=CSV)
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_two_thousand_malformed_bodies_and_it_lives(ask, histories):
    fine = json.dumps({"instances": histories[:1].tolist()}).encode()
    noise = random.Random(0)

    def spoil():
        body = bytearray(fine)
        for _ in range(noise.randint(1, 4)):
            body[noise.randrange(len(body))] = noise.randrange(256)
        return bytes(body[: noise.randrange(1, len(body))])

    url = "/v1/models/flights:predict"
    requests = [(("POST", url), {"content": spoil(), "headers": JSON}) for _ in range(2000)]
    statuses = [answer.status_code for answer in ask.all(requests)]
    assert set(statuses) == {400}
    assert predict(ask, histories[:1].tolist()).status_code == 200
