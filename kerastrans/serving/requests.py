"""What requests hold: instances as arrays, or a refusal in one line."""

import asyncio
import json

import numpy as np

LARGEST = float(np.finfo("float32").max)


class RequestError(Exception):
    """A request that is refused.

    Args:
        message: str, one line.
        status: int, of HTTP.
        headers: dict, of the answer; a body that is not read to its end asks for
            "connection": "close".
    """

    def __init__(self, message, status=400, headers=None):
        super().__init__(message)
        self.status = status
        self.headers = headers


async def read_body(request, content_type, max_bytes, timeout):
    """The request's body, which is refused as soon as it is too long or too late.

    Args:
        request: Starlette's.
        content_type: str that its header must name. No page of another site can send it unasked.
        max_bytes: int, of the body.
        timeout: float, seconds until all of it must be there.

    Raises:
        RequestError: another content type, too many bytes, too slow, or the client has left.
    """
    from starlette.requests import ClientDisconnect

    close = {"connection": "close"}
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != content_type:
        raise RequestError(
            f"the content type must be {content_type}, got {given or 'none'}.", 415, close
        )
    parts, size = [], 0
    try:
        async with asyncio.timeout(timeout):
            async for part in request.stream():
                size += len(part)
                if size > max_bytes:
                    message = f"the body must have at most {max_bytes} bytes."
                    raise RequestError(message, 413, close)
                parts.append(part)
    except TimeoutError:
        raise RequestError(f"the body must be there in {timeout} seconds.", 408, close) from None
    except ClientDisconnect:  # nobody reads the answer
        raise RequestError("the client has left.", 400, close) from None
    return b"".join(parts)


def read_instances(body, symbols, max_batch, missing=("history",)):
    """The arrays of the instances in a body.

    Args:
        body: bytes, JSON: `{"instances": [history, ...]}` or `[{"history": ..., ...}]`.
        symbols: dict from the names of the inputs to their KerasTensors.
        max_batch: int, instances in a body.
        missing: names of the inputs that take null for a missing value.

    Returns:
        Dict of arrays `(batch, ...)`: "history" in float64, null being NaN, the others in the
        dtypes of their inputs.

    Raises:
        RequestError: another shape or type of JSON, too many instances, or values that are no
            finite numbers.
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestError("the body must be JSON.") from None
    instances = content.get("instances") if isinstance(content, dict) else None
    if not isinstance(instances, list) or not instances:
        raise RequestError('the body must be {"instances": [history, ...]}, with at least one.')
    if len(instances) > max_batch:
        raise RequestError(f"at most {max_batch} instances a request, got {len(instances)}.", 413)
    instances = [x if isinstance(x, dict) else {"history": x} for x in instances]
    for number, instance in enumerate(instances):
        unknown = sorted(set(instance) - set(symbols))
        if unknown:
            known = ", ".join(map(repr, symbols))
            raise RequestError(f"instance {number} has {unknown[0]!r}, inputs are {known}.")
    return {key: _array(instances, key, symbol, key in missing) for key, symbol in symbols.items()}


def _array(instances, key, symbol, may_miss):
    """One input of all instances as an array; null is NaN where values may miss, or refused."""
    shape = tuple(symbol.shape[1:])
    rows = []
    for number, instance in enumerate(instances):
        if key not in instance:
            raise RequestError(f"instance {number} has no {key!r}.")
        where = f"{key!r} of instance {number}"
        try:
            row = np.array(instance[key], "float64")
        except (TypeError, ValueError, OverflowError):
            row = None
        # NumPy also takes texts and booleans for numbers.
        if row is None or not _is_numeric(instance[key]):
            raise RequestError(f"{where} must be an array of numbers {shape}.")
        if row.shape != shape:
            raise RequestError(f"{where} must have shape {shape}, got {row.shape}.")
        if np.isinf(row).any() or (np.isnan(row).any() and not may_miss):
            raise RequestError(f"{where} must be finite.")
        if np.isnan(row).all():
            raise RequestError(f"{where} has no value.")
        if "int" in symbol.dtype and (row != np.rint(row)).any():
            raise RequestError(f"{where} must be integers.")
        rows.append(row)
    array = np.stack(rows)
    if np.abs(array).max(initial=0.0, where=np.isfinite(array)) > LARGEST:
        raise RequestError(f"{key!r} holds numbers that float32 does not.")
    return array if key == "history" else array.astype(symbol.dtype)


def _is_numeric(value):
    """Whether nested lists hold numbers and null alone."""
    if isinstance(value, list):
        return all(map(_is_numeric, value))
    return value is None or type(value) in (int, float)


def json_rows(outputs):
    """A model's outputs as TensorFlow Serving's rows.

    Args:
        outputs: dict of arrays `(batch, ...)`, "forecast" among them.

    Returns:
        List of nested lists of one output, or of dicts of several.

    Raises:
        RequestError: a forecast outside of what float64 holds.
    """
    for number, rows in enumerate(zip(*outputs.values(), strict=True)):
        if not all(np.isfinite(row).all() for row in rows):
            raise RequestError(f"the forecast of instance {number} is not finite.")
    values = {key: value.tolist() for key, value in outputs.items()}
    if len(values) == 1:
        return values["forecast"]
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
