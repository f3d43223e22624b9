"""Routes of the service: TensorFlow Serving's REST API, forecasts of CSV files, and a web page."""

import asyncio
import contextlib
import functools
import logging
import threading
from pathlib import Path

import keras

from kerastrans.decoding.graph import inputs_of, missing_inputs
from kerastrans.export.encodings import LAST_TIME, Input
from kerastrans.export.forecast import describe
from kerastrans.heads.bounded import bound_inputs
from kerastrans.models.parts.forecast_graph import typical_inputs
from kerastrans.serving.batcher import Batcher
from kerastrans.serving.hosts import HostCheck
from kerastrans.serving.requests import RequestError, json_rows, read_body, read_instances
from kerastrans.serving.tables import forecast_csv, simulate_csv
from kerastrans.serving.time_stamps import TimeStamps
from kerastrans.utils.files import first_line
from kerastrans.utils.validation import check_positive_integers, import_extra

logger = logging.getLogger(__name__)
PAGE = Path(__file__).with_name("page.html")
PAGE_HEADERS = {
    "content-security-policy": "frame-ancestors 'none'; base-uri 'none'; object-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
MAX_BYTES = 2**23  # size of a request's body
MAX_BATCH = 256  # windows in a request
BODY_TIMEOUT = 30.0  # seconds until a request's body must be complete
MAX_MESSAGE = 1000  # characters of an error, which may quote the request
MAX_WAITING = 4096  # windows waiting for the model, over all requests
MAX_VALUES = 1_000_000  # values of the sample paths in an answer


def create_app(
    forecaster,
    name,
    *,
    max_batch=MAX_BATCH,
    max_bytes=MAX_BYTES,
    body_timeout=BODY_TIMEOUT,
    max_values=MAX_VALUES,
    hosts=(),
):
    """Create the FastAPI application that serves a trained forecaster.

    Routes:

    - `GET /` returns a web page, and `GET /model` the data that it shows.
    - `GET /health`, `GET /v1/models/NAME` and `GET /v1/models/NAME/metadata` return the status and
      the metadata. The metadata list the columns in the order of a history.
    - `POST /v1/models/NAME:predict` takes the JSON `{"instances": [history, ...]}` or
      `{"instances": [{"history": ..., ...}]}` and returns `{"predictions": [...]}`. A history is
      `(context_length, num_channels)`, in the units of the series, with null for missing values; a
      channel without a value has the forecast null. For a model with calendar features, an instance
      may have "last_time", the ISO 8601 time stamp of the last step, in place of them.
    - `POST /v1/forecast` takes a long or wide CSV and returns rows with time stamps and intervals.
      Covariates that are known in advance are in its last rows, without values of the series.
    - `POST /v1/simulate?num_paths=100&seed=0` takes the same CSV and returns `{"paths": ...}`, the
      columns of `Forecaster.simulate`, at most `max_values` values.

    Invalid requests are answered with `{"error": "..."}`, a message of one line.

    Args:
        forecaster: Trained `kerastrans.Forecaster`.
        name: str, name of the model in the routes.
        max_batch: int, maximum number of windows in a request and in a call of the model.
        max_bytes: int, maximum size of a request's body.
        body_timeout: float, seconds until a request's body must be complete.
        max_values: int, maximum number of values in an answer of sample paths.
        hosts: Names that are accepted in the Host header, in addition to localhost and addresses.

    Raises:
        ImportError: If the extra `serve` is not installed.
        RuntimeError: If the forecaster is not trained.
        ValueError: If the name cannot be part of a route, or a limit is not above 0.

    Example:
        >>> from kerastrans import presets
        >>> app = create_app(presets.load("nhits_nyc_departures_24"), "flights")
        >>> app.title
        'kerastrans: flights'
    """
    fastapi = import_extra("fastapi", "the service", "serve")
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse

    sizes = {"max_batch": max_batch, "max_bytes": max_bytes, "max_values": max_values}
    _check_options(forecaster, name, body_timeout, **sizes)
    history, *other_inputs = inputs_of(forecaster.model)
    # An autoregressive model creates its decoder inputs itself.
    symbols = {"history": history}
    internal = {"decoder_inputs", *typical_inputs(forecaster.model)}
    symbols |= {x.name: x for x in other_inputs if x.name not in internal}
    shape = None, forecaster.prediction_length, 1
    limits = bound_inputs(forecaster.config.bounds)
    symbols |= {name: keras.KerasTensor(shape, "float64") for name in limits}
    missing = missing_inputs(forecaster.model) | {"history"}
    inputs = {name: Input(tuple(x.shape[1:]), x.dtype) for name, x in symbols.items()}
    facts = describe(forecaster.model, forecaster.fitted.head, inputs, forecaster.prediction_length)
    facts |= forecaster.metadata
    stamps = TimeStamps.of(forecaster, symbols)
    if stamps is not None:
        facts["inputs"][LAST_TIME] = ["string", None]
    lock = threading.Lock()  # only one thread at a time compiles and runs the model

    def run(function, *arguments):
        with lock:
            return function(*arguments)

    @contextlib.asynccontextmanager
    async def lifespan(app):  # runs in the event loop of the server, as the batcher must
        forecast = functools.partial(run, forecaster.forecast_histories)
        app.state.batcher = Batcher(forecast, max_batch, MAX_WAITING)
        task = asyncio.create_task(app.state.batcher.run())
        yield
        task.cancel()

    app = fastapi.FastAPI(title=f"kerastrans: {name}", lifespan=lifespan, openapi_url=None)
    app.add_middleware(HostCheck, hosts=hosts)
    _add_descriptions(app, name, facts)

    @app.exception_handler(RequestError)
    async def refuse(request, error):
        text = str(error)
        text = text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]} ..."
        return JSONResponse({"error": text}, error.status, error.headers)

    @app.exception_handler(HTTPException)
    async def refuse_route(request, error):
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    @app.post(f"/v1/models/{name}:predict")
    async def predict(request: fastapi.Request):
        body = await read_body(request, "application/json", max_bytes, body_timeout)
        instances = read_instances(body, symbols, max_batch, missing, stamps)
        outputs = await _submit(app.state.batcher, instances)
        return JSONResponse({"predictions": json_rows(outputs, instances["history"])})

    @app.post("/v1/forecast")
    async def forecast(request: fastapi.Request):
        body = await read_body(request, "text/csv", max_bytes, body_timeout)
        return JSONResponse(await asyncio.to_thread(forecast_csv, forecaster, body, lock))

    @app.post("/v1/simulate")
    async def simulate(request: fastapi.Request):
        body = await read_body(request, "text/csv", max_bytes, body_timeout)
        options = forecaster, body, request.query_params, max_values, lock
        return JSONResponse(await asyncio.to_thread(simulate_csv, *options))

    return app


