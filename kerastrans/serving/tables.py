"""CSV files of requests: what is read from them, and the answers; runs without Keras."""

import contextlib
import io
import json
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kerastrans.data.frames import ID, TARGET, TIME, split_known, split_static, to_long
from kerastrans.data.tables.reader import read_table, reading_of
from kerastrans.serving.requests import LARGEST, RequestError


@dataclass(frozen=True)
class Columns:
    """Columns that a forecaster needs in a CSV.

    Attributes:
        covariates: Names of the columns that are not series.
        known_ahead: Names of those that are known for the steps to forecast.
        static: Names of those that have one value per series.
        channels: Names of the channels of the model; empty for models of single series.
        prediction_length: int.
        read_as: Dict of how the file of the training data was read, or None.
    """

    covariates: tuple
    known_ahead: tuple
    static: tuple
    channels: tuple
    prediction_length: int
    read_as: dict | None

    @classmethod
    def of(cls, forecaster):
        """Return the `Columns` of a trained `kerastrans.Forecaster`."""
        config, state = forecaster.config, forecaster.fitted
        ahead = (*config.future, *config.limits)
        static = tuple(column.name for column in state.covariates.static)
        covariates = tuple(dict.fromkeys((*config.past, *ahead, *static)))
        channels = tuple(state.channels or ())
        length = forecaster.prediction_length
        return cls(covariates, ahead, static, channels, length, state.read_as)


@dataclass(frozen=True)
class Table:
    """A CSV as arguments of `Forecaster.predict`.

    Attributes:
        frame: Long or wide DataFrame.
        future: DataFrame of the covariates of the steps to forecast, or None.
        static: DataFrame of the static covariates, or None.
        num_series: int.
        history: Dict of the last time stamps of the CSV and the values of each series at them,
            for the answer.
        read_as: str, line that describes how the CSV was read.
    """

    frame: pd.DataFrame
    future: pd.DataFrame | None
    static: pd.DataFrame | None
    num_series: int
    history: dict
    read_as: str


def _numbers(text):
    return [int(x) if x.strip("+- ").isdigit() else float(x) for x in text.split(",")]


def _flag(text):
    return {"true": True, "false": False}[text.lower()]


# Parameters of requests: parser, and what it expects.
READ = dict.fromkeys(
    (
        *("sep", "decimal", "date_column", "id_column", "target", "exclude", "missing"),
        *("date_format", "timezone", "freq"),
    ),
    (str, "text"),
) | {
    "dayfirst": (_flag, "true or false"),
    "columns": (lambda text: text.split(","), "names"),
    "skip_rows": (int, "an integer"),
}
STEPS = {"prediction_length": (int, "an integer")}
FORECAST = dict.fromkeys(("levels", "exceeds"), (_numbers, "numbers separated by commas")) | STEPS
SIMULATE = dict.fromkeys(("num_paths", "seed"), (int, "an integer")) | STEPS


def read_query(query, *tables):
    """Return the parameters of a request, one dict for each table of allowed ones.

    Args:
        query: Pairs of a name and text.
        *tables: Dicts of name -> parser and description of what it expects.

    Raises:
        RequestError: If a parameter is unknown, invalid or given twice.

    Example:
        >>> read_query([("dayfirst", "true"), ("exceeds", "5")], READ, FORECAST)
        [{'dayfirst': True}, {'exceeds': [5]}]
    """
    allowed = {name: entry for table in tables for name, entry in table.items()}
    values = {}
    for name, text in query:
        if name not in allowed:
            names = ", ".join(allowed)
            raise RequestError(f"the parameters are {names}, got {name!r}.")
        if name in values:
            raise RequestError(f"{name} is given twice.")
        parse, expected = allowed[name]
        try:
            values[name] = parse(text)
        except (KeyError, ValueError):
            raise RequestError(f"{name} must be {expected}, got {text!r}.") from None
    return [{name: x for name, x in values.items() if name in table} for table in tables]


