"""Routes of the service that take a CSV."""

import asyncio
import copy
import functools
from dataclasses import replace

from kerastrans.data.frames import ID
from kerastrans.data.time.frequency import check_same_frequency, offset_of
from kerastrans.serving import tables
from kerastrans.serving.requests import RequestError, read_body


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
        with tables.refusing():
            reader = _with_frequency(forecaster, read.get("freq"))
        body, charset = await read_body(request, "text/csv", settings)
        if charset is not None:
            read["encoding"] = "utf-8-sig" if charset == "utf-8" else charset
        call = app.state.processes.call
        table = await call(tables.read_csv, body, columns, settings, read)
        tables.check_answer(table, columns.prediction_length, settings, num_paths)
        predict = functools.partial(_predict, reader, method, table, options)
        async with app.state.turn:  # one thread, so that there are others for other requests
            rows, faults = await asyncio.to_thread(run, predict)
        facts = {"read_as": table.read_as, "faults": faults}
        if method == "predict":
            facts["history"] = table.history
        content = await call(functools.partial(tables.write_answer, **facts), rows, name)
        return Response(content, media_type="application/json")

    @app.post("/v1/forecast")
    async def forecast(request: Request):
        read, options = tables.read_query(
            request.query_params.multi_items(), tables.READ, tables.FORECAST
        )
        for option, numbers in options.items():
            if len(numbers) > settings.max_levels:
                raise RequestError(
                    f"{option} has {len(numbers)} numbers, at most {settings.max_levels} are read."
                )
        return await answer(request, "forecast", "predict", options, read)

    @app.post("/v1/simulate")
    async def simulate(request: Request):
        read, options = tables.read_query(
            request.query_params.multi_items(), tables.READ, tables.SIMULATE
        )
        options = {"num_paths": 100, "seed": 0} | options
        if options["num_paths"] < 1 or options["seed"] < 0:
            raise RequestError("num_paths must be at least 1, and seed at least 0.")
        return await answer(request, "paths", "simulate", options, read, options["num_paths"])


def _with_frequency(forecaster, freq):
    """Return the forecaster, or, if it reads any frequency, one that reads the given one.

    Raises:
        ValueError: If the forecaster has another frequency, or `freq` is not one.
    """
    known = forecaster.fitted.freq
    check_same_frequency(freq, known, "the model")
    if freq is None or known is not None:
        return forecaster
    offset_of(freq)
    reader = copy.copy(forecaster)
    reader.fitted = replace(forecaster.fitted, given_freq=freq)
    return reader


def _predict(forecaster, method, table, options):
    """Return the rows of a forecast or of paths, and series without one, a dict with reasons."""
    known = {"future": table.future, "static": table.static}
    with tables.refusing():
        rows = getattr(forecaster, method)(table.frame, **known, **options)
    silent = rows.loc[rows[forecaster.alias].isna(), ID].unique()
    faults = dict.fromkeys(silent, f"no value in its last {forecaster.context_length} steps")
    faults |= forecaster.faults
    return rows, {str(name): tables.reword(reason) for name, reason in faults.items()}