def _check_options(forecaster, name, body_timeout, **sizes):
    """Raise RuntimeError or ValueError for the first invalid option of `create_app`."""
    check_positive_integers(**sizes)
    if not body_timeout > 0:
        raise ValueError(f"body_timeout must be above 0 seconds, got {body_timeout!r}.")
    if not name or set(name) & set("/{}:"):
        raise ValueError(
            f"name must be usable in a route, without '/', ':' or braces, got {name!r}."
        )
    if forecaster.model is None:
        raise RuntimeError("this forecaster is not trained: call fit first.")


async def _submit(batcher, inputs):
    """Return the model's outputs; raise `RequestError` for any exception."""
    try:
        return await batcher.submit(inputs)
    except OverflowError as error:
        raise RequestError(str(error), 503) from None
    except Exception as error:  # from the backend, for example for an unknown category
        logger.warning("no forecast: %s", first_line(error))
        raise RequestError(f"the forecast failed: {first_line(error)}.", 500) from None


def _add_descriptions(app, name, facts):
    """Add the routes that describe the service: web page, status and metadata."""
    from starlette.responses import HTMLResponse

    @app.api_route("/", methods=["GET", "HEAD"])
    async def page():
        return HTMLResponse(PAGE.read_text(), headers=PAGE_HEADERS)

    @app.get("/model")
    async def model():
        return facts

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.get(f"/v1/models/{name}")
    async def status():
        version = {"version": "1", "state": "AVAILABLE"}
        version["status"] = {"error_code": "OK", "error_message": ""}
        return {"model_version_status": [version]}

    @app.get(f"/v1/models/{name}/metadata")
    async def metadata():
        return {"model_spec": {"name": name, "version": "1"}, "metadata": facts}
