"""Reading of requests: instances as arrays, or an error of one line."""

import asyncio
import json
from email.message import Message

import numpy as np

from kerastrans.data.missing import count_missing_ends

LARGEST = float(np.finfo("float32").max)  # largest value that a model can receive


class RequestError(Exception):
    """Raised if a request is invalid.

    Args:
        message: str, one line.
        status: int, HTTP status.
        headers: Dict of headers of the answer. If the body is not read to its end, it contains
            "connection": "close".
    """

    def __init__(self, message, status=400, headers=None):
        super().__init__(message)
        self.status = status
        self.headers = headers


async def read_body(request, content_type, settings, charsets=None):
    """Return the request's body and its charset; refuse it as soon as it is too long or too late.

    Args:
        request: Starlette request.
        content_type: str, required content type. Pages of other sites cannot send it without the
            server's consent.
        settings: `kerastrans.serving.Settings`, which limit its size and time.
        charsets: Names of the charsets that are accepted; None for any.

    Returns:
        bytes, and the charset of the content type in lower case, or None.

    Raises:
        RequestError: If the content type or charset is different, the body is compressed, too long
            or too late, or the client has disconnected.
    """
    from starlette.requests import ClientDisconnect

    close = {"connection": "close"}
    header = Message()
    header["content-type"] = request.headers.get("content-type", "")
    given = header["content-type"].partition(";")[0].strip().lower()
    if given != content_type:
        raise RequestError(
            f"the content type must be {content_type}, got {given or 'none'}.", 415, close
        )
    coding = request.headers.get("content-encoding", "identity")
    if coding.lower() != "identity":
        raise RequestError(f"the body must not be compressed, got {coding!r}.", 415, close)
    charset = header.get_param("charset")
    charset = charset.lower() if isinstance(charset, str) else None
    if charsets is not None and charset not in (None, *charsets):
        raise RequestError(f"the charset must be {charsets[0]}, got {charset!r}.", 415, close)
    parts, size = [], 0
    try:
        async with asyncio.timeout(settings.body_timeout):
            async for part in request.stream():
                size += len(part)
                if size > settings.max_bytes:
                    message = f"the body must have at most {settings.max_bytes} bytes."
                    raise RequestError(message, 413, close)
                parts.append(part)
    except TimeoutError:
        raise RequestError(
            f"the body must be complete within {settings.body_timeout} seconds.", 408, close
        ) from None
    except ClientDisconnect:  # nobody will read this answer
        raise RequestError("the client has disconnected.", 400, close) from None
    return b"".join(parts), charset


