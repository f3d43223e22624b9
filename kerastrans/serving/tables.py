"""A CSV of series, forecast: the service's answer to people and spreadsheets."""

import io

import numpy as np

from kerastrans.data import read_csv
from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.serving.requests import LARGEST, RequestError


def forecast_csv(forecaster, body):
    """The forecast after the end of the series of a CSV, long or wide.

    With covariates that are known ahead, the last rows of each series, those without a value of it,
    are the steps to come.

    Args:
        forecaster: `kerastrans.Forecaster`, trained.
        body: bytes of the CSV.

    Returns:
        Dict of two tables, each a dict of columns: the end of the "history", a column for each
        series, and the "forecast".

    Raises:
        RequestError: no such table, or one that the forecaster refuses.
    """
    covariates = [*forecaster.config.past, *forecaster.config.future]
    try:
        with io.TextIOWrapper(io.BytesIO(body), encoding="utf-8") as file:
            frame = read_csv(file, covariates=covariates)
        if frame.select_dtypes("number").abs().max(axis=None) > LARGEST:
            raise ValueError("the CSV holds numbers that float32 does not.")
        is_long = ID in frame.columns
        targets = [TARGET] if is_long else [c for c in frame.columns if c not in covariates]
        if forecaster.fitted.channels is None and len(targets) > 1:
            raise ValueError("a model of single series takes one column of values.")
        future = None
        if forecaster.config.future:
            frame, future = _split(frame, targets)
        forecast = forecaster.predict(frame, future=future)
    except (TypeError, ValueError, OverflowError) as error:
        raise RequestError(" ".join(str(error).split())) from None
    if not np.isfinite(forecast.select_dtypes("number")).all(axis=None):
        raise RequestError("the forecast is not finite.")
    wide = frame.pivot(index=TIME, columns=ID, values=TARGET) if is_long else frame[targets]
    shown = wide.iloc[-2 * forecaster.prediction_length :].astype(object)
    shown = shown.where(shown.notna(), None)  # JSON has no NaN
    return {
        "history": {"ds": [*map(str, shown.index)], **shown.to_dict(orient="list")},
        "forecast": forecast.assign(ds=forecast["ds"].map(str)).to_dict(orient="list"),
    }


def _split(frame, targets):
    """The rows up to the last known value of each series, and the rows after it."""
    is_long = ID in frame.columns
    frame = frame.sort_values([ID, TIME], ignore_index=True) if is_long else frame
    known = frame[targets].notna().any(axis=1)[::-1]
    is_past = (known.groupby(frame[ID]).cummax() if is_long else known.cummax())[::-1]
    return frame[is_past], frame[~is_past].drop(columns=targets)
