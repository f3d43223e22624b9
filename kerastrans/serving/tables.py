"""Forecasts of the series in a CSV, for people and spreadsheets."""

import contextlib
import io

import numpy as np

from kerastrans.data import read_table
from kerastrans.data.frames import ID, TARGET, TIME
from kerastrans.serving.requests import LARGEST, RequestError

MAX_COLUMNS = 1000  # columns of a CSV that a model does not need
MAX_SERIES = 1000  # series of a long CSV
NO_LOCK = contextlib.nullcontext()


def simulate_csv(forecaster, body, query, max_values, lock=NO_LOCK):
    """Draw sample paths of the steps after the end of the series in a CSV, see `forecast_csv`.

    Args:
        forecaster: Trained `kerastrans.Forecaster`.
        body: bytes of the CSV.
        query: Mapping of the parameters of the request: "num_paths" and "seed".
        max_values: int, maximum number of values over all paths, series and steps.
        lock: Lock of the model, which is not held while the CSV is read.

    Returns:
        Dict of the table "paths", a dict of columns.

    Raises:
        RequestError: If a parameter or the CSV is invalid, there are too many values, or the
            forecaster refuses them.
    """
    unknown = sorted(set(query) - {"num_paths", "seed"})
    if unknown:
        raise RequestError(f"the parameters are num_paths and seed, got {unknown[0]!r}.")
    try:
        num_paths, seed = (int(query.get(x, y)) for x, y in (("num_paths", 100), ("seed", 0)))
    except ValueError:
        raise RequestError("num_paths and seed must be integers.") from None
    if num_paths < 1 or seed < 0:
        raise RequestError("num_paths must be at least 1, and seed at least 0.")
    with refusing():
        frame, future, targets = _read(forecaster, body)
        count = frame[ID].nunique() if ID in frame.columns else len(targets)
        if num_paths * count * forecaster.prediction_length > max_values:
            most = max_values // (count * forecaster.prediction_length)
            raise RequestError(
                f"num_paths={num_paths} of {count} series is too large, at most {most}.", 413
            )
        with lock:
            paths = forecaster.simulate(frame, future=future, num_paths=num_paths, seed=seed)
    return {"paths": _columns_of(paths.assign(ds=paths["ds"].map(str)))}


def forecast_csv(forecaster, body, lock=NO_LOCK):
    """Forecast the steps after the end of the series in a long or wide CSV.

    If the model has covariates that are known in advance, the last rows of each series, which have
    no value of the series, are the steps to forecast.

    Args:
        forecaster: Trained `kerastrans.Forecaster`.
        body: bytes of the CSV.
        lock: Lock of the model, which is not held while the CSV is read.

    Returns:
        Dict of two tables, each a dict of columns: the end of the "history", with one column per
        series, and the "forecast".

    Raises:
        RequestError: If the CSV cannot be read, or the forecaster refuses it.
    """
    with refusing():
        frame, future, targets = _read(forecaster, body)
        with lock:
            forecast = forecaster.predict(frame, future=future)
    if np.isinf(forecast.select_dtypes("number")).any(axis=None):
        raise RequestError("the forecast is not finite.")
    forecast = forecast.assign(ds=forecast["ds"].map(str))
    is_long = ID in frame.columns
    wide = frame.pivot(index=TIME, columns=ID, values=TARGET) if is_long else frame[targets]
    shown = wide.iloc[-2 * forecaster.prediction_length :]
    return {
        "history": {"ds": [*map(str, shown.index)], **_columns_of(shown)},
        "forecast": _columns_of(forecast),
    }


@contextlib.contextmanager
def refusing():
    """Raise `RequestError` with one line for an error that describes invalid data."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise RequestError(" ".join(str(error).split())) from None


def _read(forecaster, body):
    """Return the frame of a CSV, that of its future covariates, and the columns of values."""
    config = forecaster.config
    known_ahead = [*config.future, *config.limits]
    covariates = [*dict.fromkeys((*config.past, *known_ahead))]
    _check_columns(body, len(forecaster.fitted.channels or ()) + len(covariates))
    frame = read_table(io.BytesIO(body), covariates=covariates, like=forecaster.fitted.read_as)
    if frame.select_dtypes("number").abs().max(axis=None) > LARGEST:
        raise ValueError("the CSV contains numbers beyond the range of float32.")
    is_long = ID in frame.columns
    if is_long and frame[ID].nunique() > MAX_SERIES:
        raise RequestError(f"the CSV can have at most {MAX_SERIES} series.", 413)
    targets = [TARGET] if is_long else [c for c in frame.columns if c not in covariates]
    if not known_ahead:
        return frame, None, targets
    return *_split(frame, targets), targets


def _check_columns(body, num_needed):
    """Raise RequestError if the header has many more columns than the model needs."""
    header = body[: body.find(b"\n") + 1] or body
    count, most = 1 + max(map(header.count, (b",", b";", b"\t", b"|"))), MAX_COLUMNS + num_needed
    if count > most:
        raise RequestError(f"the CSV has {count} columns, at most {most} are read.", 413)


def _columns_of(frame):
    """Return a dict of the columns of a frame as lists, with None for NaN, which JSON lacks."""
    frame = frame.astype(object)
    return frame.where(frame.notna(), None).to_dict(orient="list")


def _split(frame, targets):
    """Split a frame into the rows up to the last known value of each series, and the rows after."""
    is_long = ID in frame.columns
    frame = frame.sort_values([ID, TIME], ignore_index=True) if is_long else frame
    # From the end, a row is past once a known value has been met.
    known = frame[targets].notna().any(axis=1)[::-1]
    is_past = (known.groupby(frame[ID]).cummax() if is_long else known.cummax())[::-1]
    return frame[is_past], frame[~is_past].drop(columns=targets)
