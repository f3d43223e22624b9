"""Routes of the service: TensorFlow Serving's REST API, forecasts of CSV files, and a web page."""

import asyncio
import contextlib
import itertools
import logging
import threading
from dataclasses import asdict

import keras
import numpy as np

from kerastrans.decoding.graph import history_input, inputs_of, missing_inputs
from kerastrans.export.encodings import LAST_TIME, Input
from kerastrans.export.forecast import describe
from kerastrans.forecasting.inference.adaptation import to_univariate
from kerastrans.forecasting.inference.forecast import forecast_outputs
from kerastrans.heads.bounded import bound_inputs
from kerastrans.models.parts.forecast_graph import least_inputs
from kerastrans.serving.answers import PAGE, Answers, HostCheck, error_body
from kerastrans.serving.batcher import Batcher
from kerastrans.serving.csv_routes import add_csv_routes
from kerastrans.serving.processes import Processes
from kerastrans.serving.requests import RequestError, json_rows, read_body, read_instances
from kerastrans.serving.settings import Settings
from kerastrans.serving.time_stamps import TimeStamps
from kerastrans.utils.batch_sizes import BATCHES
from kerastrans.utils.compilation import shapes_that_come_often
from kerastrans.utils.files import first_line
from kerastrans.utils.validation import import_extra

logger = logging.getLogger(__name__)


