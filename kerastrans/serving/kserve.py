"""KServe's routes for time series: histories and their forecasts as JSON."""

import asyncio
import time
import uuid
from datetime import datetime
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, Field, ValidationError

from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.data.time.clock import Clock
from kerastrans.data.time.frequency import check_same_frequency
from kerastrans.evaluation.columns import read_columns
from kerastrans.serving.requests import LARGEST, RequestError, read_body
from kerastrans.serving.tables import refusing

MULTIVARIATE = "multivariate_time_series"
EPOCH = datetime(1970, 1, 1)  # where a series without a time stamp begins
# Months or nanoseconds of a step.
MONTHS = {"month": 1, "quarter": 3, "year": 12, "M": 1, "Q": 3, "Y": 12}
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
SECONDS |= dict(zip("STHDW", SECONDS.values(), strict=True))


class TimeSeries(BaseModel):
    """A history `(steps,)` or `(steps, channels)`; null is a missing value."""

    type: Literal["univariate_time_series", MULTIVARIATE]
    name: str
    series: list[float | None] | list[list[float | None]] = Field(min_length=1)
    frequency: Literal[*MONTHS, *SECONDS]
    start_timestamp: datetime = EPOCH

    def times(self, start, count):
        """Return the time stamps of `count` steps from number `start` on."""
        numbers, first = range(start, start + count), pd.Timestamp(self.start_timestamp)
        if self.frequency in MONTHS:
            months = MONTHS[self.frequency]
            if first.is_month_end:
                return pd.DatetimeIndex([first + pd.offsets.MonthEnd(months * x) for x in numbers])
            return pd.DatetimeIndex([first + pd.DateOffset(months=months * x) for x in numbers])
        return first + pd.to_timedelta(np.multiply(numbers, SECONDS[self.frequency]), "s")


class Options(BaseModel):
    """The number of steps to forecast, and probabilities."""

    horizon: int = Field(ge=1)
    quantiles: list[float] | None = None


class ForecastRequest(BaseModel):
    """What `POST /v1/timeseries/forecast` takes."""

    model: str
    inputs: list[TimeSeries] = Field(min_length=1)
    options: Options


def add_time_series_routes(app, name, forecaster, settings, run):
    """Add the routes `/v1/timeseries/forecast` and `/v1/timeseries/models`.

    Args:
        app: FastAPI application, whose state has a lock for forecasts.
        name: str, name of the model.
        forecaster: Trained `kerastrans.Forecaster`.
        settings: `Settings`.
        run: Function that runs a function under the lock of the model.

    Source: kserve 0.16, `protocol/rest/timeseries`.
    """
    from starlette.requests import Request
    from starlette.responses import JSONResponse

    @app.get("/v1/timeseries/models")
    async def models():
        return [name]

    @app.post("/v1/timeseries/forecast")
    async def forecast(request: Request):
        try:
            body, _ = await read_body(request, "application/json", settings, ["utf-8"])
            asked = _read(body, name, settings)
            async with app.state.turn:  # one thread, so that there are others for other requests
                outputs = [
                    await asyncio.to_thread(run, _forecast, forecaster, x, asked.options)
                    for x in asked.inputs
                ]
        except RequestError as error:
            described = {"code": str(error.status), "message": str(error), "type": "bad_request"}
            return JSONResponse({"error": described}, error.status, error.headers)
        facts = {"id": str(uuid.uuid4()), "created_at": int(time.time()), "status": "completed"}
        return {**facts, "model": name, "outputs": outputs}


def _read(body, name, settings):
    """Return a `ForecastRequest`; raise `RequestError` if it is invalid or too large."""
    try:
        asked = ForecastRequest.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise RequestError(f"{where}: {first['msg']}.") from None
    if asked.model != name:
        raise RequestError(f"the model of this service is {name!r}, got {asked.model!r}.", 404)
    rows = [np.array(x.series, "float64") for x in asked.inputs if _is_regular(x)]
    count = sum(x[0].size for x in rows)
    most = {"max_series": count, "max_cells": sum(x.size for x in rows)}
    most |= {"max_steps": asked.options.horizon, "max_values": count * asked.options.horizon}
    for limit, size in most.items():
        if size > getattr(settings, limit):
            raise RequestError(f"the request exceeds {limit}={getattr(settings, limit)}.", 413)
    if any(np.abs(x).max(initial=0, where=np.isfinite(x)) > LARGEST for x in rows):
        raise RequestError("a series has numbers beyond the range of float32.")
    return asked


def _is_regular(series):
    """Raise `RequestError` unless the steps of a series are of one length and of its kind."""
    widths = {len(x) if isinstance(x, list) else 0 for x in series.series}
    is_multivariate = series.type == MULTIVARIATE
    if len(widths) > 1 or (0 in widths) == is_multivariate:
        expected = "lists of one length" if is_multivariate else "numbers"
        raise RequestError(f"the steps of series {series.name!r} must be {expected}.")
    return True


def _forecast(forecaster, series, options):
    """Return the output of one series."""
    quantiles = options.quantiles or []
    levels = sorted({round(100 * abs(1 - 2 * x), 9) for x in quantiles} - {0})
    values = np.array(series.series, "float64").reshape(len(series.series), -1)
    times, channels = series.times(0, len(values)), forecaster.fitted.channels
    if channels is not None and len(channels) == values.shape[1]:
        frame = pd.DataFrame(values, times, channels)
    else:
        names = [series.name, *(f"{series.name}.{i}" for i in range(1, values.shape[1]))]
        parts = [{ID: x, TIME: times, TARGET: y} for x, y in zip(names, values.T, strict=True)]
        frame = pd.concat(map(pd.DataFrame, parts), ignore_index=True)
    with refusing():
        freq = Clock.of(series.times(0, 5)).freq  # also of a shorter series
        check_same_frequency(freq, forecaster.fitted.freq, "the model")
        asked = {"levels": levels or None, "prediction_length": options.horizon, "freq": freq}
        rows = forecaster.predict(frame, **asked)
    if forecaster.faults:
        why = next(iter(forecaster.faults.values()))
        raise RequestError(f"series {series.name!r} has no forecast: {why}.")
    columns = read_columns(rows, forecaster.alias)
    known = np.array(list(columns.quantiles))
    nearest = {x: np.abs(known - x).argmin() for x in quantiles}

    def steps(column):
        found = rows[column].to_numpy().reshape(-1, options.horizon).T  # (steps, channels)
        return (found if series.type == MULTIVARIATE else found[:, 0]).tolist()

    names = list(columns.quantiles.values())
    content = {
        **series.model_dump(include={"type", "name", "frequency"}),
        "start_timestamp": series.times(len(values), 1)[0].isoformat(),
        "mean_forecast": steps(columns.alias),
        "quantiles": {str(x): steps(names[place]) for x, place in nearest.items()},
    }
    kind = {"type": "time_series_forecast", "id": str(uuid.uuid4()), "status": "completed"}
    return {**kind, "content": [content]}