def read_instances(body, symbols, max_batch, missing=("history",), stamps=None, pads=False):
    """Return the arrays of the instances in a body.

    Args:
        body: bytes of JSON, `{"instances": [history, ...]}` or
            `{"instances": [{"history": ..., ...}]}`.
        symbols: Dict of input name -> KerasTensor.
        max_batch: int, maximum number of instances.
        missing: Names of the inputs that accept null for missing values.
        stamps: `TimeStamps` of a model whose calendar can be computed; None for other models.
        pads: bool, whether a history may have fewer steps than the context. If it has more, the
            last ones are read. The other inputs are those of the context.

    Returns:
        Dict of arrays `(batch, ...)`: "history" in float64 with NaN for null, other inputs in their
        data types.

    Raises:
        RequestError: If the structure of the JSON is different, there are too many instances, or a
            value is not a finite number.
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestError("the body must be JSON.") from None
    instances = content.get("instances") if isinstance(content, dict) else None
    if not isinstance(instances, list) or not instances:
        raise RequestError('the body must be {"instances": [history, ...]}, with at least one.')
    if len(instances) > max_batch:
        raise RequestError(
            f"a request can have at most {max_batch} instances, got {len(instances)}.", 413
        )
    instances = [x if isinstance(x, dict) else {"history": x} for x in instances]
    for number, instance in enumerate(instances):
        history, steps = instance.get("history"), symbols["history"].shape[1]
        if "position" in instance and isinstance(history, list) and len(history) != steps:
            raise RequestError(
                f"'history' of instance {number} must have {steps} steps next to 'position', the "
                f"number of the first of them, got {len(history)}."
            )
    if stamps is not None:
        instances = [stamps.fill_in(x, number) for number, x in enumerate(instances)]
    for number, instance in enumerate(instances):
        unknown = sorted(set(instance) - set(symbols))
        if unknown:
            known = ", ".join(map(repr, symbols))
            raise RequestError(f"instance {number} has {unknown[0]!r}, the inputs are {known}.")
    return {key: _array(instances, key, x, key in missing, pads) for key, x in symbols.items()}


def _array(instances, key, symbol, may_miss, pads):
    """Return one input of all instances as an array, with NaN for null if values may be missing."""
    shape = tuple(symbol.shape[1:])
    rows = []
    for number, instance in enumerate(instances):
        if key not in instance:
            raise RequestError(f"instance {number} has no {key!r}.")
        subject = f"{key!r} of instance {number}"
        try:
            row = np.array(instance[key], "float64")
        except (TypeError, ValueError, OverflowError):
            row = None
        # Strings and booleans are refused, although NumPy converts them to numbers.
        if row is None or not _is_numeric(instance[key]):
            raise RequestError(f"{subject} must be an array of numbers {shape}.")
        if key == "history" and row.shape[1:] == shape[1:] and row.size:
            row = row[-shape[0] :]
            absent = (shape[0] - len(row)) * pads
            row = np.pad(row, [(absent, 0), (0, 0)], constant_values=np.nan)
        if row.shape != shape:
            raise RequestError(f"{subject} must have shape {shape}, got {row.shape}.")
        if np.isinf(row).any() or (np.isnan(row).any() and not may_miss):
            raise RequestError(f"{subject} must be finite.")
        if np.isnan(row).all():
            raise RequestError(f"{subject} has no value.")
        if "int" in symbol.dtype and (row != np.rint(row)).any():
            raise RequestError(f"{subject} must be integers.")
        rows.append(row)
    array = np.stack(rows)
    if np.abs(array).max(initial=0.0, where=np.isfinite(array)) > LARGEST:
        raise RequestError(f"{key!r} contains numbers beyond the range of float32.")
    return array if key == "history" else array.astype(symbol.dtype)


def _is_numeric(value):
    """Return whether nested lists contain only numbers and null."""
    if isinstance(value, list):
        return all(map(_is_numeric, value))
    return value is None or type(value) in (int, float)


def json_rows(outputs, history):
    """Convert a model's outputs to the rows of TensorFlow Serving.

    Args:
        outputs: Dict of arrays `(batch, prediction_length, num_channels, ...)`, including
            "forecast".
        history: `(batch, context_length, num_channels)`; a channel without a value has no forecast,
            which is null, and so are the last steps after missing values at the end.

    Returns:
        List of nested lists if there is one output, otherwise list of dicts.

    Raises:
        RequestError: If a forecast exceeds the range of float64.
    """
    # Without a forecast are channels without a value, and as many last steps as values are missing
    # at the end of a history.
    steps = np.arange(outputs["forecast"].shape[1])[:, None] + count_missing_ends(history, False)
    expected = (steps < outputs["forecast"].shape[1]) & ~np.isnan(history).all(
        axis=1, keepdims=True
    )
    rows = []
    for number, row in enumerate(zip(*outputs.values(), strict=True)):
        if not all(np.isfinite(x[expected[number]]).all() and not np.isinf(x).any() for x in row):
            raise RequestError(f"the forecast of instance {number} is not finite.")
        rows.append({name: _as_json(x) for name, x in zip(outputs, row, strict=True)})
    return [row["forecast"] for row in rows] if len(outputs) == 1 else rows


def _as_json(array):
    """Return nested lists with None for NaN."""
    return np.where(np.isnan(array), None, array).tolist()