def read_csv(body, columns, settings, options):
    """Read the series of a CSV, and the covariates of the steps after them.

    If the model has covariates that are known in advance, the last rows of each series, which have
    no value of the series, are the steps to forecast.

    Args:
        body: bytes of a long or wide CSV.
        columns: `Columns`.
        settings: `kerastrans.serving.Settings`.
        options: Dict of arguments of `read_table`.

    Returns:
        `Table`.

    Raises:
        RequestError: If the CSV cannot be read, or exceeds a limit.
    """
    _check_size(body, columns, settings, options)
    texts = columns.covariates
    with refusing():
        frame = read_table(io.BytesIO(body), covariates=texts, like=columns.read_as, **options)
    if frame.select_dtypes("number").abs().max(axis=None) > LARGEST:
        raise RequestError("the CSV contains numbers beyond the range of float32.")
    read_as = str(reading_of(frame))
    is_long = ID in frame.columns
    targets = [TARGET] if is_long else [c for c in frame.columns if c not in texts]
    num_series = frame[ID].nunique() if is_long else len(targets)
    if num_series > max(settings.max_series, len(columns.channels)):
        raise RequestError(
            f"the CSV has {num_series} series, at most {settings.max_series} are read.", 413
        )
    static = future = None
    with refusing():
        if is_long and columns.static:
            static, frame = split_static(frame, list(columns.static))
        if columns.known_ahead:
            frame, future = split_known(frame, targets)
    names = np.unique(frame[ID]) if is_long else targets
    if TIME in names:
        raise RequestError(f"no series can be called {TIME!r}, the name of the time stamps.")
    if is_long:
        times = pd.Index(frame[TIME].unique()).sort_values()[-2 * columns.prediction_length :]
        shown = frame[frame[TIME] >= times[0]].pivot(index=TIME, columns=ID, values=TARGET)
        shown = shown.reindex(columns=names)
    else:
        shown = frame[targets].iloc[-2 * columns.prediction_length :]
    history = {TIME: [*map(str, shown.index)], **_columns_of(shown)}
    if future is None and num_series > 1 and not is_long and not {*columns.channels} & {*targets}:
        frame = to_long(frame, texts, targets)  # as the forecaster does, but in this process
    return Table(frame, future, static, num_series, history, read_as)


def check_answer(table, steps, settings, num_paths=1):
    """Raise RequestError if the answer to a `Table` has too many values."""
    size = table.num_series * steps
    if num_paths * size > settings.max_values:
        paths = f"num_paths={num_paths} of " if num_paths > 1 else ""
        raise RequestError(
            f"{paths}{table.num_series} series is too large, at most "
            f"{settings.max_values // (size if num_paths > 1 else steps)}.",
            413,
        )


def write_answer(rows, name, **others):
    """Return an answer as JSON in bytes.

    Args:
        rows: DataFrame of a forecast, or of sample paths.
        name: str, name of these rows in the answer.
        **others: Other items of the answer.

    Raises:
        RequestError: If the forecast is not finite.
    """
    return json.dumps({**others, name: _columns_of(_checked(rows))}).encode()


def write_csv(rows):
    """Return the rows of an answer as CSV in bytes; raise `RequestError` as `write_answer`."""
    return _checked(rows).to_csv(index=False).encode()


def _checked(rows):
    """Return the rows of an answer with their time stamps as text, if they are finite."""
    if np.isinf(rows.select_dtypes("number")).any(axis=None):
        raise RequestError("the forecast is not finite.")
    return rows.assign(ds=rows["ds"].map(str))


@contextlib.contextmanager
def refusing():
    """Raise `RequestError` with one line for an error that describes invalid data."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise RequestError(reword(str(error))) from None


_WORDS = {
    ", see .faults": "",
    "in future=frame": "in rows after its last value",
    "give encoding, such as encoding='utf-8'": "give the charset of the content type",
    " by columns=, or name it in covariates=": " by columns=",
    "the name of such a file must end in": "send its text, not a file of the kind",
}


def reword(message):
    """Return what a `Forecaster` says in one line, without the names of its arguments."""
    message = " ".join(message.split())
    for words, others in _WORDS.items():
        message = message.replace(words, others)
    return message


def _check_size(body, columns, settings, options):
    """Raise RequestError if a CSV exceeds the limits on columns and cells."""
    separators = {b",", b";", b"\t", b"|", options.get("sep", ",").encode()}
    most = 3 + max(options.get("skip_rows", 0), 0)  # `sep=;` may be before the header
    first = re.split(rb"[\r\n]+", body, maxsplit=most)[:most]
    count = max(line.count(sep) for line in first for sep in separators)
    count = 1 + (count or max(line.count(b" ") for line in first))  # blanks if nothing else
    most = settings.max_columns + len(columns.channels) + len(columns.covariates) + 3
    if count > most:
        raise RequestError(f"the CSV has {count} columns, at most {most} are read.", 413)
    cells = count * max(body.count(b"\n"), body.count(b"\r"))
    if cells > settings.max_cells:
        raise RequestError(
            f"the CSV has {cells} cells, at most {settings.max_cells} are read.", 413
        )


def _columns_of(frame):
    """Return a dict of the columns of a frame as lists, with None for NaN, which JSON lacks."""
    frame = frame.astype(object)
    return frame.where(frame.notna(), None).to_dict(orient="list")
