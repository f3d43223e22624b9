"""Routes of the service that take a CSV."""

import asyncio
import functools

from kerastrans.data.frames import ID
from kerastrans.data.time.frequency import check_same_frequency
from kerastrans.serving import tables
from kerastrans.serving.requests import RequestError, read_body

JSON = "application/json"
COLUMNS = {"type": "object", "additionalProperties": {"type": "array"}}
# Rows of the answers, for `/openapi.json`.
FORECAST = {
    "forecast": COLUMNS | {"description": "columns unique_id, ds, forecast and its intervals"},
    "history": COLUMNS | {"description": "last known values, by ds and series"},
}
PATHS = {"paths": COLUMNS | {"description": "columns unique_id, ds, path and the values"}}


def add_csv_routes(app, forecaster, settings, run):
    """Add the routes `/v1/forecast` and `/v1/simulate`.

    A CSV is read, and its answer written, in another process; only the model runs in this one.

    Args:
        app: FastAPI application, whose state has the `Processes` and a lock for their results.
        forecaster: Trained `kerastrans.Forecaster`.
        settings: `Settings`.
        run: Function that runs a function under the lock of the model.
    """
    from starlette.requests import Request
    from starlette.responses import Response

    columns = tables.Columns.of(forecaster)

    async def answer(request, name, method, options, read, num_paths=1):
        options = {**options, "freq": read.get("freq")}
        with tables.refusing():
            check_same_frequency(options["freq"], forecaster.fitted.freq, "the model")
        steps = options.get("prediction_length", columns.prediction_length)
        if steps > max(settings.max_steps, columns.prediction_length):
            raise RequestError(f"prediction_length is at most {settings.max_steps}, got {steps}.")
        body, charset = await read_body(request, "text/csv", settings)
        if charset is not None:
            read["encoding"] = "utf-8-sig" if charset == "utf-8" else charset
        call = app.state.processes.call
        table = await call(tables.read_csv, body, columns, settings, read)
        tables.check_answer(table, steps, settings, num_paths)
        predict = functools.partial(_predict, forecaster, method, table, options)
        async with app.state.turn:  # one thread, so that there are others for other requests
            rows, faults = await asyncio.to_thread(run, predict)
        if "text/csv" in request.headers.get("accept", ""):
            return Response(await call(tables.write_csv, rows), media_type="text/csv")
        facts = {"read_as": table.read_as, "faults": faults}
        if method == "predict":
            facts["history"] = table.history
        content = await call(functools.partial(tables.write_answer, **facts), rows, name)
        return Response(content, media_type=JSON)

    @app.post("/v1/forecast", **_documented(tables.FORECAST, FORECAST))
    async def forecast(request: Request):
        read, options = tables.read_query(
            request.query_params.multi_items(), tables.READ, tables.FORECAST
        )
        for option in options.keys() & {"levels", "exceeds"}:
            if (count := len(options[option])) > settings.max_levels:
                raise RequestError(
                    f"{option} has {count} numbers, at most {settings.max_levels} are read."
                )
        return await answer(request, "forecast", "predict", options, read)

    @app.post("/v1/simulate", **_documented(tables.SIMULATE, PATHS))
    async def simulate(request: Request):
        read, options = tables.read_query(
            request.query_params.multi_items(), tables.READ, tables.SIMULATE
        )
        options = {"num_paths": 100, "seed": 0} | options
        if options["num_paths"] < 1 or options["seed"] < 0:
            raise RequestError("num_paths must be at least 1, and seed at least 0.")
        return await answer(request, "paths", "simulate", options, read, options["num_paths"])


def _documented(options, rows):
    """Return the description of a route for `/openapi.json`, arguments of FastAPI's decorator."""
    answer = {
        "type": "object",
        "properties": {
            **rows,
            "read_as": {"type": "string", "description": "how the CSV was read"},
            "faults": {"type": "object", "description": "reason for each series without forecast"},
        },
    }
    text = {"text/csv": {"schema": {"type": "string"}}}
    parameters = [
        {"name": key, "in": "query", "description": expected, "schema": {"type": "string"}}
        for key, (_, expected) in (tables.READ | options).items()
    ]
    body = {"required": True, "content": text}
    content = {JSON: {"schema": answer}} | text
    return {
        "openapi_extra": {"parameters": parameters, "requestBody": body},
        "responses": {200: {"description": "rows of all series", "content": content}},
    }


def _predict(forecaster, method, table, options):
    """Return the rows of a forecast or of paths, and series without one, a dict with reasons."""
    known = {"future": table.future, "static": table.static}
    with tables.refusing():
        rows = getattr(forecaster, method)(table.frame, **known, **options)
    silent = rows.loc[rows[forecaster.alias].isna(), ID].unique()
    faults = dict.fromkeys(silent, f"no value in its last {forecaster.context_length} steps")
    faults |= forecaster.faults
    return rows, {str(name): tables.reword(reason) for name, reason in faults.items()}