def create_app(forecaster, name, **settings):
    """Create the FastAPI application that serves a trained forecaster.

    Routes:

    - `GET /` returns a web page, and `GET /model` the data that it shows.
    - `GET /health`, `GET /v1/models/NAME` and `GET /v1/models/NAME/metadata` return the status and
      the metadata. The metadata list the columns in the order of a history, and the settings.
    - `GET /ready` returns status 503 until the model is compiled, and `GET /metrics` the metrics in
      the text format of Prometheus.
    - `POST /v1/models/NAME:predict` takes the JSON `{"instances": [history, ...]}` or
      `{"instances": [{"history": ..., ...}]}` and returns `{"predictions": [...]}`. A history is
      `(context_length, num_channels)`, in the units of the series, with null for missing values; a
      channel without a value has the forecast null. If there are more steps, the last ones are
      read; fewer are padded if the forecaster does so. For a model with calendar features, an
      instance may have "last_time", the ISO 8601 time stamp of the last step, in place of them.
    - `POST /v1/forecast?levels=80,95&exceeds=5` takes a long or wide CSV and returns rows with time
      stamps and intervals. Covariates that are known in advance are in its last rows, without
      values of the series, and static covariates in each row of a long CSV.
    - `POST /v1/simulate?num_paths=100&seed=0` takes the same CSV and returns `{"paths": ...}`, the
      columns of `Forecaster.simulate`.
    - `POST /v1/timeseries/forecast` and `GET /v1/timeseries/models` are KServe's: histories of any
      length with their frequency, and the quantiles that are asked for.
    - `GET /openapi.json` describes these routes.

    Both take `prediction_length` and parameters of `kerastrans.data.read_table`, such as
    `dayfirst=true`, and return the line "read_as", and in "faults" the series without a forecast,
    with the reason; or only the rows, as CSV, for `Accept: text/csv`.

    Invalid requests are answered with `{"error": "..."}`, a message of one line.

    Args:
        forecaster: Trained `kerastrans.Forecaster`.
        name: str, name of the model in the routes.
        **settings: Attributes of `kerastrans.serving.Settings`.

    Raises:
        ImportError: If the extra `serve` is not installed.
        RuntimeError: If the forecaster is not trained.
        TypeError: If a setting is unknown.
        ValueError: If the name cannot be part of a route, or a limit is not above 0.

    Example:
        >>> from kerastrans import presets
        >>> app = create_app(presets.load("nhits_nyc_departures_24"), "flights")
        >>> app.title
        'kerastrans: flights'
    """
    fastapi = import_extra("fastapi", "the service", "serve")
    import_extra("prometheus_client", "the service", "serve")
    from starlette.middleware.cors import CORSMiddleware
    from starlette.responses import JSONResponse

    from kerastrans.serving.kserve import add_time_series_routes
    from kerastrans.serving.metrics import Metrics

    settings = Settings(**settings)
    _check(forecaster, name)
    symbols = _symbols(forecaster)
    missing = missing_inputs(forecaster.model) | {"history"}
    stamps = TimeStamps.of(forecaster, symbols)
    facts = _describe(forecaster, symbols, stamps) | {"settings": asdict(settings)}
    lock = threading.Lock()  # only one thread at a time compiles and runs the model
    metrics = Metrics()
    metrics.ready.set_function(lambda: app.state.ready)

    def run(function, *arguments):
        with lock:
            return function(*arguments)

    def forecast(inputs):
        metrics.windows.observe(len(inputs["history"]))
        return run(forecaster.forecast_histories, inputs)

    @contextlib.asynccontextmanager
    async def lifespan(app):  # runs in the event loop of the server, as the batcher must
        batcher = app.state.batcher = Batcher(forecast, settings.max_batch, settings.max_waiting)
        metrics.waiting.set_function(lambda: batcher.rows)
        processes = Processes(settings.csv_processes, settings.csv_timeout)
        app.state.processes, app.state.turn = processes, asyncio.Lock()
        prepare = _prepare(app, forecaster, symbols if settings.warm_up else None, run)
        tasks = [asyncio.create_task(x) for x in (batcher.run(), prepare)]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await processes.close()

    title = f"kerastrans: {name}"
    app = fastapi.FastAPI(title=title, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.ready, app.state.progress = False, "0 programs are compiled"
    headers = {"allow_methods": ["GET", "POST"], "allow_headers": ["content-type", "accept"]}
    app.add_middleware(CORSMiddleware, allow_origins=settings.allow_origin, **headers)
    app.add_middleware(HostCheck, hosts=settings.hosts)
    app.add_middleware(Answers, metrics=metrics)
    _add_errors(app)
    _add_descriptions(app, name, facts)
    _add_states(app, metrics)
    add_csv_routes(app, forecaster, settings, run)
    add_time_series_routes(app, name, forecaster, settings, run)

    @app.post(f"/v1/models/{name}:predict")
    async def predict(request: fastapi.Request):
        body, _ = await read_body(request, "application/json", settings, ["utf-8"])
        pads = forecaster.config.short == "pad"
        instances = read_instances(body, symbols, settings.max_batch, missing, stamps, pads)
        outputs = await _submit(app.state.batcher, instances)
        return JSONResponse({"predictions": json_rows(outputs, instances["history"])})

    return app


def _check(forecaster, name):
    """Raise RuntimeError or ValueError for an invalid argument of `create_app`."""
    if not name or set(name) & set("/{}:"):
        raise ValueError(
            f"name must be usable in a route, without '/', ':' or braces, got {name!r}."
        )
    if forecaster.model is None:
        raise RuntimeError("this forecaster is not trained: call fit first.")


async def _prepare(app, forecaster, symbols, run):
    """Compile the model for all sizes of batches, unless `symbols` is None or it is ready."""
    if symbols is not None and not app.state.ready:
        try:
            await app.state.processes.call(len, b"")  # starts one

            def report(number, total):
                app.state.progress = f"{number} of {total} programs are compiled"

            await warm_up(forecaster, symbols, run, report)
        except Exception:  # requests are answered nevertheless
            logger.exception("the model was not compiled for all sizes of batches")
    app.state.ready = True


def _symbols(forecaster):
    """Return a dict of the inputs of a request: name -> KerasTensor."""
    history, *others = inputs_of(forecaster.model)
    # An autoregressive model creates its decoder inputs itself.
    internal = {"decoder_inputs", *least_inputs(forecaster.model)}
    symbols = {"history": history} | {x.name: x for x in others if x.name not in internal}
    limit = keras.KerasTensor((None, forecaster.prediction_length, 1), "float64")
    return symbols | dict.fromkeys(bound_inputs(forecaster.config.bounds), limit)


def _describe(forecaster, symbols, stamps):
    """Return the metadata of a forecaster, with the shapes of the inputs of a request."""
    inputs = {name: Input(tuple(x.shape[1:]), x.dtype) for name, x in symbols.items()}
    facts = describe(forecaster.model, forecaster.fitted.head, inputs, forecaster.prediction_length)
    facts |= forecaster.metadata | {"takes_any_columns": forecaster.fitted.channels is None}
    if stamps is not None:
        facts["inputs"][LAST_TIME] = ["string", None]
    return facts


def _add_errors(app):
    """Answer errors of the application and of its framework in one form."""
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.responses import Response

    def answer(message, status, headers=None):
        return Response(error_body(message), status, headers, "application/json")

    @app.exception_handler(RequestError)
    async def refuse(request, error):
        return answer(str(error), error.status, error.headers)

    @app.exception_handler(HTTPException)
    async def refuse_route(request, error):
        return answer(str(error.detail), error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)  # of routes that users add
    async def refuse_parameter(request, error):
        first = error.errors()[0]
        return answer(f"{first['loc'][-1]}: {first['msg']}.", 422)


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
        return HTMLResponse(PAGE)

    @app.get("/model")
    async def model():
        return facts

    @app.get(f"/v1/models/{name}")
    async def status():
        version = {"version": "1", "state": "AVAILABLE"}
        version["status"] = {"error_code": "OK", "error_message": ""}
        return {"name": name, "ready": app.state.ready, "model_version_status": [version]}

    @app.get(f"/v1/models/{name}/metadata")
    async def metadata():
        return {"model_spec": {"name": name, "version": "1"}, "metadata": facts}


def _add_states(app, metrics):
    """Add the routes that report the state of the service: alive, ready, metrics."""
    from starlette.responses import Response

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.get("/ready")
    async def ready():
        if not app.state.ready:
            message = f"the model is being compiled: {app.state.progress}."
            raise RequestError(message, 503, {"retry-after": "1"})
        return {"status": "ready"}

    @app.get("/metrics")
    async def show_metrics():
        return Response(metrics.text(), headers={"content-type": metrics.content_type})


async def warm_up(forecaster, inputs, run, report):
    """Compile the graphs of a forecaster, one call in a thread for each length and batch size.

    Args:
        forecaster: Trained `kerastrans.Forecaster`.
        inputs: Dict of input name -> KerasTensor.
        run: Function that runs a function under the lock of the model.
        report: Function of the number of compiled programs and that of all, called after each.
    """
    states = [forecaster.fitted]
    if forecaster.fitted.channels is not None:
        with contextlib.suppress(ValueError):  # the model mixes its channels
            states.append(await asyncio.to_thread(run, to_univariate, forecaster.fitted))
    programs = [
        (x, *sizes) for x in states for sizes in itertools.product(x.graph_lengths, BATCHES)
    ]
    for number, (state, steps, size) in enumerate(programs, 1):
        try:
            arrays = _arrays(state, inputs, size)
            arrays["history"][:, :-steps] = np.nan
            with shapes_that_come_often():
                await asyncio.to_thread(run, forecast_outputs, state, arrays)
        except Exception as error:  # inputs that this model does not take
            logger.warning("not compiled for batches of %d: %s", size, first_line(error))
        report(number, len(programs))


def _arrays(state, inputs, size):
    """Return inputs of a state's model, whose number of channels may be different."""
    arrays = {name: np.zeros((size, *x.shape[1:]), x.dtype) for name, x in inputs.items()}
    steps, channels = history_input(state.model).shape[1:]
    arrays["history"] = np.ones((size, steps, channels))
    if "upper_bound" in arrays:
        arrays["upper_bound"] += 2
    return arrays
