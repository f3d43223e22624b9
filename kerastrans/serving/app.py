"""The service's routes: TensorFlow Serving's REST shapes, CSV to forecasts, and a page."""

import asyncio
import contextlib
import functools
import logging
import threading
from pathlib import Path

from kerastrans.decoding.graph import inputs_of, missing_inputs
from kerastrans.export.forecast import describe
from kerastrans.models.parts.forecast_graph import TYPICAL
from kerastrans.serving.batcher import Batcher
from kerastrans.serving.hosts import HostCheck
from kerastrans.serving.requests import RequestError, json_rows, read_body, read_instances
from kerastrans.serving.tables import forecast_csv
from kerastrans.utils.files import first_line
from kerastrans.utils.validation import check_positive_integers, import_extra

logger = logging.getLogger(__name__)
PAGE = Path(__file__).with_name("page.html")
MAX_BYTES = 2**23  # of a request's body
MAX_BATCH = 256  # windows of a request
BODY_TIMEOUT = 30.0  # seconds until a request's body must be there
MAX_WAITING = 4096  # windows that wait for the model, over all requests


def create_app(
    forecaster,
    name,
    *,
    max_batch=MAX_BATCH,
    max_bytes=MAX_BYTES,
    body_timeout=BODY_TIMEOUT,
    hosts=(),
):
    """The FastAPI application that serves a trained forecaster.

    Routes: `GET /`, a page, and `GET /model`, what it shows; `GET /health`;
    `GET /v1/models/NAME` and `.../metadata`;
    `POST /v1/models/NAME:predict` with JSON, `{"instances": [history, ...]}` or
    `[{"history": ..., ...}]`, histories `(context_length, num_channels)` in their own units with
    null for a missing value, which answers `{"predictions": [...]}`; `POST /v1/forecast` with a
    CSV, long or wide, which answers rows with time stamps and intervals; covariates known ahead are
    in its last rows, which have no value of the series. The metadata name the columns, in the
    order in which a history has them. What is refused is answered by `{"error": "..."}`, one line.

    Args:
        forecaster: `kerastrans.Forecaster`, trained.
        name: str, of the model in the routes.
        max_batch: int, windows in one request and in one call of the model.
        max_bytes: int, of a request's body.
        body_timeout: float, seconds until a request's body must be there.
        hosts: names that requests may have in their Host header, besides localhost and addresses.

    Raises:
        ImportError: the extra `serve` is missing.
        RuntimeError: the forecaster is not trained.
        ValueError: a name that is no part of a route, or a limit that is not above 0.

    Example:
        >>> from kerastrans import presets
        >>> app = create_app(presets.load("nhits_nyc_departures_24"), "flights")
        >>> app.title
        'kerastrans: flights'
    """
    fastapi = import_extra("fastapi", "the service", "serve")
    from starlette.responses import JSONResponse

    _check_options(forecaster, name, body_timeout, max_batch=max_batch, max_bytes=max_bytes)
    history, *further = inputs_of(forecaster.model)
    # What an autoregressive model decodes from is its own.
    symbols = {"history": history}
    symbols |= {
        x.name: x for x in further if x.name != "decoder_inputs" and not x.name.startswith(TYPICAL)
    }
    missing = missing_inputs(forecaster.model) | {"history"}
    facts = describe(forecaster.model, symbols, forecaster.prediction_length)
    lock = threading.Lock()  # one thread at a time compiles and runs the model

    def run(function, *arguments):
        with lock:
            return function(*arguments)

    @contextlib.asynccontextmanager
    async def lifespan(app):  # in the loop that serves, whose events the batcher waits for
        forecast = functools.partial(run, forecaster.forecast_histories)
        app.state.batcher = Batcher(forecast, max_batch, MAX_WAITING)
        task = asyncio.create_task(app.state.batcher.run())
        yield
        task.cancel()

    app = fastapi.FastAPI(title=f"kerastrans: {name}", lifespan=lifespan, openapi_url=None)
    app.add_middleware(HostCheck, hosts=hosts)
    _add_descriptions(app, name, {**facts, **forecaster.metadata})

    @app.exception_handler(RequestError)
    async def refuse(request, error):
        return JSONResponse({"error": str(error)}, error.status, error.headers)

    @app.post(f"/v1/models/{name}:predict")
    async def predict(request: fastapi.Request):
        body = await read_body(request, "application/json", max_bytes, body_timeout)
        instances = read_instances(body, symbols, max_batch, missing)
        outputs = await _submit(app.state.batcher, instances)
        return JSONResponse({"predictions": json_rows(outputs)})

    @app.post("/v1/forecast")
    async def forecast(request: fastapi.Request):
        body = await read_body(request, "text/csv", max_bytes, body_timeout)
        return JSONResponse(await asyncio.to_thread(run, forecast_csv, forecaster, body))

    return app


def _check_options(forecaster, name, body_timeout, **sizes):
    """Raise RuntimeError or ValueError for the first option of `create_app` at fault."""
    check_positive_integers(**sizes)
    if not body_timeout > 0:
        raise ValueError(f"body_timeout must be above 0 seconds, got {body_timeout!r}.")
    if not name or set(name) & set("/{}:"):
        raise ValueError(
            f"name must be a part of a route, without '/', ':' or braces, got {name!r}."
        )
    if forecaster.model is None:
        raise RuntimeError("this forecaster is not trained: call fit first.")


async def _submit(batcher, inputs):
    """The model's outputs; whatever goes wrong is a `RequestError`."""
    try:
        return await batcher.submit(inputs)
    except OverflowError as error:
        raise RequestError(str(error), 503) from None
    except Exception as error:  # of the back end, such as of a category that there is not
        logger.warning("no forecast: %s", first_line(error))
        raise RequestError(f"the model has no forecast: {first_line(error)}.", 500) from None


def _add_descriptions(app, name, facts):
    """The routes that say what is served: the page, the model's state and its metadata."""
    from starlette.responses import HTMLResponse

    @app.get("/")
    async def page():
        return HTMLResponse(PAGE.read_text())

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
