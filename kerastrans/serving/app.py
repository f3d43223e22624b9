"""The service's routes: TensorFlow Serving's REST shapes, CSV to forecasts, and a page."""

import asyncio
import contextlib
import io
import json
import threading
from pathlib import Path

import numpy as np

from kerastrans.data import read_csv
from kerastrans.decoding.graph import inputs_of
from kerastrans.export.forecast import describe
from kerastrans.serving.batcher import Batcher
from kerastrans.utils.validation import import_extra

PAGE = Path(__file__).with_name("page.html")
MAX_BYTES = 2**23  # of a request's body
MAX_BATCH = 256  # windows of a request
MAX_WAITING = 4096  # windows that wait for the model, over all requests


def create_app(forecaster, name, *, max_batch=MAX_BATCH, max_bytes=MAX_BYTES):
    """The FastAPI application that serves a trained forecaster.

    Routes: `GET /`, a page, and `GET /model`, what it shows; `GET /health`;
    `GET /v1/models/NAME` and `.../metadata`;
    `POST /v1/models/NAME:predict` with `{"instances": [history, ...]}` or
    `[{"history": ..., ...}]`, histories `(context_length, num_channels)` in their own units with
    null for a missing value, which answers `{"predictions": [...]}`; `POST /v1/forecast` with a
    CSV, which answers rows with time stamps and intervals.

    Args:
        forecaster: `kerastrans.Forecaster`, trained.
        name: str, of the model in the routes.
        max_batch: int, windows in one request and in one call of the model.
        max_bytes: int, of a request's body.

    Raises:
        ImportError: the extra `serve` is missing.
    """
    fastapi = import_extra("fastapi", "the service", "serve")
    from starlette.responses import HTMLResponse, JSONResponse

    history, *further = inputs_of(forecaster.model)
    # What an autoregressive model decodes from is its own.
    symbols = {"history": history}
    symbols |= {x.name: x for x in further if x.name != "decoder_inputs"}
    facts = describe(forecaster.model, symbols, forecaster.prediction_length)
    facts |= forecaster.metadata
    lock = threading.Lock()  # one thread at a time compiles and runs the model

    def forecast_histories(inputs):
        with lock:
            return forecaster.forecast_histories(inputs)

    def forecast_csv(body):
        with lock:
            return _forecast_csv(forecaster, body)

    @contextlib.asynccontextmanager
    async def lifespan(app):
        app.state.batcher = Batcher(forecast_histories, max_batch, MAX_WAITING)
        task = asyncio.create_task(app.state.batcher.run())
        yield
        task.cancel()

    app = fastapi.FastAPI(title=f"kerastrans: {name}", lifespan=lifespan, openapi_url=None)

    @app.exception_handler(_RequestError)
    async def refuse(request, error):
        return JSONResponse({"error": str(error)}, error.status)

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

    @app.post(f"/v1/models/{name}:predict")
    async def predict(request: fastapi.Request):
        instances = _instances(await _body(request, max_bytes), max_batch)
        inputs = {key: _array(instances, key, symbol) for key, symbol in symbols.items()}
        try:
            outputs = await app.state.batcher.submit(inputs)
        except OverflowError as error:
            raise _RequestError(str(error), 503) from None
        values = {key: value.tolist() for key, value in outputs.items()}
        if len(values) == 1:
            return JSONResponse({"predictions": values["forecast"]})
        rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
        return JSONResponse({"predictions": rows})

    @app.post("/v1/forecast")
    async def forecast(request: fastapi.Request):
        body = await _body(request, max_bytes)
        return JSONResponse(await asyncio.to_thread(forecast_csv, body))

    return app


class _RequestError(Exception):
    def __init__(self, message, status=400):
        super().__init__(message)
        self.status = status


async def _body(request, max_bytes):
    """The request's body; refused as soon as it is too long."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > max_bytes:
            raise _RequestError(f"the body must have at most {max_bytes} bytes.", 413)
        parts.append(part)
    return b"".join(parts)


def _instances(body, max_batch):
    """The list of instances in a body, each a dict."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise _RequestError("the body must be JSON.") from None
    instances = content.get("instances") if isinstance(content, dict) else None
    if not isinstance(instances, list) or not instances:
        raise _RequestError('the body must be {"instances": [history, ...]}, with at least one.')
    if len(instances) > max_batch:
        raise _RequestError(f"at most {max_batch} instances a request, got {len(instances)}.", 413)
    return [x if isinstance(x, dict) else {"history": x} for x in instances]


def _array(instances, key, symbol):
    """One input of all instances as an array; null is NaN in a history and refused elsewhere."""
    wanted = symbol.shape[1:]
    rows = []
    for number, instance in enumerate(instances):
        if key not in instance:
            raise _RequestError(f"instance {number} has no {key!r}.")
        try:
            row = np.array(instance[key], "float64")
        except (TypeError, ValueError, OverflowError):
            raise _RequestError(
                f"{key!r} of instance {number} must be an array of numbers {tuple(wanted)}."
            ) from None
        if row.shape != tuple(wanted):
            raise _RequestError(
                f"{key!r} of instance {number} must have shape {tuple(wanted)}, got {row.shape}."
            )
        if np.isinf(row).any() or (np.isnan(row).any() and key != "history"):
            raise _RequestError(f"{key!r} of instance {number} must be finite.")
        if np.isnan(row).all():
            raise _RequestError(f"{key!r} of instance {number} has no value.")
        rows.append(row)
    array = np.stack(rows)
    if np.abs(array).max(initial=0.0, where=np.isfinite(array)) > np.finfo("float32").max:
        raise _RequestError(f"{key!r} holds numbers that float32 does not.")
    return array if key == "history" else array.astype(symbol.dtype)


def _forecast_csv(forecaster, body):
    """The forecast behind a CSV, and the end of its history, as columns of plain values."""
    try:
        with io.TextIOWrapper(io.BytesIO(body), encoding="utf-8") as file:
            frame = read_csv(file)
        if forecaster.channels is None and frame.shape[1] > 1:
            raise ValueError("a model of single series takes one column of values.")
        found = forecaster.predict(frame)
    except (TypeError, ValueError) as error:
        raise _RequestError(str(error)) from None
    shown = frame.iloc[-2 * forecaster.prediction_length :]
    found = found.assign(ds=found["ds"].map(str))
    return {
        "history": {"ds": [*map(str, shown.index)], **shown.to_dict(orient="list")},
        "forecast": found.to_dict(orient="list"),
    }
